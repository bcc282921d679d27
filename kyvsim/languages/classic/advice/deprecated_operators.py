"""Operators of conditions that have a successor.

upstream: pkg/engine/variables/operator/utils.go, api/kyverno/v1/common_types.go
"""

import re
from collections.abc import Iterator

from kyvsim.engine.compile.compiled import warn
from kyvsim.engine.conditions import operators
from kyvsim.engine.conditions.operators import Operator
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.checks.refusal import conditions_of
from kyvsim.model.diagnostic import Diagnostic, Fix, Way, change
from kyvsim.model.policy import Policy
from kyvsim.model.source import Path


def deprecated_operators(policy: Policy) -> Iterator[Diagnostic]:
    """KV201: an operator that still works and has a successor."""
    for rule in policy.rules:
        for path, condition in conditions_of(rule.data, rule.path):
            name = condition["operator"]
            operator = operators.get(name)
            if operator is not None and operator.successors:
                instead = " or ".join(f"`{one}`" for one in operator.successors)
                text = f"operator `{name}` is deprecated: use {instead}"
                place = (*path, "operator")
                fix = _fix(policy, operator, condition, place)
                yield warn(policy.document, "KV201", text, place, fix=fix)


def _fix(policy: Policy, operator: Operator, condition: Json, path: Path) -> "Fix | None":
    """Return what puts the successor in place of an operator, where both say the same.

    `In` and `NotIn` say what their successors say of keys that are no lists, among texts.
    """
    first, *others = operator.successors
    if others and not (_is_text(condition.get("key")) and _are_texts(condition.get("value"))):
        return None
    return Fix(f"use {first}", (change(policy.document, Way.VALUE, path, first),))


_TEXTS = re.compile(
    r"request\.(?:operation|name|namespace|userInfo\.username"
    r"|(?:object|oldObject)\.metadata\.(?:name|namespace)|(?:object|oldObject)\.kind)"
    r"(?:\s*\|\|\s*'[^']*')?"
)
"""Queries that lead to a text or to nothing."""


def _is_text(key: Json) -> bool:
    """Return whether a key is certainly no list when the rule runs."""
    if key.__class__ is not str:
        return key.__class__ in {int, float, bool}
    whole = re.fullmatch(r"\s*\{\{(.*)\}\}\s*", key, re.DOTALL)
    if whole is None or "{{" in whole[1]:
        return "{{" not in key
    return _TEXTS.fullmatch(whole[1].strip()) is not None


def _are_texts(value: Json) -> bool:
    return value.__class__ is list and all(
        one.__class__ is str and "{{" not in one for one in value
    )
