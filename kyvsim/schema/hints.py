"""What is meant by fields and values that the types of objects do not have."""

from collections import deque
from collections.abc import Collection, Sequence

from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.wildcard import matches
from kyvsim.model.diagnostic import likely, listed
from kyvsim.schema.merge_types import Type, resolve

_NEAR = 0.75
"""Minimum similarity of a name to the one that is meant."""
_AROUND = (
    *("metadata", "spec", "template", "jobTemplate", "securityContext", "resources"),
    *("configData", "config"),
)
"""Fields in which a field is looked for that is not where it is written."""
_OF_DATA = frozenset({"binaryData", "stringData"})
"""Fields that only ConfigMaps and Secrets have."""


def field_hint(name: str, known: Collection[str], types: Sequence[Type] = ()) -> str:
    """Return the field that is meant instead of an unknown one, as the end of a message, or "".

    `known` are the fields of the same object, which has one of the types.
    """
    if name in {"template", "jobTemplate"} and "containers" in known:
        return ": Pods have no template, and `containers` is here (autogen derives other paths)"
    if name == "items" and {"metadata", "kind"} <= set(known):
        return ": this is a single object, and only lists of objects have `items`"
    if name in {"spec", "metadata"} and len(known) > 1 and not {"spec", "metadata"} & {*known}:
        return ": only whole objects have it, and this is a part of one"
    if "/" in name and "labels" in known:
        return ": labels and annotations are in `labels` and `annotations`"
    near = likely(name, known, _NEAR)
    pending = [("", one) for one in types]
    for path, one in pending:
        fields = one.mapping.fields if one.mapping is not None else {}
        # What Pods have is written beside their template more often than misspelled.
        if name in fields and (not near or "template." in path):
            return f": it is in `{path}{name}`"
        # Fields that contain each other, such as templates, are not this deep.
        pending += [
            (f"{path}{field}.", resolve(fields[field]))
            for field in _AROUND
            if field in fields and path.count(".") < len(_AROUND)
        ]
    maps = [one.mapping.fields.keys() for one in types if one.mapping is not None]
    # For the manifest of an object, only its missing fields are known: others may be dropped.
    is_read = {"metadata", "kind"} <= set(known) and name not in {"spec", "status"}
    if is_read and not near and maps and not any(map(_OF_DATA.isdisjoint, maps)):
        return ": the keys of a ConfigMap or Secret are in `data`"
    return near


_DEEPEST = 6
_MOST_TYPES = 3000


def field_elsewhere(parent: str, name: str, types: Sequence[Type]) -> str:
    """Return where objects of some types have `parent.name`, as the end of a message, or "".

    A field of a Pod is often written where one of its containers has it, and the other way round.
    """
    pending: deque[tuple[tuple[str, ...], Type]] = deque(((), one) for one in types)
    for _ in range(_MOST_TYPES):
        if not pending:
            break
        path, one = pending.popleft()
        if one.sequence is not None:
            path, one = (*path[:-1], f"{path[-1]}[]"), resolve(one.sequence.element)
        fields = one.mapping.fields if one.mapping is not None else {}
        if name in fields and path and path[-1].removesuffix("[]") == parent:
            return f": it is in `{'.'.join((*path, name))}`"
        if len(path) < _DEEPEST:
            pending += [((*path, field), resolve(fields[field])) for field in fields]
    return ""


def value_problem(types: Sequence[Type], values: Json) -> str:
    """Return why one of some strings is not a value of a field with an enumeration, or ""."""
    allowed = {value for one in types for value in one.values}
    if not types or not all(one.values for one in types) or not isinstance(values, list):
        return ""
    for value in values:
        is_word = isinstance(value, str) and value and "{{" not in value and "$(" not in value
        if is_word and not any(matches(value, one) for one in allowed):
            hint = likely(value, allowed, _NEAR) or f": it is one of {listed(allowed, 9)}"
            return f"the field never has the value `{value}`{hint}"
    return ""
