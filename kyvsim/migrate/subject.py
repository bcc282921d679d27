"""What a rule looks at: the object, or the one that is deleted, with what may be missing in it."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kyvsim.kubernetes.objects import Json
from kyvsim.migrate.desk import Desk
from kyvsim.migrate.known_types import field_of
from kyvsim.migrate.matching import Matching
from kyvsim.migrate.values import Value

_DELETED: Final = "request.operation == 'DELETE'"
_ROLES: Final = frozenset({"Role", "ClusterRole"})


def subject_of(matching: Matching, desk: Desk, *, derived: bool) -> Value:
    """Return the object that a rule looks at; `derived` tells whether it may be a Pod template.

    What it needs stands as variables on the desk, also what nobody will read.
    """
    whole = Value("object", matching.types, rewritten=True)
    if derived:
        return whole._replace(fields=MappingProxyType(_of_pods(matching, desk)))
    if matching.deletes:
        target = desk.offer("target", f"{_DELETED} ? oldObject : object")
        whole = Value(target, matching.types)
        whole = whole._replace(fields=MappingProxyType(_given_fields(whole)))
    if set(matching.kinds) <= _ROLES:
        text = f"{whole.text}.?rules.orValue(null) == null ? [] : {whole.text}.rules"
        named = whole.child("rules")
        rules = named._replace(soft=desk.offer("rules", text))
        return whole._replace(fields=MappingProxyType({**whole.fields, "rules": rules}))
    return whole


def _of_pods(matching: Matching, desk: Desk) -> dict[str, Value]:
    """Return the fields of a Pod or of a template; an API server hands on none without metadata."""
    found = {}
    for key in ("spec", "metadata"):
        text = f"object.{key}"
        if matching.deletes:
            text = desk.offer(key, f"{_DELETED} ? oldObject.{key} : object.{key}")
        found[key] = Value(text, field_of(matching.types, key), noun=key)
    return found


def _given_fields(whole: Value) -> dict[str, Value]:
    given = ("spec", "metadata") if whole.types else ("metadata",)
    return {
        key: Value(f"{whole.text}.{key}", field_of(whole.types, key), noun=key) for key in given
    }


def without_unread(desk: Desk, texts: list[str]) -> dict[str, str]:
    """Return variables without the offered ones that neither texts nor other variables read."""
    kept: dict[str, Json] = {}
    for name, text in reversed(desk.variables.items()):
        if name not in desk.offered or any(_reads(name, one) for one in (*texts, *kept.values())):
            kept[name] = text
    return {name: text for name, text in desk.variables.items() if name in kept}


def _reads(name: str, text: str) -> bool:
    start = text.find(f"variables.{name}")
    while start >= 0:
        after = text[start + len(name) + 10 : start + len(name) + 11]
        if not (after.isalnum() or after == "_"):
            return True
        start = text.find(f"variables.{name}", start + 1)
    return False


def inlined(text: str, variables: Mapping[str, str]) -> str:
    """Return an expression with the texts of variables in place of their names."""
    for name, held in reversed(tuple(variables.items())):
        text = re.sub(rf"\bvariables\.{name}\b", lambda _, held=held: f"({held})", text)  # type: ignore[misc]
    return text
