"""Policies with rules → Kyverno's policies in CEL, and what cannot be said in them."""

from kyvsim.migrate.convert import convert

__all__ = ["convert"]
