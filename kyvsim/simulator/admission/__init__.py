"""Admission: what Kyverno answers while a request waits, for resources and for its own kinds."""
