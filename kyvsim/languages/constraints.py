"""`matchConstraints`: which requests a policy is about.

Source of the rules: upstream pkg/cel/matching/matcher.go over k8s.io/apiserver
pkg/admission/plugin/webhook/predicates. Equivalent versions are not looked for.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from kyvsim.engine.match import KindIndexEntry, MatchFacts, Predicate
from kyvsim.engine.match.block import traced_filter
from kyvsim.kubernetes.discovery import NO_KINDS, KindTable, is_namespaced, kind_of_plural, plural
from kyvsim.kubernetes.labels import compile_selector, selector_problem
from kyvsim.kubernetes.objects import Json, Path
from kyvsim.languages.tracing import traced_constraints, traced_parts
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Document
from kyvsim.model.tracing import NO_TRACE, TraceContext

_Parts: TypeAlias = list[tuple[str, Predicate]]
"""The criteria of constraints or of one of their rules, by field."""


class Constraints(NamedTuple):
    """Constraints ready to run."""

    matches: Predicate
    kinds: KindIndexEntry
    """The kinds that they can match at all; None where a wildcard keeps it open."""
    fault: str = ""
    """Why matching fails for each object that could match."""


def compile_constraints(
    written: Json,
    namespace: str,
    kinds: KindTable = NO_KINDS,
    *,
    everything: bool = False,
    trace: TraceContext = NO_TRACE,
) -> Constraints:
    """Return the constraints of a policy; where there are none they match nothing, or `everything`.

    Empty constraints, `{}`, match everything. Selectors are Kubernetes' own: they know
    no wildcards.

    `namespace` is that of a namespaced policy, "" for others; `kinds` are custom ones whose
    resource names are known. Of others Kubernetes' guess is taken, as upstream does. `probe` is
    that of the constraints.
    """
    if written is None and not everything:
        return Constraints(traced_constraints(lambda _: False, trace), frozenset())
    written = written or {}
    rules, excluded = (
        [
            _compile_rule(one, kinds, trace.at(field, index))
            for index, one in enumerate(written.get(field) or ())
        ]
        for field in ("resourceRules", "excludeResourceRules")
    )
    in_namespace, namespace_fault = _compile_labels(written.get("namespaceSelector"))
    on_object, object_fault = _compile_labels(written.get("objectSelector"))
    parts: _Parts = []
    if namespace:
        parts.append(("namespace of the policy", lambda facts: facts.namespace == namespace))
    if in_namespace:
        parts.append(("namespaceSelector", lambda facts: _fits_namespace(facts, in_namespace)))
    if on_object:
        parts.append(
            (
                "objectSelector",
                lambda facts: (
                    on_object(facts.labels)
                    or (facts.old_labels is not None and on_object(facts.old_labels))
                ),
            )
        )
    if excluded:
        parts.append(
            ("excludeResourceRules", lambda facts: not any(rule(facts) for rule in excluded))
        )
    if rules:
        only = rules[0] if len(rules) == 1 else lambda facts: any(rule(facts) for rule in rules)
        parts.append(("resourceRules", only))
    matches = traced_constraints(_all_hold(parts, written, trace), trace)
    fault = namespace_fault or object_fault
    named = [
        kind_of_plural(group, resource.partition("/")[0], kinds)
        for rule in written.get("resourceRules") or ()
        for group in rule.get("apiGroups") or ()
        for resource in rule.get("resources") or ()
    ]
    # A name without a kind is a wildcard, or one that only its objects make known.
    return Constraints(matches, frozenset(named) if named and all(named) else None, fault)


def _all_hold(parts: _Parts, written: Mapping[str, Json], trace: TraceContext) -> Predicate:
    if trace.tracer is not None:
        parts = traced_parts(parts, written, trace)
    tests = tuple(test for _, test in parts)
    if len(tests) == 1:
        return tests[0]

    def hold(facts: MatchFacts) -> bool:
        for test in tests:  # noqa: SIM110 — a generator takes as long as two of the tests
            if not test(facts):
                return False
        return True

    return hold


def are_plain(written: Json) -> bool:
    """Return whether constraints are one rule and nothing besides.

    Of what such a policy does not match the reference program's tests know nothing.
    upstream: cmd/cli/kubectl-kyverno/processor `hasSelector`
    """
    rules: list[Json] = (written or {}).get("resourceRules") or []
    if len(rules) != 1 or rules[0].get("resourceNames") or written.get("excludeResourceRules"):
        return False
    selectors = (written.get(name) or {} for name in ("namespaceSelector", "objectSelector"))
    return not any(any(one.values()) for one in selectors)


def _compile_labels(
    selector: Json,
) -> tuple[Callable[[Mapping[str, Json]], bool] | None, str]:
    """Return a selector's test, None if it selects everything or cannot be read, and the error."""
    if not selector or not any(selector.values()):
        return None, ""
    fault = selector_problem(selector)
    return (
        (None, f"Internal error occurred: {fault}") if fault else (compile_selector(selector), "")
    )


def _fits_namespace(facts: MatchFacts, fits: Callable[[Mapping[str, Json]], bool]) -> bool:
    """Return whether a selector takes the request's namespace; objects outside of any fit."""
    if facts.object_kind == "Namespace" and not facts.group:
        return fits(facts.labels)
    if not facts.namespace:
        return True
    own = {"kubernetes.io/metadata.name": facts.namespace}
    return fits(facts.namespace_labels or own)


def _compile_rule(rule: Json, kinds: KindTable, trace: TraceContext) -> Predicate:
    groups, versions = (
        _allowed_values(rule.get("apiGroups")),
        _allowed_values(rule.get("apiVersions")),
    )
    operations = _allowed_values(rule.get("operations"))
    resources = [one.partition("/")[::2] for one in rule.get("resources") or ()]
    names, scope = rule.get("resourceNames") or (), rule.get("scope") or "*"

    def names_object(facts: MatchFacts) -> bool:
        begins = facts.name_to_come
        return facts.name in names or (bool(begins) and any(map(begins.startswith, names)))

    def names_resource(facts: MatchFacts) -> bool:
        own, asked = plural(facts.group, facts.kind, kinds), facts.subresource
        for resource, part in resources:  # noqa: SIM110 — a generator takes as long as two
            if resource in {"*", own} and part in {"*", asked}:
                return True
        return False

    parts: _Parts = [("resources", names_resource)]
    if groups is not None:
        parts.insert(0, ("apiGroups", lambda facts: facts.group in groups))
    if operations is not None:
        parts.append(("operations", lambda facts: facts.operation in operations))
    if versions is not None:
        parts.append(("apiVersions", lambda facts: facts.version in versions))
    if scope != "*":
        inside = scope == "Namespaced"
        parts.append(
            ("scope", lambda facts: inside is is_namespaced(facts.group, facts.kind, kinds))
        )
    if names:
        parts.append(("resourceNames", names_object))
    fits = _all_hold(parts, rule, trace)
    return traced_filter(fits, trace)


def _allowed_values(written: Sequence[str] | None) -> frozenset[str] | None:
    return None if written and "*" in written else frozenset(written or ())


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
    """Yield KV161 for each selector that cannot be read."""
    for path, fault in faults:
        text = f"invalid selector, which selects nothing: {fault}"
        yield Diagnostic("KV161", Severity.ERROR, text, document.locate(path))


def _selector_problems(
    spec: Mapping[str, Json], places: Sequence[tuple[str, str]]
) -> Iterator[tuple[Path, str]]:
    for field, name in places:
        fault = selector_problem((spec.get(field) or {}).get(name) or {})
        if fault:
            yield ("spec", field, name), fault
