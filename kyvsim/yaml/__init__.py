"""YAML text as Kubernetes' Go libraries read and write it, with the positions of its nodes."""
