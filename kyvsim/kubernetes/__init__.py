"""Facts about Kubernetes and the text forms it uses; knows nothing of Kyverno and does no I/O."""
