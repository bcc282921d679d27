"""Criteria of a filter's `resources` block."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from kyvsim.kube.labels import SelectorError, compile_selector
from kyvsim.kube.objects import Json
from kyvsim.kube.wildcard import compile_wildcard, has_wildcard
from kyvsim.match.facts import MatchFacts
from kyvsim.match.kinds import compile_kinds
from kyvsim.model.budget import FEW, Meter

Criterion = Callable[[MatchFacts], bool]


def resource_criteria(block: Json, meter: Meter | None = None) -> list[Criterion]:
    """Return the criteria of a `resources` block; all of them have to hold.

    They raise BudgetError where `meter` has no steps left.
    upstream: pkg/engine/utils/match.go, doesResourceMatchConditionBlock
    """
    return [
        _metered(_FIELDS[field](block[field]), field, block[field], meter)
        for field in resource_fields(block)
    ]


def _metered(criterion: Criterion, field: str, value: Json, meter: Meter | None) -> Criterion:
    """Return a criterion that counts its steps where wildcards are compared with every label."""
    if meter is None or field not in _LABELS:
        return criterion
    keys = value if field == "annotations" else value.get("matchLabels") or ()
    wildcards = sum(map(has_wildcard, keys))
    if not wildcards:
        return criterion
    held = _LABELS[field]

    def metered(facts: MatchFacts) -> bool:
        comparisons = wildcards * len(held(facts))
        if comparisons > FEW:
            meter.spend(comparisons)
        return criterion(facts)

    return metered


def resource_fields(block: Json) -> list[str]:
    """Return the fields of a `resources` block that are criteria, in the order they are asked."""
    return [
        field
        for field in _FIELDS
        if block.get(field) or (field in _SELECTORS and block.get(field) is not None)
    ]


def _operations(operations: Iterable[str]) -> Criterion:
    wanted = frozenset(operations)
    return lambda facts: facts.operation in wanted


def _name(pattern: str) -> Criterion:
    return _names([pattern])


def _names(patterns: Iterable[str]) -> Criterion:
    checks = tuple(map(compile_wildcard, patterns))
    return lambda facts: any(check(facts.name) for check in checks)


def _namespaces(patterns: Iterable[str]) -> Criterion:
    checks = tuple(map(compile_wildcard, patterns))

    def matches(facts: MatchFacts) -> bool:
        namespace = facts.namespace_or_own_name
        return any(check(namespace) for check in checks)

    return matches


def _annotations(wanted: Json) -> Criterion:
    checks = tuple(_annotation(key, value) for key, value in wanted.items())
    return lambda facts: all(check(facts.annotations) for check in checks)


def _annotation(key: str, value: str) -> Callable[[Mapping[str, str]], bool]:
    fits_value = compile_wildcard(value)
    if not has_wildcard(key):  # one look instead of one at each annotation
        return lambda held: key in held and fits_value(held[key])
    fits_key = compile_wildcard(key)
    return lambda held: any(fits_key(name) and fits_value(text) for name, text in held.items())


def _selector(selector: Json) -> Criterion:
    selects = _label_check(selector)
    return lambda facts: selects(facts.labels)


def _namespace_selector(selector: Json) -> Criterion:
    selects = _label_check(selector)

    def matches(facts: MatchFacts) -> bool:
        if facts.object_kind == "Namespace":
            return False
        # An object without a kind passes unchecked, as it does upstream.
        return not facts.object_kind or selects(facts.namespace_labels)

    return matches


def _label_check(selector: Json) -> Callable[[Json], bool]:
    try:
        return compile_selector(selector)
    except SelectorError:
        return lambda _: False


_SELECTORS = ("selector", "namespaceSelector")
_LABELS: Mapping[str, Callable[[MatchFacts], Mapping[str, Json]]] = MappingProxyType(
    {
        "annotations": lambda facts: facts.annotations,
        "selector": lambda facts: facts.labels,
        "namespaceSelector": lambda facts: facts.namespace_labels,
    }
)
"""The criteria whose keys may have wildcards, and what these are compared with."""
_FIELDS: Mapping[str, Callable[[Json], Criterion]] = MappingProxyType(
    {
        "operations": _operations,
        "kinds": compile_kinds,
        "name": _name,
        "names": _names,
        "namespaces": _namespaces,
        "annotations": _annotations,
        "selector": _selector,
        "namespaceSelector": _namespace_selector,
    }
)
