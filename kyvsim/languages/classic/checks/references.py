"""Every `$( )` reference in a rule leads to a text of the same rule.

upstream: pkg/engine/variables/vars.go, substituteReferencesIfAny
"""

import posixpath
from collections.abc import Iterable, Iterator

from kyvsim.expr.variables import remains_of
from kyvsim.kube.go_text import sprint
from kyvsim.kube.objects import Json
from kyvsim.languages.classic.rules.shifted_references import REFERENCE
from kyvsim.model.source import Path
from kyvsim.pattern.anchors import parse_anchor

_COMPARISONS = (">=", "<=", ">", "<", "!")


def broken_references(data: Json, texts: Iterable[tuple[Path, str]]) -> Iterator[tuple[str, Path]]:
    """Yield the message for each reference in `texts` of `data` that leads nowhere, and where."""
    for path, text in texts:
        for found in REFERENCE.finditer(text) if "$(" in text else ():
            problem = _problem(data, remains_of(found[1]) + found[2], path)
            if problem:
                yield problem, path


def pointer(path: Path) -> str:
    """Return a path as upstream writes it while it walks through data."""
    return "".join("/" + str(step).replace("/", "\\/") for step in path)


def _problem(data: Json, reference: str, path: Path) -> str:
    place = pointer(path)
    target = reference.strip("$()")
    comparison = next((sign for sign in _COMPARISONS if target.startswith(sign)), "")
    if len(target) < 2:
        comparison = ""
    target = target.removeprefix(comparison)
    if not target:
        return (
            f"failed to resolve {reference} at path {place}: expected path, found empty reference"
        )
    if not target.startswith("/"):
        target = posixpath.join(place or "/", target) if place else target
    value = _value_at(data, posixpath.normpath(target))
    if comparison:
        if value.__class__ in {str, int, float}:
            return ""
        return (
            f"failed to resolve {reference} at path {place}: incorrect expression: operator"
            f" {comparison} does not match with value {sprint(value)}"
        )
    if value is None:
        return f"got nil resolved variable {reference} at path {place}: <nil>"
    if value.__class__ is not str:
        return f"NotResolvedReferenceErr,reference {reference} not resolved at path {place}"
    return ""


def _value_at(data: Json, target: str) -> Json:
    """Return the leaf at a path without anchors, some key of a mapping there, or None."""
    values: list[tuple[Json, list[str]]] = [(data, [])]
    found: Json = None
    while values:
        value, steps = values.pop()
        if value.__class__ is dict:
            children = [(child, [*steps, _bare(key)]) for key, child in value.items()]
        elif value.__class__ is list:
            children = [(child, [*steps, str(index)]) for index, child in enumerate(value)]
        else:
            children = []
        if "/" + "/".join(steps) == target and value.__class__ is not list:
            found = next(iter(value), None) if value.__class__ is dict else value
        values.extend(child for child in children if target.startswith("/" + child[1][0]))
    return found


def _bare(key: str) -> str:
    anchor = parse_anchor(key)
    return (anchor.key if anchor else key).replace("/", "\\/")
