"""`matchConstraints`: the requests that a policy matches.

Source of the rules: upstream pkg/cel/matching/matcher.go over k8s.io/apiserver
pkg/admission/plugin/webhook/predicates. Equivalent versions are not matched.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from kyvsim.engine.match import KindIndexEntry, MatchFacts, Predicate, traced_block, traced_filter
from kyvsim.kubernetes.discovery import NO_KINDS, KindTable, is_namespaced, kind_of_plural, plural
from kyvsim.kubernetes.labels import compile_selector, selector_problem
from kyvsim.kubernetes.objects import Json, Path
from kyvsim.languages.tracing import traced_parts
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.explanation import StepKind
from kyvsim.model.source import Document
from kyvsim.model.tracing import NO_TRACE, TraceContext
from kyvsim.policy.cel_policy import MatchConstraints, ParamRef, ResourceRule

_Parts: TypeAlias = list[tuple[str, Json, Predicate]]
"""The criteria of constraints or of one of their rules: field, written value, and predicate."""


class Constraints(NamedTuple):
    """Compiled constraints."""

    matches: Predicate
    kinds: KindIndexEntry
    """The kinds that they can match; None if a wildcard leaves it open."""
    fault: str = ""
    """The reason why matching fails for each object that could match."""


def compile_constraints(
    node: MatchConstraints | None,
    namespace: str,
    kinds: KindTable = NO_KINDS,
    *,
    everything: bool = False,
    trace: TraceContext = NO_TRACE,
) -> Constraints:
    """Return the constraints of a policy; missing constraints match nothing, or `everything`.

    Empty constraints, `{}`, match everything. Selectors are those of Kubernetes: no wildcards.

    `namespace` is that of a namespaced policy, "" for others; `kinds` are custom kinds whose
    resource names are known. Other names are guessed as in Kubernetes, like upstream. `trace` is
    that of the constraints.
    """
    if node is None and not everything:
        return Constraints(traced_block(lambda _: False, StepKind.MATCH, trace), frozenset())
    node = node or MatchConstraints(())
    rules = [_compile_rule(one, kinds, trace) for one in node.resource_rules]
    excluded = [_compile_rule(one, kinds, trace) for one in node.exclude_resource_rules]
    in_namespace, namespace_fault = _compile_labels(node.namespace_selector)
    on_object, object_fault = _compile_labels(node.object_selector)
    parts: _Parts = []
    if namespace:
        name = "namespace of the policy"
        parts.append((name, namespace, lambda facts: facts.namespace == namespace))
    if in_namespace:
        written = node.namespace_selector
        parts.append(
            ("namespaceSelector", written, lambda facts: _fits_namespace(facts, in_namespace))
        )
    if on_object:

        def selects(facts: MatchFacts) -> bool:
            old = facts.old_labels
            return on_object(facts.labels) or (old is not None and on_object(old))

        parts.append(("objectSelector", node.object_selector, selects))
    if excluded:
        parts.append(
            ("excludeResourceRules", None, lambda facts: not any(rule(facts) for rule in excluded))
        )
    if rules:
        only = rules[0] if len(rules) == 1 else lambda facts: any(rule(facts) for rule in rules)
        parts.append(("resourceRules", None, only))
    matches = traced_block(_all_hold(parts, trace), StepKind.MATCH, trace)
    named = [
        kind_of_plural(group, resource.partition("/")[0], kinds)
        for rule in node.resource_rules
        for group in rule.api_groups
        for resource in rule.resources
    ]
    # A name without a kind is a wildcard, or its kind is only known from its objects.
    index = frozenset(named) if named and all(named) else None
    return Constraints(matches, index, namespace_fault or object_fault)


def _all_hold(parts: _Parts, trace: TraceContext) -> Predicate:
    tests = traced_parts(parts, trace)
    if len(tests) == 1:
        return tests[0]

    def hold(facts: MatchFacts) -> bool:
        for test in tests:  # noqa: SIM110 — a generator takes as long as two of the tests
            if not test(facts):
                return False
        return True

    return hold


def are_plain(node: MatchConstraints | None) -> bool:
    """Return whether constraints are only one rule.

    The reference program's `test` has no results for objects that such a policy does not match.
    upstream: cmd/cli/kubectl-kyverno/processor `hasSelector`
    """
    if node is None or len(node.resource_rules) != 1 or node.exclude_resource_rules:
        return False
    names = node.resource_rules[0].resource_names
    return not (names or node.selects_namespaces or node.selects_objects)


def _compile_labels(selector: Json) -> tuple[Callable[[Mapping[str, Json]], bool] | None, str]:
    """Return a selector's predicate, None if it selects everything or is invalid, and the error."""
    if not selector or not any(selector.values()):
        return None, ""
    if fault := selector_problem(selector):
        return None, f"Internal error occurred: {fault}"
    return compile_selector(selector), ""


def _fits_namespace(facts: MatchFacts, fits: Callable[[Mapping[str, object]], bool]) -> bool:
    """Return whether a selector matches the request's namespace; cluster-scoped objects match."""
    if facts.object_kind == "Namespace" and not facts.group:
        return fits(facts.labels)
    if not facts.namespace:
        return True
    return fits(facts.namespace_labels or {"kubernetes.io/metadata.name": facts.namespace})


def _compile_rule(rule: ResourceRule, kinds: KindTable, trace: TraceContext) -> Predicate:
    groups, versions, operations = (
        None if "*" in written else frozenset(written)
        for written in (rule.api_groups, rule.api_versions, rule.operations)
    )
    resources = [one.partition("/")[::2] for one in rule.resources]
    names, scope = rule.resource_names, rule.scope or "*"

    def names_object(facts: MatchFacts) -> bool:
        begins = facts.name_to_come
        return facts.name in names or (bool(begins) and any(map(begins.startswith, names)))

    def names_resource(facts: MatchFacts) -> bool:
        own, asked = plural(facts.group, facts.kind, kinds), facts.subresource
        for resource, part in resources:  # noqa: SIM110 — a generator takes as long as two
            if resource in {"*", own} and part in {"*", asked}:
                return True
        return False

    parts: _Parts = [("resources", [*rule.resources], names_resource)]
    if groups is not None:
        parts.insert(0, ("apiGroups", [*rule.api_groups], lambda facts: facts.group in groups))
    if operations is not None:
        parts.append(
            ("operations", [*rule.operations], lambda facts: facts.operation in operations)
        )
    if versions is not None:
        parts.append(("apiVersions", [*rule.api_versions], lambda facts: facts.version in versions))
    if scope != "*":
        inside = scope == "Namespaced"
        parts.append(
            ("scope", scope, lambda facts: inside is is_namespaced(facts.group, facts.kind, kinds))
        )
    if names:
        parts.append(("resourceNames", [*names], names_object))
    trace = trace.to(rule.path)
    return traced_filter(_all_hold(parts, trace), trace)


# KV161: label selectors of policies, and of bindings, that are invalid in Kubernetes.
#
# Upstream's command line silently ignores such a policy or binding; an API server rejects it. Here
# the selector selects nothing, and is reported.


def selector_problems(
    constraints: MatchConstraints | None, params: ParamRef | None = None
) -> Iterator[tuple[Path, str]]:
    """Yield path and reason of invalid selectors in constraints and in a paramRef."""
    selectors: list[tuple[Path, Json]] = []
    if constraints is not None:
        path = constraints.path
        selectors += [
            ((*path, "namespaceSelector"), constraints.namespace_selector),
            ((*path, "objectSelector"), constraints.object_selector),
        ]
    if params is not None:
        selectors.append(((*params.path, "selector"), params.selector))
    for place, selector in selectors:
        problem = selector_problem(selector or {})
        if problem:
            yield place, problem


def selector_errors(document: Document, faults: Iterable[tuple[Path, str]]) -> Iterator[Diagnostic]:
    """Yield KV161 for each invalid selector."""
    for path, fault in faults:
        text = f"invalid selector, which selects nothing: {fault}"
        yield Diagnostic("KV161", Severity.ERROR, text, document.locate(path))
