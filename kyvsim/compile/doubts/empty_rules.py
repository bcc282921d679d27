"""Rules that say the same of every object, because what they would look at is empty."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kyvsim.kube.objects import Json
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.policy import Policy
from kyvsim.model.source import Path

_NOTHING_CHECKED = "it checks nothing"
_NOTHING_CHANGED = "it changes nothing"
_LISTS = MappingProxyType(
    {
        ("validate", "anyPattern"): _NOTHING_CHECKED,
        ("validate", "foreach"): _NOTHING_CHECKED,
        ("mutate", "foreach"): _NOTHING_CHANGED,
        ("mutate", "targets"): _NOTHING_CHANGED,
        ("generate", "foreach"): "it generates nothing",
    }
)
"""Lists without which a rule does nothing."""
_MAPS = MappingProxyType(
    {
        ("validate", "pattern"): _NOTHING_CHECKED,
        ("validate", "podSecurity"): _NOTHING_CHECKED,
        ("mutate", "patchStrategicMerge"): _NOTHING_CHANGED,
    }
)
_UNASKED = ("mutateDigest", "verifyDigest", "required")


def empty_rules(policy: Policy) -> Iterator[Diagnostic]:
    """KV210: a rule that can say nothing, whatever it is given."""
    for rule in policy.rules:
        for path, why in _empty(rule.data):
            place = policy.document.locate((*rule.path, *path))
            text = f"rule `{rule.name}` says the same of every object: {why}"
            yield Diagnostic("KV210", Severity.WARNING, text, place)


def _empty(rule: Mapping[str, Json]) -> Iterator[tuple[Path, str]]:
    for fields, empty in ((_LISTS, []), (_MAPS, {})):
        for path, result in fields.items():
            if _at(rule, path) == empty and _at(rule, path).__class__ is empty.__class__:
                yield path, f"`{path[-1]}` is empty, so {result}"
    if str(_at(rule, ("mutate", "patchesJson6902"))).strip() == "[]":
        yield ("mutate", "patchesJson6902"), f"it has no operations, so {_NOTHING_CHANGED}"
    cel = _at(rule, ("validate", "cel"))
    if cel.__class__ is dict and not cel.get("expressions"):
        yield ("validate", "cel"), "`cel` has no expressions, so it checks nothing"
    if _never_holds(rule.get("preconditions")):
        yield ("preconditions",), "`any` of its preconditions is empty, so it is always skipped"
    yield from _empty_checks(rule.get("validate") or {}, ("validate",))
    yield from _unasked(rule.get("verifyImages") or ())


def _empty_checks(body: Mapping[str, Json], path: Path) -> Iterator[tuple[Path, str]]:
    """Yield deny conditions that never hold, and loops that check nothing of their elements."""
    deny = body.get("deny")
    if deny.__class__ is dict and _never_holds(deny.get("conditions")):
        yield (*path, "deny"), "`any` of its conditions is empty, so it never denies"
    for index, loop in enumerate(body.get("foreach") or ()):
        inside = (*path, "foreach", index)
        for name in ("anyPattern", "pattern"):
            if loop.get(name) in ([], {}):
                yield (*inside, name), f"`{name}` is empty, so {_NOTHING_CHECKED}"
        if _never_holds(loop.get("preconditions")):
            yield inside, "`any` of its preconditions is empty, so it passes over all elements"
        yield from _empty_checks(loop, inside)


def _unasked(entries: Json) -> Iterator[tuple[Path, str]]:
    for index, entry in enumerate(entries):
        asked = entry.get("attestors") or entry.get("attestations")
        if not asked and not any(entry.get(name) is not False for name in _UNASKED):
            yield ("verifyImages", index), "nothing is asked of the images"


def _never_holds(conditions: Json) -> bool:
    """Return whether conditions name alternatives and list none."""
    return conditions.__class__ is dict and conditions.get("any") == []


def _at(data: Json, path: tuple[str, ...]) -> Json:
    for step in path:
        data = data.get(step) if data.__class__ is dict else None
    return data
