"""Admission: Kyverno's webhooks for resources and for its own kinds."""
