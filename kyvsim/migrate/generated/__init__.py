"""Objects that rules generate → templates, and expressions where copies or loops are made."""

from kyvsim.migrate.generated.targets import (
    Target,
    applied,
    copied,
    copied_by_label,
    described,
    target_of,
)
from kyvsim.migrate.generated.templates import object_text, templated

__all__ = [
    "Target",
    "applied",
    "copied",
    "copied_by_label",
    "described",
    "object_text",
    "target_of",
    "templated",
]
