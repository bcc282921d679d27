"""KV161: label selectors of policies, and of bindings, that Kubernetes cannot read.

Upstream's command line passes over such a policy or binding without a word; an API server does not
take it. What is written there selects nothing, and is told.
"""

from collections.abc import Iterator, Mapping, Sequence

from kyvsim.kubernetes.labels import selector_fault
from kyvsim.kubernetes.objects import Json
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Document, Path

_SELECTORS = ("namespaceSelector", "objectSelector")
_IN_BINDINGS = (*(("matchResources", name) for name in _SELECTORS), ("paramRef", "selector"))
_IN_POLICIES = tuple(("matchConstraints", name) for name in _SELECTORS)
_OF_TARGETS = tuple(("targetMatchConstraints", name) for name in _SELECTORS)


def faults_of_binding(spec: Mapping[str, Json]) -> Iterator[tuple[Path, str]]:
    """Yield where a binding has selectors that cannot be read, and why."""
    return _faults(spec, _IN_BINDINGS)


def faults_of_policy(spec: Mapping[str, Json]) -> Iterator[tuple[Path, str]]:
    """Yield where a policy has selectors that cannot be read, and why."""
    return _faults(spec, _IN_POLICIES)


def faults_of_targets(spec: Mapping[str, Json]) -> Iterator[tuple[Path, str]]:
    """Yield where a policy has selectors of existing objects that cannot be read, and why."""
    return _faults(spec, _OF_TARGETS)


def unread(document: Document, faults: Iterator[tuple[Path, str]]) -> Iterator[Diagnostic]:
    """Yield a remark for each selector that cannot be read."""
    for path, fault in faults:
        text = f"this selector cannot be read, so it selects nothing: {fault}"
        yield Diagnostic("KV161", Severity.ERROR, text, document.locate(path))


def _faults(
    spec: Mapping[str, Json], places: Sequence[tuple[str, str]]
) -> Iterator[tuple[Path, str]]:
    for field, name in places:
        fault = selector_fault((spec.get(field) or {}).get(name) or {})
        if fault:
            yield ("spec", field, name), fault
