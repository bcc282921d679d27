"""Policies with rules → Kyverno's policies in CEL, and what has no equivalent there."""

from kyvsim.migrate.convert import CLEANUP_KINDS, DELETING, convert
from kyvsim.migrate.exceptions import convert_exception
from kyvsim.migrate.rules import GENERATING, IMAGES, MUTATING, VALIDATING

CONVERTED_KINDS = CLEANUP_KINDS | {"ClusterPolicy", "Policy"}
"""The kinds of `kyverno.io` that become others."""

MADE_KINDS = (VALIDATING, GENERATING, IMAGES, MUTATING, DELETING)
"""The kinds that policies become, without `Namespaced` before them."""

__all__ = ["CONVERTED_KINDS", "MADE_KINDS", "convert", "convert_exception"]
