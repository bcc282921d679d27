"""Patterns with fields that none of the rule's kinds has.

A pattern with such a field fails for every object; an API server drops it from a patch.
Known are Kubernetes' kinds and those of the CustomResourceDefinitions that are given.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence

from kyvsim.engine.compile.compiled import warn
from kyvsim.engine.pattern.anchors import parse_anchor
from kyvsim.kubernetes.discovery import KindTable, every_kind, parse_kind_selector
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.wildcard import has_wildcard, matches
from kyvsim.model.diagnostic import Diagnostic, nearest
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.source import Path
from kyvsim.patch.merge_types import FindType, NoTypesError, Type, resolve
from kyvsim.patch.structured_merge import type_finder

# Patterns on fields that no object of the rule's kinds can have.
#
# A pattern with such a field fails for every object; a patch of one is dropped by a
# cluster. Kubernetes' own kinds are known, and those of the definitions that are given.

_OPEN = frozenset("*?{$")
"""Characters of keys that are not plain names."""
_NEAR = 0.75
"""How like a field's name must be to that of a known one."""
_BODIES: tuple[tuple[str, str], ...] = (("validate", "pattern"), ("mutate", "patchStrategicMerge"))


def unknown_pattern_fields(policies: Iterable[Policy], kinds: KindTable) -> Iterator[Diagnostic]:
    """KV225: a field in a pattern that none of the rule's kinds has."""
    find = type_finder(kinds)
    written = (
        (policy, rule, *body)
        for policy in policies
        for rule in policy.rules
        for body in _bodies(rule)
    )
    for policy, rule, path, pattern in written:
        types = _types(rule, find, kinds)
        for place, near in _unknown(pattern, types, path) if types else ():
            key = place[-1]
            hint = f": did you mean `{near}`?" if near else ""
            text = f"none of the kinds of rule `{rule.name}` has the field `{key}` here{hint}"
            yield warn(policy.document, "KV225", text, (*rule.path, *place))


def _bodies(rule: Rule) -> Iterator[tuple[Path, Json]]:
    """Yield the patterns that are about a whole object, with their paths."""
    for section, field in _BODIES:
        body = rule.data.get(section)
        if body.__class__ is dict and body.get(field).__class__ is dict and not body.get("targets"):
            yield (section, field), body[field]
    several = (rule.data.get("validate") or {}).get("anyPattern")
    for index, one in enumerate(several if several.__class__ is list else ()):
        yield ("validate", "anyPattern", index), one


def _types(rule: Rule, find: FindType, kinds: KindTable) -> tuple[Type, ...]:
    """Return the types of all kinds that a rule matches; () where one of them is open."""
    found: list[Type] = []
    for block in rule.facts.match:
        if block.path[1:2] == ("any",) and not block.kinds:
            return ()
        for text in block.kinds:
            own = tuple(_types_of(text, find, kinds))
            if not own:
                return ()
            found += own
    return tuple(found)


def _types_of(text: str, find: FindType, kinds: KindTable) -> Iterator[Type]:
    """Yield the types of what an entry of `kinds` selects, in all versions that are known."""
    selector = parse_kind_selector(text)
    if selector.subresource or has_wildcard(selector.kind) or not selector.kind:
        return
    versions = (
        f"{group}/{version}".lstrip("/")
        for (group, kind), facts in every_kind(kinds).items()
        if kind == selector.kind and matches(selector.group, group)
        for version in facts.versions
        if matches(selector.version, version)
    )
    for one in versions:
        with contextlib.suppress(NoTypesError):
            yield from filter(None, (find(one, selector.kind),))


def _unknown(pattern: Json, types: Sequence[Type], path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the paths of keys that none of some types has, with the likely field."""
    if pattern.__class__ is list:
        inner = [resolve(one.sequence.element) for one in types if one.sequence is not None]
        for index, item in enumerate(pattern if inner else ()):
            yield from _unknown(item, inner, (*path, index))
    elif pattern.__class__ is dict:
        maps = [one.mapping for one in types if one.mapping is not None]
        for key, value in pattern.items() if maps else ():
            anchor = parse_anchor(key)
            name = anchor.key if anchor else key
            if not _OPEN.isdisjoint(name):
                continue
            refs = [one.fields.get(name, one.others) for one in maps]
            inner = [resolve(ref) for ref in refs if ref is not None]
            if inner:
                yield from _unknown(value, inner, (*path, key))
            else:
                known = (field for one in maps for field in one.fields)
                yield (*path, key), nearest(name, known, _NEAR)
