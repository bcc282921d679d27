"""Convert classic policies to CEL policies, and report what has no equivalent."""

from kyvsim.migrate.convert import CLEANUP_KINDS, DELETING, convert
from kyvsim.migrate.exceptions import convert_exception
from kyvsim.migrate.rules import GENERATING, IMAGES, MUTATING, VALIDATING

CONVERTED_KINDS = CLEANUP_KINDS | {"ClusterPolicy", "Policy"}
"""The kinds of `kyverno.io` that are converted."""

MADE_KINDS = (VALIDATING, GENERATING, IMAGES, MUTATING, DELETING)
"""The kinds of converted policies, without the prefix `Namespaced`."""

__all__ = ["CONVERTED_KINDS", "MADE_KINDS", "convert", "convert_exception"]
