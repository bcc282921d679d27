"""Anchors in patterns are of a supported kind, and existence anchors hold a list.

upstream: pkg/policy/common/validate_pattern.go, pkg/policy/validate/validate.go
"""

from collections.abc import Iterator

from kyvsim.kube.objects import Json
from kyvsim.languages.classic.checks.refusal import RuleUnderCheck
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.source import Path
from kyvsim.pattern.anchors import parse_anchor

_IN_VALIDATE = frozenset({"", "<", "=", "X", "^"})
"""Signs of the anchors of validate patterns: all but the one that adds."""


def check_patterns(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Anchors in `pattern` and `anyPattern` are what they can be."""
    validate = subject.data.get("validate", {})
    place = f"path: {subject.text_path}.validate."
    found = unsupported_anchor(validate.get("pattern"), _IN_VALIDATE)
    if found:
        text = f"{place}pattern.{found[0]}.: {found[1]}"
        yield subject.refuse("KV131", text, ("validate", "pattern", *found[2]))
    patterns = validate.get("anyPattern")
    if patterns is None:
        return
    if patterns.__class__ is not list:
        text = f"{place}anyPattern.: failed to deserialize anyPattern, expect array"
        yield subject.refuse("KV131", text, ("validate", "anyPattern"))
        return
    for index, pattern in enumerate(patterns):
        found = unsupported_anchor(pattern, _IN_VALIDATE)
        if found:
            text = f"{place}anyPattern[{index}].{found[0]}.: {found[1]}"
            yield subject.refuse("KV131", text, ("validate", "anyPattern", index, *found[2]))


def unsupported_anchor(pattern: Json, signs: frozenset[str]) -> tuple[str, str, Path] | None:
    """Return upstream's path, the reason and our path of the first anchor that may not be there.

    `signs` holds the signs that are supported, "" for conditions.
    """
    pending: list[tuple[Json, str, Path]] = [(pattern, "/", ())]
    while pending:
        value, place, path = pending.pop()
        if value.__class__ is list:
            pending += [(value[i], f"{place}{i}/", (*path, i)) for i in reversed(range(len(value)))]
        elif value.__class__ is dict:
            key = next((key for key in value if _problem(key, value[key], signs)), None)
            if key is not None:
                return f"{place}/{key}", _problem(key, value[key], signs), (*path, key)
            pending += [(value[key], f"{place}/{key}", (*path, key)) for key in reversed(value)]
    return None


def _problem(key: str, value: Json, signs: frozenset[str]) -> str:
    if "(" not in key:
        return ""
    anchor = parse_anchor(key)
    if anchor is None:
        return ""
    if anchor.sign not in signs:
        return f"unsupported anchor {key}"
    if anchor.sign == "^":
        if value.__class__ is not list:
            return "existence anchor should have value of type list"
        if not value:
            return "existence anchor: should have at least one value"
    return ""
