"""The exclude block does not take away all that the match block selects.

upstream: api/kyverno/v1/rule_types.go, ValidateMatchExcludeConflict
"""

from collections.abc import Iterator

from kyvsim.kube.objects import Json
from kyvsim.kube.wildcard import matches
from kyvsim.languages.classic.checks.refusal import RuleUnderCheck, is_set
from kyvsim.model.diagnostic import Diagnostic


def check_empty_match(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Something can be matched and not excluded."""
    match, exclude = subject.data.get("match", {}), subject.data.get("exclude")
    if exclude is None or exclude.get("all") or match.get("all"):
        return
    if match.get("any") and exclude.get("any"):
        empty = any(entry in exclude["any"] for entry in match["any"])
    else:
        empty = is_set(exclude) and _covers(match, exclude)
    if empty:
        text = f"{subject.text_path}: Invalid value: Rule is matching an empty set"
        yield subject.refuse("KV122", text, ("exclude",))


def _covers(match: Json, exclude: Json) -> bool:
    """Return whether legacy criteria exclude everything that `match` selects.

    What stands under `any` is not looked at, so legacy criteria beside an `any` of the exclude
    block are refused unless they have a selector or annotations, as upstream does.
    """
    wanted, removed = match.get("resources", {}), exclude.get("resources", {})
    for name in ("roles", "clusterRoles", "subjects"):
        if not _contains_all(exclude.get(name), match.get(name)):
            return False
    name = removed.get("name")
    if name and not matches(name, wanted.get("name", "")):
        return False
    if removed.get("names"):
        return any(matches(out, own) for out in removed["names"] for own in wanted.get("names", ()))
    return (
        _contains_all(removed.get("namespaces"), wanted.get("namespaces"))
        and _contains_all(removed.get("kinds"), wanted.get("kinds"))
        and _selects_all(wanted.get("selector"), removed.get("selector"))
        and _selects_all(wanted.get("namespaceSelector"), removed.get("namespaceSelector"))
        and wanted.get("annotations") == removed.get("annotations")
    )


def _contains_all(removed: list[Json] | None, wanted: list[Json] | None) -> bool:
    """Return whether a criterion of the exclude block lets nothing of the match block go."""
    if not removed:
        return True
    return bool(wanted) and all(entry in removed for entry in wanted or ())


def _selects_all(wanted: Json, removed: Json) -> bool:
    if wanted is None or removed is None:
        return wanted is removed
    if not _contains_all(removed.get("matchExpressions"), wanted.get("matchExpressions")):
        return False
    labels = removed.get("matchLabels")
    if not labels:
        return True
    own = wanted.get("matchLabels")
    return bool(own) and all(labels.get(name) == value for name, value in own.items())
