"""What Kubernetes itself does in a cluster, as far as rules and people notice."""
