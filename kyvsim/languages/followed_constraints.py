"""Constraints of policies in CEL that tell which part of them said what."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from kyvsim.engine.match import MatchFacts, Predicate
from kyvsim.engine.match.block import followed_block, kind_text
from kyvsim.kubernetes.objects import Json
from kyvsim.model.explanation import Step, StepKind, Value
from kyvsim.model.probe import Probe, following
from kyvsim.model.source import Path


def followed_constraints(matches: Predicate, probe: Probe) -> Predicate:
    """Return whole constraints as ones that tell whether they matched."""
    return followed_block(matches, StepKind.MATCH.value, probe)


def followed_parts(
    parts: list[tuple[str, Predicate]], written: Mapping[str, Json], probe: Probe
) -> list[tuple[str, Predicate]]:
    """Return parts of constraints, or of one of their rules, as ones that tell."""
    return [(name, _followed(name, test, written, probe)) for name, test in parts]


def _followed(name: str, test: Predicate, written: Mapping[str, Json], probe: Probe) -> Predicate:
    look, path = _LOOKED_AT.get(name, (None, None))
    wanted = None if look is None else Value(written.get(name))
    asked = Step(StepKind.CRITERION, name, wanted=wanted, path=path, rooted=path is not None)

    def tell(step: Step, found: bool, facts: MatchFacts) -> Step:
        return step._replace(answer=found, found=Value(look(facts)) if look else None)

    return following(probe.at(name), test, asked, tell)


_LOOKED_AT: Mapping[str, tuple[Callable[[MatchFacts], Json], Path | None]] = MappingProxyType(
    {
        "apiGroups": (lambda facts: facts.group, ("apiVersion",)),
        "apiVersions": (lambda facts: facts.version, ("apiVersion",)),
        "resources": (kind_text, ("kind",)),
        "operations": (lambda facts: facts.operation, None),
        "scope": (lambda facts: facts.namespace, ("metadata", "namespace")),
        "resourceNames": (lambda facts: facts.name, ("metadata", "name")),
        "namespaceSelector": (lambda facts: dict(facts.namespace_labels), None),
        "objectSelector": (lambda facts: dict(facts.labels), ("metadata", "labels")),
        "namespace of the policy": (lambda facts: facts.namespace, ("metadata", "namespace")),
    }
)
"""What each part looks at, and where that stands in the object, if it does."""
