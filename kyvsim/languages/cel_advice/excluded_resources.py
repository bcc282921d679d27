"""Policies whose excluded resources are all that they match."""

from collections.abc import Iterator

from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.cel_advice.written import Written
from kyvsim.model.diagnostic import Diagnostic

_LISTS = ("apiGroups", "apiVersions", "resources", "operations")


def excluded_resources(written: Written) -> Iterator[Diagnostic]:
    """KV270: excluded resources that cover all that the policy matches."""
    constraints = written.spec.get("matchConstraints") or {}
    rules = constraints.get("resourceRules") or ()
    excluded = constraints.get("excludeResourceRules") or ()
    if rules and all(any(_covers(out, one) for out in excluded) for one in rules):
        text = "the policy never matches: `excludeResourceRules` cover all that it matches"
        path = ("spec", "matchConstraints", "excludeResourceRules")
        yield warn(written.policy.document, "KV270", text, path)


def _covers(out: Json, one: Json) -> bool:
    """Return whether what one rule matches another matches, as far as that is certain."""
    names = out.get("resourceNames")
    if names and not set(one.get("resourceNames") or ("",)) <= set(names):
        return False
    if out.get("scope", "*") not in {"*", one.get("scope", "*")}:
        return False
    return all(_is_wider(out.get(name) or (), one.get(name) or ()) for name in _LISTS)


def _is_wider(out: Json, one: Json) -> bool:
    return bool(one) and ("*" in out or set(one) <= set(out))
