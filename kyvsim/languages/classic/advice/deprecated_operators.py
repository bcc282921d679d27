"""Operators of conditions that have a successor.

upstream: pkg/engine/variables/operator/utils.go, api/kyverno/v1/common_types.go
"""

from collections.abc import Iterator

from kyvsim.compile.remark import warn
from kyvsim.conditions import operators
from kyvsim.kube.objects import Json
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy
from kyvsim.model.source import Path

_WAY = frozenset(
    {
        "validate", "mutate", "generate", "verifyImages", "foreach", "targets", "attestations",
        "preconditions", "deny", "conditions", "any", "all",
    }
)  # fmt: skip
"""The fields below which conditions stand; everything else of a rule is left alone."""


def deprecated_operators(policy: Policy) -> Iterator[Diagnostic]:
    """KV201: an operator that still works and has a successor."""
    for rule in policy.rules:
        for path, condition in _conditions(rule.data, rule.path):
            name = condition["operator"]
            operator = operators.get(name)
            if operator is not None and operator.successors:
                instead = " or ".join(f"`{one}`" for one in operator.successors)
                text = f"operator `{name}` is deprecated: use {instead}"
                yield warn(policy.document, "KV201", text, (*path, "operator"))


def _conditions(data: Json, path: Path) -> Iterator[tuple[Path, Json]]:
    """Yield every condition of a rule with its path."""
    if data.__class__ is list:
        for index, item in enumerate(data):
            yield from _conditions(item, (*path, index))
    elif data.__class__ is dict:
        if data.get("operator").__class__ is str:
            yield path, data
            return
        for name in data:
            if name in _WAY:
                yield from _conditions(data[name], (*path, name))
