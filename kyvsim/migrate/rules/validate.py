"""Convert validate rules to validations of a ValidatingPolicy."""

import re
from collections.abc import Sequence
from typing import Final

from kyvsim.kubernetes.pods import POD_SPEC_PATHS
from kyvsim.languages.classic.pod_security.controls import ActiveCheck, active_checks
from kyvsim.migrate.conditions import conditions_test
from kyvsim.migrate.context import NotConvertible, Scope, located, unsupported, within
from kyvsim.migrate.context_entries import with_entries
from kyvsim.migrate.expressions import CHOICE, TRUE, Plain, Quantified, Test, every, opposite, some
from kyvsim.migrate.matching import named_operations
from kyvsim.migrate.patterns import guarded, pattern_test, pattern_tests
from kyvsim.migrate.pod_security import PodExpressions, control_test
from kyvsim.migrate.queries import loop_list
from kyvsim.migrate.rules.results import ConversionInput, RuleMessage, ValidationEntry
from kyvsim.migrate.values import NUMBER, Expr
from kyvsim.model.migration import ConversionCondition
from kyvsim.policy.cel_policy import CelValidation
from kyvsim.policy.rule import ForEachValidation
from kyvsim.policy.tree import Deny, Pattern, PodSecurity


def pattern(body: Pattern, given: ConversionInput) -> Sequence[ValidationEntry]:
    """Return the validation of a pattern."""
    test = pattern_test(body.root, given.scope.object, given.scope)
    return [ValidationEntry(test, given.message())]


def any_pattern(patterns: Sequence[Pattern], given: ConversionInput) -> Sequence[ValidationEntry]:
    """Return the validation of several patterns."""
    test = _one_fits(patterns, given.scope.object, given.scope)
    return [ValidationEntry(test, given.message())]


def _one_fits(patterns: Sequence[Pattern], subject: Expr, scope: Scope) -> Test:
    """Return the test that a value matches a pattern, or that no pattern applies."""
    pairs = [within(one.path, pattern_tests, one.root, subject, scope) for one in patterns]
    fitting = [every(pair) for pair in pairs]
    if any(guard == TRUE for guard, _ in pairs):
        return some(fitting)
    return some([*fitting, every(opposite(guard) for guard, _ in pairs)])


def deny(body: Deny, given: ConversionInput) -> Sequence[ValidationEntry]:
    """Return the validation of a deny block, which denies everything without conditions."""
    message = given.message()
    denied = conditions_test(body.conditions, given.scope, denies=True).test
    return [ValidationEntry(opposite(denied), message)]


_DELETIONS: Final = ConversionCondition(
    "deletions",
    "they are not evaluated: expressions that read the object fail there, and so does the rule",
)
_OBJECT: Final = re.compile(r"\bobject\b")


def reads_object(body: CelValidation) -> bool:
    """Return whether an expression of a rule reads the object, which a deletion lacks."""
    variables = (one.expression for one in body.variables)
    return any(map(_OBJECT.search, (*variables, *(one.expression for one in body.expressions))))


def cel(body: CelValidation, given: ConversionInput) -> Sequence[ValidationEntry]:
    """Return the validations as they are written."""
    if body.param_kind:
        raise NotConvertible(
            "parameters cannot be converted to a ValidatingPolicy",
            "read the object with `resource.Get` in a variable",
            (*body.path, "paramKind"),
        )
    context = given.scope.context
    for variable in body.variables:  # copied as they are
        context.variables[variable.name] = variable.expression
        context.optional_names.discard(variable.name)
    has_preconditions = given.rule.cel_preconditions or not named_operations(given.rule)
    if has_preconditions and not given.matching.deletes:
        context.note(_DELETIONS)
    usual = given.rule.validate.message if given.rule.validate else ""
    return [
        ValidationEntry(
            Plain(one.expression, CHOICE), RuleMessage(one.message or usual, one.message_expression)
        )
        for one in body.expressions
    ]


def foreach_validation(
    loops: Sequence[ForEachValidation], given: ConversionInput
) -> Sequence[ValidationEntry]:
    """Return the validation of each loop: every element of its list must pass."""
    message = given.message()
    tests = [within(one.path, _loop, one, given.scope, 0) for one in loops]
    return [ValidationEntry(test, message) for test in tests]


def _loop(block: ForEachValidation, scope: Scope, depth: int) -> Test:
    listed = loop_list(block, scope)
    if listed.is_map:
        raise unsupported("a loop over a map", path=(*block.path, "list"))
    if not listed.is_list and listed.types:
        listed = listed._replace(text=f"[{listed.text}]", types=())
    element = scope.element(listed)
    name = element.text
    if block.element_scope and (element.is_text or element.is_number or element.is_scalar):
        raise NotConvertible(
            "elements that are not maps end a loop with `elementScope` in an error",
            "remove `elementScope`",
            (*block.path, "elementScope"),
        )
    keyed = "index" if "elementIndex" in str(block) else ""
    names = {**scope.names, "element": element, f"element{depth}": element}
    if keyed:
        names["elementIndex"] = Expr(keyed, NUMBER)
    scope = scope._replace(names=names, taken=scope.taken | {name} | ({keyed} - {""}))
    scope = with_entries(block.context, scope, inline=True)
    body = _body(block, scope, element, depth)
    applies = conditions_test(block.preconditions, scope, lenient=True).test
    return Quantified(listed.list_or_empty, name, guarded(applies, body), keyed=keyed)


def _body(block: ForEachValidation, scope: Scope, element: Expr, depth: int) -> Test:
    if block.deny is not None:
        return opposite(conditions_test(block.deny.conditions, scope, denies=True).test)
    if block.pattern is not None:
        with located(block.pattern.path):
            return pattern_test(block.pattern.root, element, scope)
    if block.any_pattern is not None:
        return _one_fits(block.any_pattern, element, scope)
    return every(within(one.path, _loop, one, scope, depth + 1) for one in block.foreach or ())


_CRON_JOB: Final = "CronJob"
_TOLD: Final = ConversionCondition(
    "message",
    "it names the first control that is violated, not the fields and values that violate it",
)


def pod_security(body: PodSecurity, given: ConversionInput) -> Sequence[ValidationEntry]:
    """Return a validation for each control of the level that is not completely excluded."""
    level, version = body.level, body.version
    if not (level or version or body.exclude):
        raise NotConvertible("a `podSecurity` without fields checks nothing", "remove the rule")
    checks = active_checks(level, version)
    if checks is None:
        raise NotConvertible(
            f"`{version}` is not a version of the Pod Security Standards",
            "use `latest` or `v1.30`",
            (*body.path, "version"),
        )
    given.scope.context.note(_TOLD)
    start = f"Validation rule '{given.rule.name}' failed."
    tests = [(one.control or one.id, control_test(one, _pod(body, given, one))) for one in checks]
    return [
        ValidationEntry(
            test, RuleMessage(f'{start} It violates PodSecurity "{level}:{version}": {control}')
        )
        for control, test in tests
        if test != TRUE
    ]


def _pod(body: PodSecurity, given: ConversionInput, check: ActiveCheck) -> PodExpressions:
    places = {POD_SPEC_PATHS.get(kind, ()) for kind in given.matching.kinds}
    if len(places) != 1 or () in places:
        raise NotConvertible(
            f"the check of the Pods of {', '.join(given.matching.kinds)} cannot be converted "
            "to CEL",
            "use one rule for Pods, one for other Pod controllers, and one for CronJobs",
        )
    (*way, last) = places.pop()
    owner = given.scope.object.at(*way)
    exclusions = [one for one in body.exclude if one.control_name == check.control]
    # Annotations of a CronJob's Pods are read from its Job template, as in upstream.
    is_cron_job = _CRON_JOB in given.matching.kinds
    holder = given.scope.object.at("spec", "jobTemplate") if is_cron_job else owner
    annotations = holder.at("metadata", "annotations").or_else({})
    if _CRON_JOB in given.controllers:
        # Written so that autogen does not rewrite it.
        of_job = "object['spec'].jobTemplate.?metadata.?annotations.orValue({})"
        annotations = f"object.kind == '{_CRON_JOB}' ? {of_job} : {annotations}"
    context = given.scope.context
    return PodExpressions(
        context=context,
        spec=owner.child(last),
        annotations=context.optional_variable("annotations", annotations),
        variant=check.variant,
        own=tuple(one for one in exclusions if not one.images),
        by_image=tuple(one for one in exclusions if one.images),
    )
