"""Kubernetes' own controllers, as far as rules and users depend on them."""
