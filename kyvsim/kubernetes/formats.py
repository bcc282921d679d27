"""Formats of names and labels, such as DNS labels, and what is wrong with a text that is none.

Source of the rules: upstream k8s.io/apiserver pkg/cel/library/format.go; the messages are those of
k8s.io/apimachinery pkg/api/validate/content and pkg/util/validation.
"""

import re
from collections.abc import Callable
from types import MappingProxyType
from typing import NamedTuple

Check = Callable[[str], list[str]]


class _Shape(NamedTuple):
    """A pattern and how Kubernetes explains it."""

    pattern: str
    longest: int
    rule: str
    examples: tuple[str, ...]
    unit: str = "characters"
    """What is counted, in words: upstream has two for the same."""

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
_OLD_LABEL = _Shape(
    "[a-z]([-a-z0-9]*[a-z0-9])?",
    63,
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character",
    ("my-name", "abc-123"),
)
_NAME = _Shape(
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
    """Return what is wrong with a text by a format of names; nothing where it fits."""
    return CHECKS[name](text)


def is_label(text: str) -> bool:
    """Tell whether the text is a DNS-1123 label."""
    return not _label(text)


def is_subdomain(text: str) -> bool:
    """Tell whether the text is a DNS-1123 subdomain."""
    return not _SUBDOMAIN.check(text)


def _label(text: str) -> list[str]:
    found = _LABEL.too_long(text)
    if _LABEL.fits(text):
        return found
    dotted = _SUBDOMAIN.fits(text)
    return [*found, "must not contain dots" if dotted else _LABEL.explanation()]


def _qualified_name(text: str) -> list[str]:
    parts = text.split("/")
    if len(parts) > 2:
        form = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_NAME.explanation()} {form}"]
    found: list[str] = []
    if len(parts) == 2:
        prefix = parts[0]
        problems = _SUBDOMAIN.check(prefix) if prefix else ["must be non-empty"]
        found += [f"prefix part {one}" for one in problems]
    name = parts[-1]
    problems = ["must be non-empty"] if not name else _NAME.too_long(name)
    if not _NAME.fits(name):
        problems.append(_NAME.explanation())
    return found + [f"name part {one}" for one in problems]


def _prefix_of(check: Check) -> Check:
    """Return the check for what will be followed by a generated ending."""

    def masked(text: str) -> list[str]:
        return check(f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text)

    return masked


CHECKS: MappingProxyType[str, Check] = MappingProxyType(
    {
        "dns1123Label": _label,
        "dns1123Subdomain": _SUBDOMAIN.check,
        "dns1035Label": _OLD_LABEL.check,
        "qualifiedName": _qualified_name,
        "dns1123LabelPrefix": _prefix_of(_label),
        "dns1123SubdomainPrefix": _prefix_of(_SUBDOMAIN.check),
        "dns1035LabelPrefix": _prefix_of(_OLD_LABEL.check),
        "labelValue": _LABEL_VALUE.check,
    }
)
"""By its name, what returns the problems of a text with a format."""
