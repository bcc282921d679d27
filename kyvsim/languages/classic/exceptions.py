"""Policy exceptions, attached to the rules that they name.

Source of the rules: upstream pkg/exceptions/selector.go, pkg/engine/utils/exceptions.go.
"""

from kyvsim.compile.compiled import CompiledConditions, CompiledException, Exclusion
from kyvsim.compile.followed import followed_exception
from kyvsim.compile.options import CompileOptions
from kyvsim.conditions import ConditionsResult, compile_exception_conditions
from kyvsim.context import JSONContext
from kyvsim.kube.wildcard import matches
from kyvsim.languages.classic.rule_type import RuleContext, RuleType
from kyvsim.match import compile_exception_match
from kyvsim.model.exception import PolicyException
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.probe import PointKind, PolicyPlace, Probe
from kyvsim.model.source import Path


def attach_exceptions(
    context: RuleContext, rule_type: RuleType, options: CompileOptions
) -> tuple[CompiledException, ...]:
    """Return the compiled exceptions that name the rule, in the order in which they were given."""
    policy, rule = context.policy, context.rule
    return tuple(
        _compile(exception, entries, rule, options)._replace(
            controls=_controls(exception, rule_type)
        )
        for exception in options.exceptions
        if (entries := _entries_for(exception, policy, rule))
    )


def declare_exceptions(options: CompileOptions) -> None:
    """Report every entry of the exceptions to the listener, also those that name no rule."""
    if options.listener is None:
        return
    for exception in options.exceptions:
        for index, one in enumerate(exception.exceptions):
            place = _place(exception, ("exceptions", index), one.policy, ", ".join(one.rules))
            Probe(place, options.listener).point(PointKind.EXCEPTION, "applied")


def _place(exception: PolicyException, inside: Path, policy: str, rule: str) -> PolicyPlace:
    return PolicyPlace(exception.document, policy, rule, ("spec", *inside))


def _compile(
    exception: PolicyException, entries: tuple[int, ...], rule: Rule, options: CompileOptions
) -> CompiledException:
    whole = Probe(_place(exception, (), exception.name, rule.name), None, options.follower)
    covers = compile_exception_match(exception.match, whole.at("match"), options.system.meter)
    conditions: CompiledConditions | None = (
        compile_exception_conditions(exception.conditions, options.system, whole.at("conditions"))
        if exception.conditions
        else None
    )
    if options.follower is not None:
        covers = followed_exception(covers, exception.key, whole)
    for index in entries:
        named = exception.exceptions[index].policy
        place = _place(exception, ("exceptions", index), named, rule.name)
        probe = Probe(place, options.listener)
        # It applies where it matches and then its conditions hold.
        if conditions is None:
            covers = probe.branch(PointKind.EXCEPTION, "applied", covers)
        else:
            conditions = _told(conditions, probe)
    return CompiledException(
        key=exception.key,
        matches=covers,
        conditions=conditions,
        controls=(),
        written=exception.match,
    )


def _told(conditions: CompiledConditions, probe: Probe) -> CompiledConditions:
    seen = probe.point(PointKind.EXCEPTION, "applied")
    if seen is None:
        return conditions

    def told(scope: JSONContext) -> ConditionsResult:
        result = conditions(scope)
        if result.met:
            seen(0)
        return result

    return told


def _controls(exception: PolicyException, rule_type: RuleType) -> tuple[Exclusion, ...]:
    """Return the controls that an exception lets pass; a rule of another type is skipped whole."""
    return rule_type.exclusions(exception.pod_security) if rule_type.exclusions else ()


def _entries_for(exception: PolicyException, policy: Policy, rule: Rule) -> tuple[int, ...]:
    """Return the numbers of the entries that name the rule."""
    return tuple(
        index
        for index in exception.entries.get(policy.key, ())
        if any(matches(pattern, rule.name) for pattern in exception.exceptions[index].rules)
    )
