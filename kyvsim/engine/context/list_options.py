"""The options of a LIST: label selector, field selector and limit, out of a URL's query.

Source of the rules: k8s.io/apimachinery pkg/labels and pkg/fields, and the field labels that
Kubernetes' own kinds can be selected by (pkg/apis/*/v1/conversion.go).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import parse_qsl

from kyvsim.kubernetes.go_text import sprint
from kyvsim.kubernetes.labels import SelectorError, compile_selector
from kyvsim.kubernetes.objects import Json, labels

_Test = Callable[[Json], bool]

_REQUIREMENT = re.compile(
    r"\s*(?:"
    r"(?P<absent>!)\s*(?P<lacking>[^\s!=,()]+)"
    r"|(?P<key>[^\s!=,()]+)"
    r"(?:\s+(?P<set>in|notin)\s*\((?P<values>[^()]*)\)|\s*(?P<sign>==|=|!=)\s*(?P<value>[^\s!=,()]*))?"
    r")\s*(?:,|$)"
)
_FIELD = re.compile(r"\s*(?P<key>[^=!,]+?)\s*(?P<sign>==|=|!=)\s*(?P<value>[^=,]*?)\s*$")
_EVERY_KIND = frozenset({"metadata.name", "metadata.namespace"})
_FALSE_BY_DEFAULT = frozenset({"spec.hostNetwork", "spec.unschedulable"})
_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_SELECTABLE: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "Pod": frozenset(
            {
                "spec.nodeName",
                "spec.restartPolicy",
                "spec.schedulerName",
                "spec.serviceAccountName",
                "spec.hostNetwork",
                "status.phase",
                "status.podIP",
                "status.nominatedNodeName",
            }
        ),
        "Node": frozenset({"spec.unschedulable"}),
        "Namespace": frozenset({"status.phase"}),
        "Secret": frozenset({"type"}),
        "ReplicaSet": frozenset({"status.replicas"}),
        "ReplicationController": frozenset({"status.replicas"}),
        "Job": frozenset({"status.successful"}),
        "CertificateSigningRequest": frozenset({"spec.signerName"}),
        "Event": frozenset(
            {
                *(f"involvedObject.{name}" for name in _INVOLVED),
                "reason",
                "reportingComponent",
                "source",
                "type",
            }
        ),
    }
)
_WITHOUT_EFFECT = frozenset(
    {"pretty", "timeoutSeconds", "resourceVersion", "resourceVersionMatch", "allowWatchBookmarks"}
)


class OptionsError(ValueError):
    """Options that the API refuses, or that cannot be followed here."""


class ListOptions(NamedTuple):
    """Which objects of a kind are wanted."""

    fits: _Test
    limit: int
    """0 for no limit."""


def parse_options(query: str, kind: str) -> ListOptions:
    """Return the options in a URL's query for objects of a kind; raise `OptionsError`."""
    tests: list[_Test] = []
    limit = 0
    for name, value in parse_qsl(query):
        if name == "labelSelector":
            tests.append(_label_test(value))
        elif name == "fieldSelector":
            tests += _field_tests(value, kind)
        elif name == "limit":
            limit = _limit(value)
        elif name not in _WITHOUT_EFFECT:
            raise OptionsError(f'kyvsim does not know the option "{name}"')
    return ListOptions(lambda obj: all(test(obj) for test in tests), limit)


def _limit(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise OptionsError(f'limit: Invalid value: "{text}"')
    return int(text)


def _label_test(text: str) -> _Test:
    try:
        selector = compile_selector({"matchExpressions": list(_requirements(text))})
    except SelectorError as error:
        raise OptionsError(f'unable to parse label selector "{text}": {error}') from error
    return lambda obj: selector(labels(obj))


def _requirements(text: str) -> Iterable[Json]:
    position = 0
    while position < len(text):
        found = _REQUIREMENT.match(text, position)
        if found is None:
            raise SelectorError(f'cannot read "{text[position:]}"')
        yield _requirement(found)
        position = found.end()


def _requirement(found: re.Match[str]) -> Json:
    if found["absent"]:
        return {"key": found["lacking"], "operator": "DoesNotExist"}
    if found["set"]:
        values = [value.strip() for value in found["values"].split(",")]
        operator = "In" if found["set"] == "in" else "NotIn"
        return {"key": found["key"], "operator": operator, "values": values}
    if found["sign"]:
        operator = "NotIn" if found["sign"] == "!=" else "In"
        return {"key": found["key"], "operator": operator, "values": [found["value"]]}
    return {"key": found["key"], "operator": "Exists"}


def _field_tests(text: str, kind: str) -> Iterable[_Test]:
    selectable = _EVERY_KIND | _SELECTABLE.get(kind, frozenset())
    for term in filter(str.strip, text.split(",")):
        found = _FIELD.match(term)
        if found is None:
            raise OptionsError(f'invalid field selector: "{term}"')
        if found["key"] not in selectable:
            raise OptionsError(f"field label not supported: {found['key']}")
        yield _field_test(found["key"], found["value"], wanted=found["sign"] != "!=")


def _field_test(key: str, value: str, *, wanted: bool) -> _Test:
    way = key.split(".")
    default = "false" if key in _FALSE_BY_DEFAULT else ""

    def test(obj: Json) -> bool:
        node = obj
        for part in way:
            node = node.get(part) if node.__class__ is dict else None
        return ((default if node is None else sprint(node)) == value) is wanted

    return test
