"""Failure actions for some namespaces → rules with one action each, and where they have it."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from kyvsim.kube.objects import Json
from kyvsim.migrate.expressions import FALSE, TRUE, Test, every, opposite, some
from kyvsim.migrate.matching import namespaces_test
from kyvsim.migrate.refusal import NotConvertible

_ENFORCE: Final = "Enforce"


class Variant(NamedTuple):
    """A rule with one action."""

    rule: Json
    where: Test = TRUE
    """Of which requests it has the action."""
    name: str = ""
    """What tells it from the other one, "" where there is none."""


def variants_of(rule: Json, spec: Json) -> list[Variant]:
    """Return a rule by action: the first override that fits a namespace decides.

    Raises NotConvertible for image rules with several. upstream: pkg/webhooks/utils/block.go
    """
    body = rule.get("validate")
    if not isinstance(body, dict):
        if rule.get("verifyImages") and spec.get("validationFailureActionOverrides"):
            raise NotConvertible(
                "an action of an image rule for some namespaces only is not converted",
                "write one policy for each action, and name the namespaces in its match block",
            )
        return [Variant(rule)]
    overrides = (
        body.get("failureActionOverrides") or spec.get("validationFailureActionOverrides") or ()
    )
    if not overrides:
        return [Variant(rule)]
    own = body.get("failureAction") or spec.get("validationFailureAction") or "Audit"
    enforced: Test = TRUE if _is_enforced(own) else FALSE
    for one in reversed(overrides):
        fits = _fits(one)
        if _is_enforced(one.get("action")):
            enforced = some([fits, enforced])
        else:
            enforced = every([opposite(fits), enforced])
    found = [(_ENFORCE, enforced), ("Audit", opposite(enforced))]
    return list(_variants(rule, [one for one in found if one[1] != FALSE]))


def _variants(rule: Json, found: list[tuple[str, Test]]) -> Iterator[Variant]:
    for action, where in found:
        body = {**rule["validate"], "failureAction": action}
        yield Variant({**rule, "validate": body}, where, action.lower() if len(found) > 1 else "")


def _is_enforced(action: Json) -> bool:
    return str(action).lower() == _ENFORCE.lower()


def _fits(override: Json) -> Test:
    """Return the test that a request is for a namespace that an override names or selects."""
    names, selector = override.get("namespaces") or (), override.get("namespaceSelector")
    if not names and selector is None:
        return TRUE
    return namespaces_test(names, selector)
