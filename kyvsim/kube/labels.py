"""Label selectors, with the wildcards that Kyverno adds to `matchLabels`.

upstream: pkg/utils/match/labels.go, pkg/engine/wildcards (ReplaceInSelector) and, for what a
selector may hold, k8s.io/apimachinery/pkg/labels.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from kyvsim.kube.objects import Json
from kyvsim.kube.selector_faults import is_key, is_value, selector_fault
from kyvsim.kube.wildcard import compile_wildcard, has_wildcard

Labels: TypeAlias = Mapping[str, Json]
Selector: TypeAlias = Callable[[Labels], bool]


class SelectorError(ValueError):
    """A selector that Kubernetes refuses."""


def compile_selector(selector: Json) -> Selector:
    """Return a function that says whether labels fit `selector`; an empty one fits all.

    Raises SelectorError for an operator, key or value that Kubernetes refuses. A wildcard counts
    as "0" there, as upstream has it where no label fits.
    """
    wanted = (selector.get("matchLabels") or {}).items()
    plain = {_without_wildcards(key): _without_wildcards(_text(one)) for key, one in wanted}
    fault = selector_fault({**selector, "matchLabels": plain})
    if fault:
        raise SelectorError(fault)
    tests = [
        *_label_tests(wanted),
        *map(_expression_test, selector.get("matchExpressions") or ()),
    ]
    if len(tests) == 1:
        return tests[0]
    return lambda labels: all(test(labels) for test in tests)


def _label_tests(wanted: Iterable[tuple[str, Json]]) -> Iterable[Selector]:
    for key, value in wanted:
        text = _text(value)
        yield _wildcard_test(key, text) if has_wildcard(key + text) else _equals_test(key, text)


def _equals_test(key: str, value: str) -> Selector:
    return lambda labels: bool(labels.get(key) == value)


def _wildcard_test(key: str, value: str) -> Selector:
    fits_value = compile_wildcard(value)
    if not has_wildcard(key):  # one look instead of one at each label, of which there may be many
        return lambda labels: _fits_label(key, labels.get(key), fits_value)
    fits_key = compile_wildcard(key)
    # upstream puts the label into the selector, which is refused where the label is no legal one.
    return lambda labels: any(
        fits_key(name) and _fits_label(name, text, fits_value) for name, text in labels.items()
    )


def _fits_label(name: str, text: Json, fits_value: Callable[[str], bool]) -> bool:
    return bool(text.__class__ is str and fits_value(text) and is_key(name) and is_value(text))


def _expression_test(expression: Mapping[str, Json]) -> Selector:
    key, operator = expression.get("key") or "", expression.get("operator") or ""
    return _requirement(key, operator, frozenset(expression.get("values") or ()))


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


def _text(value: Json) -> str:
    return "" if value is None else str(value)
