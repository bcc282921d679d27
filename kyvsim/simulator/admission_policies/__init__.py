"""Kubernetes' own admission policies, which the API server evaluates before it asks webhooks."""
