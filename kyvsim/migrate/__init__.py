"""Policies with rules → Kyverno's policies in CEL, and what cannot be said in them."""

from kyvsim.migrate.cleanup import CLEANUP_KINDS
from kyvsim.migrate.convert import convert
from kyvsim.migrate.exceptions import convert_exception

CONVERTED_KINDS = CLEANUP_KINDS | {"ClusterPolicy", "Policy"}
"""The kinds of `kyverno.io` that become others."""

__all__ = ["CONVERTED_KINDS", "convert", "convert_exception"]
