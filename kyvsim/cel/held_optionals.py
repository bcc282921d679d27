"""Optional values that a variable, a map or a list holds: fields are looked for in none of them.

upstream: cel-go interpreter/attributes.go `applyQualifiers`, which looks into an optional only
where a chain of fields and elements begins with it
"""

from kyvsim.cel.check import Checked
from kyvsim.cel.nodes import Call, Node, Select
from kyvsim.cel.types import unwrap_optional


def is_held_optional(node: Node, checked: Checked) -> bool:
    """Return whether a field or an element is an optional by itself, not by the way there."""
    if not _is_optional(node, checked):
        return False
    if isinstance(node, Select):
        is_name = node.id in checked.names
        return is_name or not (node.optional or _is_optional(node.operand, checked))
    if isinstance(node, Call) and node.function == "_[_]":
        return not _is_optional(node.arguments[0], checked)
    return False


def _is_optional(node: Node, checked: Checked) -> bool:
    return unwrap_optional(checked.types[node.id])[1]
