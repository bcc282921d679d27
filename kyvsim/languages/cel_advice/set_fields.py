"""The fields that apply configurations set, with their types."""

from collections.abc import Iterator, Sequence

from kyvsim.cel.nodes import StructLiteral
from kyvsim.languages.cel_advice.matched_kinds import element_of, field_of
from kyvsim.languages.cel_advice.written import Expression
from kyvsim.patch.merge_types import Type

_ROOT = "Object"


def set_fields(
    expression: Expression, types: Sequence[Type]
) -> Iterator[tuple[str, tuple[Type | None, ...]]]:
    """Yield the dotted name of each field that typed objects set, once, and its type by kind.

    Fields of an object that a kind does not have are left out: the one that leads there is told.
    """
    if expression.list_name != "mutations" or expression.path[-2] != "applyConfiguration":
        return
    seen = set()
    for node in expression.nodes():
        if not isinstance(node, StructLiteral):
            continue
        root, *way = node.type_name.lstrip(".").split(".")
        owners = [_below(one, way) for one in types] if root == _ROOT else []
        for field in node.fields:
            name = ".".join((*way, field.name))
            if not owners or None in owners or name in seen:
                continue
            seen.add(name)
            yield name, tuple(field_of(one, field.name) for one in owners if one is not None)


def _below(found: Type, way: Sequence[str]) -> Type | None:
    """Return the type of the objects at a way of fields; lists stand for their elements."""
    here: Type | None = found
    for name in way:
        here = field_of(here, name) if here is not None else None
        here = (element_of(here) or here) if here is not None and here.mapping is None else here
    return here if here is not None and here.mapping is not None else None
