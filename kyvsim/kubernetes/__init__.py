"""Facts about Kubernetes and its text formats, without Kyverno and I/O."""
