"""Objects that rules generate → templates, and expressions where copies or loops are made."""

from kyvsim.migrate.generated.copies import copied, copied_by_label
from kyvsim.migrate.generated.literals import object_text
from kyvsim.migrate.generated.targets import Target, applied, described, target_of
from kyvsim.migrate.generated.templates import templated

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
