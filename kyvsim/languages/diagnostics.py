"""Diagnostics that languages with CEL share: expressions and label selectors in error."""

from collections.abc import Iterator, Mapping, Sequence

from kyvsim.kubernetes.labels import selector_fault
from kyvsim.kubernetes.objects import Json
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Document, Location, Path

# What is said of an expression that cannot be compiled.

_START = "ERROR: <input>:"


def expression_error(code: str, about: str, message: str, location: Location) -> Diagnostic:
    """Return an error about a policy, with the expression and a mark where it goes wrong.

    `message` is the listing of cel-go: what is wrong, and below it the lines of the expression.
    """
    what, *lines = message.split("\n")
    text = f"{about}: {what.removeprefix(_START)}"
    excerpt = tuple(line.strip() for line in lines)
    return Diagnostic(code, Severity.ERROR, text, location, excerpt)


# KV161: label selectors of policies, and of bindings, that Kubernetes cannot read.
#
# Upstream's command line silently ignores such a policy or binding; an API server rejects it. Here
# the selector selects nothing, and is reported.

_SELECTORS = ("namespaceSelector", "objectSelector")
_IN_BINDINGS = (*(("matchResources", name) for name in _SELECTORS), ("paramRef", "selector"))
_IN_POLICIES = tuple(("matchConstraints", name) for name in _SELECTORS)
_OF_TARGETS = tuple(("targetMatchConstraints", name) for name in _SELECTORS)


def binding_selector_problems(spec: Mapping[str, Json]) -> Iterator[tuple[Path, str]]:
    """Yield where a binding has selectors that cannot be read, and why."""
    return _selector_problems(spec, _IN_BINDINGS)


def policy_selector_problems(spec: Mapping[str, Json]) -> Iterator[tuple[Path, str]]:
    """Yield where a policy has selectors that cannot be read, and why."""
    return _selector_problems(spec, _IN_POLICIES)


def target_selector_problems(spec: Mapping[str, Json]) -> Iterator[tuple[Path, str]]:
    """Yield where a policy has selectors of existing objects that cannot be read, and why."""
    return _selector_problems(spec, _OF_TARGETS)


def selector_errors(document: Document, faults: Iterator[tuple[Path, str]]) -> Iterator[Diagnostic]:
    """Yield a remark for each selector that cannot be read."""
    for path, fault in faults:
        text = f"this selector cannot be read, so it selects nothing: {fault}"
        yield Diagnostic("KV161", Severity.ERROR, text, document.locate(path))


def _selector_problems(
    spec: Mapping[str, Json], places: Sequence[tuple[str, str]]
) -> Iterator[tuple[Path, str]]:
    for field, name in places:
        fault = selector_fault((spec.get(field) or {}).get(name) or {})
        if fault:
            yield ("spec", field, name), fault
