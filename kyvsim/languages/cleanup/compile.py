"""CleanupPolicy and ClusterCleanupPolicy: their validation and compilation.

A policy is one rule of the last phase. It evaluates the objects as given, without user and
operation, and has a result for every object: whether it matched.

Source of the rules: upstream pkg/validation/cleanuppolicy, api/kyverno/v2/cleanup_policy_types.go,
cmd/cli/kubectl-kyverno/commands/apply/command.go (`applyCleanupPolicies`), pkg/utils/match/match.go
"""

from collections.abc import Iterator, Mapping

from kyvsim.engine.compile.compiled import (
    CompiledBody,
    CompiledPolicy,
    CompiledRule,
    CompileOptions,
    Evaluation,
    Outcome,
    failed,
    passed,
    uncompiled,
)
from kyvsim.engine.compile.tracing import APPLIED, counted_rule, traced_rule
from kyvsim.engine.conditions import ConditionError, compile_exception_conditions
from kyvsim.engine.context import EntryLoader, JSONContext, compile_entries
from kyvsim.engine.context.json_context import images_entry
from kyvsim.engine.match import (
    EXCLUDED,
    MATCHED,
    MatchFacts,
    Predicate,
    compile_exception_filter,
    criteria_of,
    traced_block,
)
from kyvsim.jmespath import QueryError, QuerySyntaxError, System
from kyvsim.jmespath.query import note_on_syntax
from kyvsim.kubernetes.cron import is_standard_schedule
from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.objects import Path, object_key
from kyvsim.languages.classic.validation.match_blocks import block_problems, user_problems
from kyvsim.languages.classic.validation.rule_parts import syntax_problem
from kyvsim.languages.classic.validation.variables import (
    fix_of_keys,
    invalid_cleanup_variables,
    unreadable_variables,
)
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.explanation import StepKind
from kyvsim.model.policy import Policy
from kyvsim.model.ports import Meter
from kyvsim.model.result import RuleStatus, Stage
from kyvsim.model.tracing import Outcomes, TraceContext, counted
from kyvsim.policy.tree import (
    Conditions,
    ConfigMapEntry,
    ImageRegistryEntry,
    MatchBlock,
    ResourceFilter,
)
from kyvsim.policy.visit import TextKind, texts, written_at


def cleanup_problems(policy: Policy) -> Iterator[str]:
    """Yield the problems of a cleanup policy, each as `field: what: why`."""
    if len(policy.name.encode()) > 63:
        yield "metadata.name: Too long: may not be more than 63 bytes"
    refused: Mapping[type, str] = {ImageRegistryEntry: "ImageRegistry", ConfigMapEntry: "ConfigMap"}
    for entry in policy.rules[0].tree.context:
        if title := refused.get(type(entry)):
            yield f"spec.context: Invalid value: {title} is not allowed in CleanUp Policy"
    schedule = policy.spec.get("schedule", "")
    if not is_standard_schedule(str(schedule)):
        why = "schedule spec in the cleanupPolicy is not in proper cron format"
        yield f"spec.schedule: Invalid value: {quote(schedule)}: {why}"
    tree = policy.rules[0].tree
    for block in filter(None, (tree.match, tree.exclude)):
        problems = block_problems(block, namespaced=bool(policy.namespace))
        yield from list(user_problems(block)) or (one.message for one in problems)
    yield from (message for message, *_ in variable_problems(policy))


def variable_problems(policy: Policy) -> Iterator[tuple[str, Path, str]]:
    """Yield the problems of variables in a policy's conditions, their paths, and notes.

    They are part of the error with which a cluster rejects the policy.
    """
    start = f"variable substitution failed for policy {policy.name}: "
    block: Path = ("spec", "conditions")
    for message, path, note in invalid_cleanup_variables(written_at(policy.rules[0].tree, block)):
        yield f"{start}{message}", (*block, *path), note


def expression_problems(policy: Policy) -> Iterator[Diagnostic]:
    """KV231, KV232: a variable in a condition, or in a context entry, that is not JMESPath."""
    found = [("KV231", *problem) for problem in variable_problems(policy)]
    context: Path = ("spec", "context")
    tree = policy.rules[0].tree
    for problem, path, note in unreadable_variables(written_at(tree, context)):
        text = f"a context entry can never be evaluated: {problem}"
        found.append(("KV232", text, (*context, *path), note))
    for path, text, kind in texts(tree):
        query = text.strip() if kind is TextKind.QUERY and "{{" not in text else ""
        if query and (problem := syntax_problem(query)):
            reason = f"a context entry can never be evaluated: `{query}` is not JMESPath: {problem}"
            found.append(("KV232", reason, path, note_on_syntax(query)))
    for code, text, path, note in found:
        excerpt = (note,) if note else ()
        fix = fix_of_keys(policy.document, path)
        yield Diagnostic(code, Severity.ERROR, text, policy.document.locate(path), excerpt, fix)


_MATCHED = passed("resource matched")
_UNMATCHED = failed("resource did not match")


def lower_cleanup(
    policy: Policy, options: CompileOptions
) -> tuple[CompiledPolicy | None, tuple[Diagnostic, ...]]:
    """Return a compiled cleanup policy, or None with the errors."""
    tree, meter = policy.rules[0].tree, options.system.meter
    try:
        trace = options.trace_of(policy, policy.rules[0])
        entries = compile_entries(tree.context, options.system, trace)
        included = _compile_block(tree.match, trace, meter, MATCHED, StepKind.MATCH)
        excluded = tree.exclude and _compile_block(
            tree.exclude, trace, meter, EXCLUDED, StepKind.EXCLUDE
        )
        body = _compile_body(tree.preconditions, entries, options.system, trace)
    except (QuerySyntaxError, ValueError) as error:
        return None, (uncompiled(policy, error),)

    def matches(facts: MatchFacts) -> bool:
        if policy.namespace and policy.namespace != facts.namespace:
            return False
        anonymous = facts._replace(user=None)
        return included(anonymous) and not (excluded and excluded(anonymous))

    rule = CompiledRule(
        rule=policy.rules[0],
        stage=Stage.DELETE,
        matches=matches,
        kinds=None,
        body=body,
        later=True,
        unmatched=_UNMATCHED,
    )
    rule = traced_rule(counted_rule(rule, APPLIED, trace), policy, trace)
    return CompiledPolicy(policy, (rule,)), ()


def _compile_body(
    conditions: Conditions | None,
    entries: tuple[tuple[str, EntryLoader], ...],
    system: System,
    trace: TraceContext,
) -> CompiledBody:
    if conditions is None:
        return lambda _: _MATCHED
    holds = compile_exception_conditions(conditions, system, trace.at("conditions"))

    def evaluate(evaluation: Evaluation) -> Outcome:
        try:
            obj = evaluation.request.subject
            external = evaluation.scope.external
            data = {
                "target": external.as_json(obj),
                "request": {"namespace": object_key(obj).namespace},
            }
            scope = JSONContext(data, external, deleting=False)
            scope.hints = evaluation.scope.hints
            scope.release = system.release
            met = holds(scope.layer({}, (images_entry(obj), *entries))).met
        except (ConditionError, QueryError) as error:
            return Outcome(RuleStatus.ERROR, str(error))
        return _MATCHED if met else _UNMATCHED

    return evaluate


def _compile_block(
    block: MatchBlock, trace: TraceContext, meter: Meter, outcomes: Outcomes[bool], kind: StepKind
) -> Predicate:
    """Return the predicate of a block; one without any filter matches everything.

    Operations are ignored, and so are namespace selectors for a Namespace.
    """

    def compile_filter(one: ResourceFilter) -> Predicate:
        # Here empty selectors are not criteria.
        one = one._replace(
            selector=one.selector or None, namespace_selector=one.namespace_selector or None
        )
        place = trace.to(one.path)
        on_others = _compile_counted(one, place, meter)
        on_namespaces = _compile_counted(one, place, meter, on_namespaces=True)

        def fits(facts: MatchFacts) -> bool:
            return (on_namespaces if facts.object_kind == "Namespace" else on_others)(facts)

        return counted(place, fits, outcomes)

    checks = [compile_filter(one) for one in block.any or block.all or ()]
    joined = any if block.any else all

    def matches(facts: MatchFacts) -> bool:
        return joined(check(facts) for check in checks)

    return traced_block(matches, kind, trace.to(block.path))


def _compile_counted(
    one: ResourceFilter, trace: TraceContext, meter: Meter, *, on_namespaces: bool = False
) -> Predicate:
    """Return a filter's predicate; one that has only ignored fields matches everything."""
    heeded = one._replace(
        operations=(), namespace_selector=None if on_namespaces else one.namespace_selector
    )
    if not criteria_of(heeded):
        empty = not criteria_of(one)
        return lambda _: not empty
    return compile_exception_filter(heeded, trace, meter)
