"""Formats of labels and names, label selectors, and their validation errors."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.go_text import quote, to_json
from kyvsim.kubernetes.objects import Json, JsonMap
from kyvsim.kubernetes.wildcard import compile_wildcard, has_wildcard

# Formats of names and labels, such as DNS labels.
#
# upstream: k8s.io/apiserver pkg/cel/library/format.go; the messages are those of
# k8s.io/apimachinery pkg/api/validate/content and pkg/util/validation.

Check = Callable[[str], list[str]]


class _Shape(NamedTuple):
    """A pattern and Kubernetes' explanation of it."""

    pattern: str
    longest: int
    rule: str
    examples: tuple[str, ...]
    unit: str = "characters"  # upstream uses two words for this

    def fits(self, text: str) -> bool:
        return re.fullmatch(self.pattern, text) is not None

    def too_long(self, text: str) -> list[str]:
        if len(text.encode()) <= self.longest:
            return []
        return [f"must be no more than {self.longest} {self.unit}"]

    def explanation(self) -> str:
        examples = " or ".join(f"'{one}', " for one in self.examples)
        return f"{self.rule} (e.g. {examples}regex used for validation is '{self.pattern}')"

    def check(self, text: str) -> list[str]:
        found = self.too_long(text)
        return found if self.fits(text) else [*found, self.explanation()]


_EDGES = "and must start and end with an alphanumeric character"
_LABEL_PATTERN = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME_PATTERN = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL = _Shape(
    _LABEL_PATTERN,
    63,
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    f"{_EDGES}",
    ("my-name", "123-abc"),
)
_SUBDOMAIN = _Shape(
    rf"{_LABEL_PATTERN}(\.{_LABEL_PATTERN})*",
    253,
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.',"
    f" {_EDGES}",
    ("example.com",),
)
_LABEL_PREFIX = _SUBDOMAIN._replace(unit="bytes")
_OLD_LABEL = _Shape(
    "[a-z]([-a-z0-9]*[a-z0-9])?",
    63,
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character",
    ("my-name", "abc-123"),
)
_FORMATS_NAME = _Shape(
    _NAME_PATTERN,
    63,
    f"must consist of alphanumeric characters, '-', '_' or '.', {_EDGES}",
    ("MyName", "my.name", "123-abc"),
    "bytes",
)
_LABEL_VALUE = _Shape(
    f"({_NAME_PATTERN})?",
    63,
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    f"{_EDGES}",
    ("MyValue", "my_value", "12345"),
    "bytes",
)


def format_problems(name: str, text: str) -> list[str]:
    """Return the errors in a text according to a format; none if it is valid."""
    return CHECKS[name](text)


def is_label(text: str) -> bool:
    """Return whether the text is a DNS-1123 label."""
    return not _label(text)


def is_subdomain(text: str) -> bool:
    """Return whether the text is a DNS-1123 subdomain."""
    return not _SUBDOMAIN.check(text)


def _label(text: str) -> list[str]:
    found = _LABEL.too_long(text)
    if _LABEL.fits(text):
        return found
    dotted = _SUBDOMAIN.fits(text)
    return [*found, "must not contain dots" if dotted else _LABEL.explanation()]


def _qualified_name(text: str, subdomain: _Shape = _SUBDOMAIN) -> list[str]:
    parts = text.split("/")
    if len(parts) > 2:
        form = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_FORMATS_NAME.explanation()} {form}"]
    found: list[str] = []
    if len(parts) == 2:
        prefix = parts[0]
        problems = subdomain.check(prefix) if prefix else ["must be non-empty"]
        found += [f"prefix part {one}" for one in problems]
    name = parts[-1]
    problems = ["must be non-empty"] if not name else _FORMATS_NAME.too_long(name)
    if not _FORMATS_NAME.fits(name):
        problems.append(_FORMATS_NAME.explanation())
    return found + [f"name part {one}" for one in problems]


def _prefix_of(check: Check) -> Check:
    """Return the check for a prefix of a generated name."""
    return lambda text: check(f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text)


CHECKS: Mapping[str, Check] = {
    "dns1123Label": _label,
    "dns1123Subdomain": _SUBDOMAIN.check,
    "dns1035Label": _OLD_LABEL.check,
    "qualifiedName": _qualified_name,
    "dns1123LabelPrefix": _prefix_of(_label),
    "dns1123SubdomainPrefix": _prefix_of(_SUBDOMAIN.check),
    "dns1035LabelPrefix": _prefix_of(_OLD_LABEL.check),
    "labelValue": _LABEL_VALUE.check,
}
"""By format name, functions that return the errors in a text."""

# Validation errors of label selectors, with Kubernetes' messages.
# They are shown in results of policies. upstream: labels/selector.go (NewRequirement),
# util/validation/validation.go and apis/meta/v1/helpers.go of k8s.io/apimachinery/pkg.

_WITH_VALUES = frozenset({"In", "NotIn"})
_WITHOUT_VALUES = frozenset({"Exists", "DoesNotExist"})


def selector_problem(selector: JsonMap) -> str:
    """Return why Kubernetes rejects a selector, or ""."""
    for key, value in (selector.get("matchLabels") or {}).items():
        found = [*_key_problems(key), *_value_problems(key, ["" if value is None else str(value)])]
        if found:
            return _together(found)
    for expression in selector.get("matchExpressions") or ():
        problem = _expression_problem(expression or {})  # Go reads null as an empty expression
        if problem:
            return problem
    return ""


def is_key(key: str) -> bool:
    """Return whether a key is valid for labels."""
    return not any(_key_problems(key))


def is_value(value: object) -> bool:
    """Return whether a value is valid for labels."""
    return value.__class__ is str and not any(_value_problems("", [value]))


def _expression_problem(expression: JsonMap) -> str:
    key, operator = expression.get("key") or "", expression.get("operator") or ""
    values: Sequence[object] = expression.get("values") or []
    if operator not in _WITH_VALUES and operator not in _WITHOUT_VALUES:
        return f"{quote(operator)} is not a valid label selector operator"
    found = [*_key_problems(key)]
    if operator in _WITH_VALUES and not values:
        text = "for 'in', 'notin' operators, values set can't be empty"
        found.append(f"values: Invalid value: null: {text}")
    if operator in _WITHOUT_VALUES and values:
        text = "values set must be empty for exists and does not exist"
        found.append(f"values: Invalid value: {to_json(values)}: {text}")
    return _together([*found, *_value_problems(key, values)])


def _together(problems: Sequence[str]) -> str:
    different = list(dict.fromkeys(problems))
    return different[0] if len(different) == 1 else f"[{', '.join(different)}]" if problems else ""


def _key_problems(key: str) -> Iterator[str]:
    text = "; ".join(_qualified_name(key, _LABEL_PREFIX))
    if text:
        yield f"key: Invalid value: {quote(key)}: {text}"


def _value_problems(key: str, values: Sequence[object]) -> Iterator[str]:
    for index, value in enumerate(values):
        text = "; ".join(_LABEL_VALUE.check(str(value)))
        if text:
            yield f"values[{index}][{key}]: Invalid value: {quote(str(value))}: {text}"


# Label selectors, with Kyverno's wildcards in `matchLabels`.
# upstream: pkg/utils/match/labels.go, pkg/engine/wildcards (ReplaceInSelector) and, for the content
# of selectors, k8s.io/apimachinery/pkg/labels.

Labels: TypeAlias = Mapping[str, object]
Selector: TypeAlias = Callable[[Labels], bool]


class SelectorError(ValueError):
    """A selector that Kubernetes rejects."""


def unselectable_label(selector: JsonMap) -> str:
    """Return a label of which no value, and no absence, satisfies a selector, or ""."""
    allowed: dict[str, set[object]] = {}
    excluded: dict[str, set[object]] = {}
    present, absent = set(), set()
    pairs = (selector.get("matchLabels") or {}).items()
    needed = [{"key": key, "operator": "In", "values": [value]} for key, value in pairs]
    for one in (*needed, *(selector.get("matchExpressions") or ())):
        key, values = one.get("key", ""), set(one.get("values") or ())
        operator = one.get("operator")
        if operator == "In":
            allowed[key] = allowed.get(key, values) & values
        elif operator == "NotIn":
            excluded.setdefault(key, set()).update(values)
        elif operator == "Exists":
            present.add(key)
        elif operator == "DoesNotExist":
            absent.add(key)
    for key, values in allowed.items():
        if not values - excluded.get(key, set()) or key in absent:
            return key
    return min(present & absent, default="")


def compile_selector(selector: Json) -> Selector:
    """Return a function that returns whether `selector` matches labels; an empty one matches all.

    Raises SelectorError for an operator, key or value that Kubernetes rejects. Wildcards are
    replaced with "0" for this check, as in upstream if no label matches.
    """
    match_labels = (selector.get("matchLabels") or {}).items()
    plain = {_without_wildcards(key): _without_wildcards(_text(one)) for key, one in match_labels}
    problem = selector_problem({**selector, "matchLabels": plain})
    if problem:
        raise SelectorError(problem)
    required = {key: _text(value) for key, value in match_labels}
    expressions = selector.get("matchExpressions") or ()
    if not expressions and not has_wildcard("".join((*required, *required.values()))):
        return lambda labels: required.items() <= labels.items()
    tests = [_label_test(key, value) for key, value in required.items()]
    tests += map(_expression_test, expressions)
    if len(tests) == 1:
        return tests[0]
    return lambda labels: all(test(labels) for test in tests)


def _label_test(key: str, value: str) -> Selector:
    if not has_wildcard(key + value):
        return lambda labels: bool(labels.get(key) == value)
    fits_value = compile_wildcard(value)
    if not has_wildcard(key):  # one lookup instead of a loop over all labels
        return lambda labels: _fits_label(key, labels.get(key), fits_value)
    fits_key = compile_wildcard(key)
    # upstream inserts the label into the selector, which is rejected if the label is invalid.
    return lambda labels: any(
        fits_key(name) and _fits_label(name, text, fits_value) for name, text in labels.items()
    )


def _fits_label(name: str, text: object, fits_value: Callable[[str], bool]) -> bool:
    return bool(text.__class__ is str and fits_value(text) and is_key(name) and is_value(text))


def _expression_test(expression: JsonMap) -> Selector:
    key, operator = expression.get("key") or "", expression.get("operator") or ""
    values = frozenset(expression.get("values") or ())
    if operator == "In":
        return lambda labels: key in labels and labels[key] in values
    if operator == "NotIn":
        return lambda labels: key not in labels or labels[key] not in values
    if operator == "Exists":
        return lambda labels: key in labels
    return lambda labels: key not in labels


def _without_wildcards(text: str) -> str:
    return text.replace("*", "0").replace("?", "0")


def _text(value: object) -> str:
    return "" if value is None else str(value)
