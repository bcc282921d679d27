"""What is wrong with a label selector, in the words of Kubernetes.

Results of policies show them. upstream: k8s.io/apimachinery/pkg, labels/selector.go
(NewRequirement), util/validation/validation.go, apis/meta/v1/helpers.go
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from kyvsim.kube.go_text import quote, to_json
from kyvsim.kube.objects import Json

_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_PREFIX = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_NAME_FORM, _PREFIX_FORM = re.compile(_NAME), re.compile(_PREFIX)
_LONGEST_NAME, _LONGEST_PREFIX = 63, 253
_SIGNS = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    f"validation is '{_NAME}')"
)
_VALUE_SIGNS = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    f"'12345', regex used for validation is '({_NAME})?')"
)
_PREFIX_SIGNS = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    f"for validation is '{_PREFIX}')"
)
_WITH_VALUES = frozenset({"In", "NotIn"})
_WITHOUT_VALUES = frozenset({"Exists", "DoesNotExist"})
_PARTS = 2


def selector_fault(selector: Mapping[str, Json]) -> str:
    """Return what Kubernetes says against a selector; "" where it takes it."""
    for key, value in (selector.get("matchLabels") or {}).items():
        found = [*_key_faults(key), *_value_faults(key, ["" if value is None else str(value)])]
        if found:
            return _together(found)
    for expression in selector.get("matchExpressions") or ():
        fault = _expression_fault(expression or {})  # Go reads null as one without fields
        if fault:
            return fault
    return ""


def is_key(key: str) -> bool:
    """Return whether labels may have a key."""
    return not any(_key_faults(key))


def is_value(value: Json) -> bool:
    """Return whether labels may have a value."""
    return value.__class__ is str and not any(_value_faults("", [value]))


def _expression_fault(expression: Mapping[str, Json]) -> str:
    key, operator = expression.get("key") or "", expression.get("operator") or ""
    values: Sequence[Json] = expression.get("values") or []
    if operator not in _WITH_VALUES and operator not in _WITHOUT_VALUES:
        return f"{quote(operator)} is not a valid label selector operator"
    found = [*_key_faults(key)]
    if operator in _WITH_VALUES and not values:
        text = "for 'in', 'notin' operators, values set can't be empty"
        found.append(f"values: Invalid value: null: {text}")
    if operator in _WITHOUT_VALUES and values:
        text = "values set must be empty for exists and does not exist"
        found.append(f"values: Invalid value: {to_json(values)}: {text}")
    return _together([*found, *_value_faults(key, values)])


def _together(faults: Sequence[str]) -> str:
    different = list(dict.fromkeys(faults))
    return different[0] if len(different) == 1 else f"[{', '.join(different)}]" if faults else ""


def _key_faults(key: str) -> Iterator[str]:
    text = "; ".join(_against_key(key))
    if text:
        yield f"key: Invalid value: {quote(key)}: {text}"


def _against_key(key: str) -> Iterator[str]:
    parts = key.split("/")
    if len(parts) > _PARTS:
        with_prefix = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        yield f"a valid label key {_SIGNS} {with_prefix}"
        return
    if len(parts) == _PARTS:
        yield from _against_prefix(parts[0])
    name = parts[-1]
    if not name:
        yield "name part must be non-empty"
    elif len(name.encode()) > _LONGEST_NAME:
        yield f"name part must be no more than {_LONGEST_NAME} bytes"
    if _NAME_FORM.fullmatch(name) is None:
        yield f"name part {_SIGNS}"


def _against_prefix(prefix: str) -> Iterator[str]:
    if not prefix:
        yield "prefix part must be non-empty"
        return
    if len(prefix.encode()) > _LONGEST_PREFIX:
        yield f"prefix part must be no more than {_LONGEST_PREFIX} bytes"
    if _PREFIX_FORM.fullmatch(prefix) is None:
        yield f"prefix part {_PREFIX_SIGNS}"


def _value_faults(key: str, values: Sequence[Json]) -> Iterator[str]:
    for index, value in enumerate(values):
        text = "; ".join(_against_value(str(value)))
        if text:
            yield f"values[{index}][{key}]: Invalid value: {quote(str(value))}: {text}"


def _against_value(value: str) -> Iterator[str]:
    if len(value.encode()) > _LONGEST_NAME:
        yield f"must be no more than {_LONGEST_NAME} bytes"
    if value and _NAME_FORM.fullmatch(value) is None:
        yield _VALUE_SIGNS
