"""The admission policies of Kubernetes that Kyverno makes of its own policies."""
