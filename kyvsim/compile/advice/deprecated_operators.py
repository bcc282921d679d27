"""Operators of conditions that have a successor.

upstream: pkg/engine/variables/operator/utils.go, api/kyverno/v1/common_types.go
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kyvsim.compile.remark import warn
from kyvsim.kube.objects import Json
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy
from kyvsim.model.source import Path

_SUCCESSORS: Mapping[str, str] = MappingProxyType(
    {
        "In": "`AnyIn` or `AllIn`",
        "NotIn": "`AnyNotIn` or `AllNotIn`",
        "Equal": "`Equals`",
        "NotEqual": "`NotEquals`",
    }
)
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
            operator = condition["operator"]
            if operator in _SUCCESSORS:
                text = f"operator `{operator}` is deprecated: use {_SUCCESSORS[operator]}"
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
