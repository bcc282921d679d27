"""YAML text as Kubernetes' Go libraries read and write it, with positions of what is in it."""
