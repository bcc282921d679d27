"""Context entries of rules → variables of the new policy."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from kyvsim.kubernetes.objects import Json
from kyvsim.migrate.entries.sources import (
    api_call,
    config_map,
    global_reference,
    image_registry,
    variable,
)
from kyvsim.migrate.expressions import CHOICE, TIGHT, every, one_line, quoted
from kyvsim.migrate.queries.paths import variable_name
from kyvsim.migrate.queries.scope import Scope, no_twin
from kyvsim.migrate.refusal import NotConvertible
from kyvsim.migrate.values import Value

_SOURCES: Final[Mapping[str, Callable[[Json, Scope], Value]]] = MappingProxyType(
    {
        "variable": variable,
        "configMap": config_map,
        "apiCall": api_call,
        "globalReference": global_reference,
        "imageRegistry": image_registry,
    }
)


def with_entries(entries: Json, scope: Scope, *, inline: bool = False) -> Scope:
    """Return a scope that knows context entries; they become variables unless `inline`.

    Raises NotConvertible with the path from the list of entries.
    """
    for index, entry in enumerate(entries or ()):
        try:
            scope = _with_entry(entry, scope, inline)
        except NotConvertible as refusal:
            raise refusal.below(index) from None
    return scope


def _with_entry(entry: Json, scope: Scope, inline: bool) -> Scope:
    source = next((one for one in _SOURCES if entry.get(one) is not None), None)
    if source is None:
        raise no_twin(f"the context entry `{entry.get('name')}`")
    try:
        value = _SOURCES[source](entry[source], scope)
    except NotConvertible as refusal:
        raise refusal.below(source) from None
    name = entry["name"]
    if not inline and not value.constant:
        if scope.patching and value.soft:
            value = _complete(value)
        text = f"{value.optional}.orValue(null)" if value.optional else value.text
        value = _held(value, scope.desk.variable(variable_name(name), text))
    return scope._replace(names={**scope.names, name: value})


def _complete(value: Value) -> Value:
    """Return a list that is null where what it is made of is missing.

    Once patches are made nobody can ask for that any more.
    """
    there = one_line(every(value.needs))
    text = f"{there} ? {value.text} : dyn(null)"
    return value._replace(
        text=text,
        level=CHOICE,
        optional=f"optional.of({text})",
        soft="",
        needs=(),
        nullable=True,
    )


def _held_entry(value: Value, held: str) -> Value:
    """Return an entry of a map that a variable holds: null where it may be missing."""
    found = Value(held, value.types, noun=value.noun)
    if not value.may_miss:
        return found
    optional = f"optional.ofNonZeroValue({held})"
    return found._replace(optional=optional, has=f"{held} != null", nullable=True)


def _held(value: Value, held: str) -> Value:
    """Return a value that a variable holds: null where it may be missing.

    No optional: what Kyverno keeps of one in a variable is empty.
    """
    fields = {key: _held_entry(one, f"{held}[{quoted(key)}]") for key, one in value.fields.items()}
    value = value._replace(text=held, level=TIGHT, test=None, fields=MappingProxyType(fields))
    if not value.optional:
        return value
    return value._replace(optional=f"optional.ofNonZeroValue({held})", has=f"{held} != null")
