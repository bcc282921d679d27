"""Label selectors, with the wildcards that Kyverno adds to `matchLabels`.

upstream: pkg/utils/match/labels.go, pkg/engine/wildcards (ReplaceInSelector) and, for what a
selector may hold, k8s.io/apimachinery/pkg/labels.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from kyvsim.kube.objects import Json
from kyvsim.kube.wildcard import compile_wildcard, has_wildcard

Labels: TypeAlias = Mapping[str, Json]
Selector: TypeAlias = Callable[[Labels], bool]

_NAME = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_PREFIX = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*"
_LONGEST_PREFIX = 253
_WITH_VALUES = frozenset({"In", "NotIn"})
_WITHOUT_VALUES = frozenset({"Exists", "DoesNotExist"})


class SelectorError(ValueError):
    """A selector that Kubernetes refuses."""


def compile_selector(selector: Json) -> Selector:
    """Return a function that says whether labels fit `selector`; an empty one fits all.

    Raises SelectorError for an operator, key or value that Kubernetes refuses. A wildcard counts
    as "0" there, as upstream has it where no label fits.
    """
    tests = [
        *_label_tests((selector.get("matchLabels") or {}).items()),
        *map(_expression_test, selector.get("matchExpressions") or ()),
    ]
    if len(tests) == 1:
        return tests[0]
    return lambda labels: all(test(labels) for test in tests)


def _label_tests(wanted: Iterable[tuple[str, Json]]) -> Iterable[Selector]:
    for key, value in wanted:
        text = "" if value is None else str(value)
        _check_key(_without_wildcards(key))
        _check_value(_without_wildcards(text))
        yield _wildcard_test(key, text) if has_wildcard(key + text) else _equals_test(key, text)


def _equals_test(key: str, value: str) -> Selector:
    return lambda labels: bool(labels.get(key) == value)


def _wildcard_test(key: str, value: str) -> Selector:
    fits_key, fits_value = compile_wildcard(key), compile_wildcard(value)
    # upstream puts the label into the selector, which is refused where the label is no legal one.
    return lambda labels: any(
        fits_key(name)
        and text.__class__ is str
        and fits_value(text)
        and _is_key(name)
        and _is_value(text)
        for name, text in labels.items()
    )


def _expression_test(expression: Mapping[str, Json]) -> Selector:
    key, operator = expression.get("key") or "", expression.get("operator") or ""
    values = expression.get("values") or []
    _check_key(key)
    if operator not in _WITH_VALUES and operator not in _WITHOUT_VALUES:
        raise SelectorError(f'"{operator}" is not a valid label selector operator')
    if operator in _WITH_VALUES and not values:
        raise SelectorError("for 'in', 'notin' operators, values set can't be empty")
    if operator in _WITHOUT_VALUES and values:
        raise SelectorError("values set must be empty for exists and does not exist")
    for value in values:
        _check_value(value)
    return _requirement(key, operator, frozenset(values))


def _requirement(key: str, operator: str, values: frozenset[str]) -> Selector:
    if operator == "In":
        return lambda labels: key in labels and labels[key] in values
    if operator == "NotIn":
        return lambda labels: key not in labels or labels[key] not in values
    if operator == "Exists":
        return lambda labels: key in labels
    return lambda labels: key not in labels


def _without_wildcards(text: str) -> str:
    return text.replace("*", "0").replace("?", "0")


def _is_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    return (not slash or _is_prefix(prefix)) and re.fullmatch(_NAME, name) is not None


def _is_prefix(prefix: str) -> bool:
    return len(prefix) <= _LONGEST_PREFIX and re.fullmatch(_PREFIX, prefix) is not None


def _is_value(value: Json) -> bool:
    return value.__class__ is str and (not value or re.fullmatch(_NAME, value) is not None)


def _check_key(key: str) -> None:
    prefix, slash, _ = key.rpartition("/")
    if slash and not _is_prefix(prefix):
        raise SelectorError(f"key: Invalid value: {key!r}: prefix part must be a DNS subdomain")
    if not _is_key(key):
        raise SelectorError(f"key: Invalid value: {key!r}: name part must be a label name")


def _check_value(value: Json) -> None:
    if not _is_value(value):
        raise SelectorError(f"values: Invalid value: {value!r}: must be a label value")
