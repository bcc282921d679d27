"""What Kubernetes refuses in a label selector.

upstream: k8s.io/apimachinery pkg/apis/meta/v1/helpers.go, pkg/labels/selector.go
"""

import re

from kyvsim.kube.go_text import quote, to_json
from kyvsim.kube.objects import Json
from kyvsim.kube.wildcard import has_wildcard

_LONGEST_NAME = 63
_LONGEST_PREFIX = 253
_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_SUBDOMAIN = "[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_NAME_TEXT = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end"
    " with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for"
    f" validation is '{_NAME}')"
)
_PREFIX_TEXT = (
    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters,"
    " '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex"
    " used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.',"
    " and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or"
    f" '12345', regex used for validation is '({_NAME})?')"
)
_WITH_VALUES = ("In", "NotIn")
_WITHOUT_VALUES = ("Exists", "DoesNotExist")


_NAME_FORM = re.compile(_NAME)
_PREFIX_FORM = re.compile(_SUBDOMAIN)


def selector_problem(selector: Json) -> str:
    """Return why a rule's selector is refused, or "".

    Wildcards in `matchLabels` are Kyverno's own: a selector with them is not looked at further.
    """
    labels = selector.get("matchLabels", {})
    if any(has_wildcard(key) or has_wildcard(value or "") for key, value in labels.items()):
        return ""
    expressions = selector.get("matchExpressions", [])
    if not labels and not expressions:
        return "The requirements are not specified in selector"
    for key in sorted(labels):
        problem = _key_problem(key) or _value_problem(0, key, labels[key] or "")
        if problem:
            return problem
    return next(filter(None, map(_expression_problem, expressions)), "")


def _expression_problem(expression: Json) -> str:
    key, operator = expression["key"], expression["operator"]
    values = expression.get("values", [])
    if operator not in {*_WITH_VALUES, *_WITHOUT_VALUES}:
        return f"{quote(operator)} is not a valid label selector operator"
    problem = _key_problem(key)
    if problem:
        return problem
    if operator in _WITH_VALUES and not values:
        return "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"
    if operator in _WITHOUT_VALUES and values:
        return (
            f"values: Invalid value: {to_json(values)}: values set must be empty for exists and"
            " does not exist"
        )
    return next(filter(None, (_value_problem(i, key, v) for i, v in enumerate(values))), "")


def _key_problem(key: str) -> str:
    prefix, slash, name = key.rpartition("/")
    reason = ""
    if slash and not prefix:
        reason = "prefix part must be non-empty"
    elif slash and not (len(prefix) <= _LONGEST_PREFIX and _PREFIX_FORM.fullmatch(prefix)):
        reason = _PREFIX_TEXT
    elif not name:
        reason = "name part must be non-empty"
    elif len(name) > _LONGEST_NAME:
        reason = f"name part must be no more than {_LONGEST_NAME} bytes"
    elif not _NAME_FORM.fullmatch(name):
        reason = _NAME_TEXT
    return f"key: Invalid value: {quote(key)}: {reason}" if reason else ""


def _value_problem(index: int, key: str, value: str) -> str:
    reason = ""
    if len(value) > _LONGEST_NAME:
        reason = f"must be no more than {_LONGEST_NAME} bytes"
    elif value and not _NAME_FORM.fullmatch(value):
        reason = _VALUE_TEXT
    return f"values[{index}][{key}]: Invalid value: {quote(value)}: {reason}" if reason else ""
