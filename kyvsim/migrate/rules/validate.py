"""Validate rules → validations of a ValidatingPolicy."""

import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.pods import POD_SPEC_PATHS
from kyvsim.kubernetes.wildcard import has_wildcard, split_operator
from kyvsim.languages.classic.pod_security.controls import ActiveCheck, active_checks
from kyvsim.migrate.conditions import READ_TEXTS, conditions_test
from kyvsim.migrate.context import NotConvertible, Scope, list_of, no_twin, within
from kyvsim.migrate.context_entries import with_entries
from kyvsim.migrate.expressions import (
    CHOICE,
    FALSE,
    TRUE,
    Plain,
    Quantified,
    Relation,
    Test,
    every,
    opposite,
    some,
)
from kyvsim.migrate.matching import named_operations
from kyvsim.migrate.patterns import PatternContext, guarded, pattern_test, pattern_tests
from kyvsim.migrate.pod_security import ControlExclusion, PodExpressions, control_test
from kyvsim.migrate.queries import query_value, text_value
from kyvsim.migrate.rules.results import ConversionInput, RuleMessage, ValidationEntry
from kyvsim.migrate.values import (
    NUMBER,
    Expr,
    is_list,
    is_map,
    is_number,
    is_scalar,
    is_text,
)
from kyvsim.model.migration import ConversionCondition

# Texts of patterns that hold variables.

_SIGNS: Final = MappingProxyType({"": "==", "!": "!="})


def _pattern_context(scope: Scope) -> PatternContext:
    def text_test(pattern: str, value: Expr, if_missing: bool) -> Test | None:
        if "{{" not in pattern and "$(" not in pattern:
            return None
        sign, operand = split_operator(pattern)
        if sign not in _SIGNS or "$(" in pattern or has_wildcard(operand) or "|" in operand:
            raise NotConvertible(
                (
                    f"`{pattern}`, a pattern that is computed at evaluation, cannot be converted "
                    "to CEL"
                ),
                "use a deny condition",
            )
        scope.context.note(READ_TEXTS)
        expected = text_value(operand, scope)
        found = Relation(value.text, _SIGNS[sign], expected.tight(5))
        return some([value.is_missing(), found]) if if_missing else every([value.is_there(), found])

    return PatternContext(scope.context, text_test, scope.taken)


# `validate.pattern`: the object has to fit a pattern.


def pattern(given: ConversionInput) -> Sequence[ValidationEntry]:
    """Return the validation of a pattern."""
    test = pattern_test(given.body, given.scope.object, _pattern_context(given.scope))
    return [ValidationEntry(test, given.message())]


# `validate.anyPattern`: the object has to fit one of several patterns.


def any_pattern(given: ConversionInput) -> Sequence[ValidationEntry]:
    """Return the validation of several patterns."""
    return [
        ValidationEntry(_one_fits(given.body, given.scope.object, given.scope), given.message())
    ]


def _one_fits(patterns: list[object], subject: Expr, scope: Scope) -> Test:
    """Return the test that a value fits a pattern, or that no pattern is for it."""
    pairs = [
        within((index,), pattern_tests, one, subject, _pattern_context(scope))
        for index, one in enumerate(patterns)
    ]
    fitting = [every(pair) for pair in pairs]
    if any(guard == TRUE for guard, _ in pairs):
        return some(fitting)
    return some([*fitting, every(opposite(guard) for guard, _ in pairs)])


# `validate.deny`: the conditions must not hold.


def deny(given: ConversionInput) -> Sequence[ValidationEntry]:
    """Return the validation of a deny block."""
    message = given.message()
    conditions = given.body.get("conditions")
    if not conditions:
        return [ValidationEntry(FALSE, message)]
    denied = within(("conditions",), conditions_test, conditions, given.scope, denies=True)
    return [ValidationEntry(opposite(denied), message)]


# `validate.cel`: expressions that are CEL already.

_DELETIONS: Final = ConversionCondition(
    "deletions",
    "they are not evaluated: expressions that read the object fail there, and so does the rule",
)


_OBJECT: Final = re.compile(r"\bobject\b")


def reads_object(body: Json) -> bool:
    """Return whether an expression of a rule looks at the object, which a deletion has none of."""
    entries = (*(body.get("variables") or ()), *(body.get("expressions") or ()))
    return any(_OBJECT.search(one["expression"]) for one in entries)


def cel(given: ConversionInput) -> Sequence[ValidationEntry]:
    """Return the validations as they are written."""
    body = given.body
    if body.get("paramKind"):
        raise NotConvertible(
            "parameters cannot be converted to a ValidatingPolicy",
            "read the object with `resource.Get` in a variable",
            ("paramKind",),
        )
    for one in body.get("variables") or ():
        given.scope.context.add_variable(one["name"], one["expression"])
    has_preconditions = given.rule.get("celPreconditions") or not named_operations(given.rule)
    if has_preconditions and not given.matching.deletes:
        given.scope.context.note(_DELETIONS)
    usual = given.rule["validate"].get("message") or ""
    return [
        ValidationEntry(
            Plain(one["expression"], CHOICE),
            RuleMessage(one.get("message") or usual, one.get("messageExpression") or ""),
        )
        for one in body.get("expressions") or ()
    ]


# `validate.foreach`: every element of a list has to pass.


def foreach_validation(given: ConversionInput) -> Sequence[ValidationEntry]:
    """Return the validation of each loop."""
    message = given.message()
    return [ValidationEntry(test, message) for test in _loops(given.body, given.scope, 0)]


def _loops(blocks: Json, scope: Scope, depth: int) -> list[Test]:
    return [within((n,), _loop, one, scope, depth) for n, one in enumerate(blocks)]


def _loop(block: Json, scope: Scope, depth: int) -> Test:
    listed = within(("list",), query_value, list_of(block), scope)
    if is_map(listed.types):
        raise no_twin("a loop over a map").below("list")
    if not is_list(listed.types) and listed.types:
        listed = listed._replace(text=f"[{listed.text}]", types=())
    element = scope.element(listed)
    name = element.text
    if block.get("elementScope") and any(
        known(element.types) for known in (is_text, is_number, is_scalar)
    ):
        raise NotConvertible(
            "elements that are not maps end a loop with `elementScope` in an error",
            "remove `elementScope`",
            ("elementScope",),
        )
    keyed = "index" if "elementIndex" in str(block) else ""
    names = {**scope.names, "element": element, f"element{depth}": element}
    if keyed:
        names["elementIndex"] = Expr(keyed, NUMBER)
    scope = scope._replace(names=names, taken=scope.taken | {name} | ({keyed} - {""}))
    scope = within(("context",), with_entries, block.get("context"), scope, inline=True)
    body = _body(block, scope, element, depth)
    checks = block.get("preconditions") or {}
    applies = within(("preconditions",), conditions_test, checks, scope, lenient=True)
    source = listed.or_else([]) if listed.may_miss or listed.soft else listed.tight()
    return Quantified(source, name, guarded(applies, body), keyed=keyed)


def _body(block: Json, scope: Scope, element: Expr, depth: int) -> Test:
    if block.get("deny") is not None:
        steps, conditions = ("deny", "conditions"), block["deny"].get("conditions")
        return opposite(within(steps, conditions_test, conditions, scope, denies=True))
    if block.get("pattern") is not None:
        context = _pattern_context(scope)
        return within(("pattern",), pattern_test, block["pattern"], element, context)
    if block.get("anyPattern") is not None:
        return within(("anyPattern",), _one_fits, block["anyPattern"], element, scope)
    return every(within(("foreach",), _loops, block.get("foreach") or (), scope, depth + 1))


# `validate.podSecurity`: Pods against the Pod Security Standards, control by control.

_CRON_JOB: Final = "CronJob"
_TOLD: Final = ConversionCondition(
    "message",
    "it names the first control that is violated, not the fields and values that violate it",
)


def pod_security(given: ConversionInput) -> Sequence[ValidationEntry]:
    """Return a validation for each control of the level that is not excluded as a whole."""
    if not given.body:
        raise NotConvertible("a `podSecurity` without fields checks nothing", "remove the rule")
    level, version = (given.body.get(field) or "" for field in ("level", "version"))
    checks = active_checks(level, version)
    if checks is None:
        raise NotConvertible(
            f"`{version}` is not a version of the Pod Security Standards",
            "use `latest` or `v1.30`",
            ("version",),
        )
    given.scope.context.note(_TOLD)
    start = f"Validation rule '{given.rule['name']}' failed."
    tests = [(one.control or one.id, control_test(one, _pod(given, one))) for one in checks]
    return [
        ValidationEntry(
            test, RuleMessage(f'{start} It violates PodSecurity "{level}:{version}": {control}')
        )
        for control, test in tests
        if test != TRUE
    ]


def _pod(given: ConversionInput, check: ActiveCheck) -> PodExpressions:
    places = {POD_SPEC_PATHS.get(kind, ()) for kind in given.matching.kinds}
    if len(places) != 1 or () in places:
        raise NotConvertible(
            (
                f"the check of the Pods of {', '.join(given.matching.kinds)} cannot be converted "
                "to CEL"
            ),
            "use one rule for Pods, one for other Pod controllers, and one for CronJobs",
        )
    (*way, last) = places.pop()
    owner = given.scope.object
    for step in way:
        owner = owner.child(step)
    exclusions = [
        ControlExclusion(
            tuple(one.get("images") or ()),
            one.get("restrictedField") or "",
            tuple(one.get("values") or ()),
            place,
        )
        for place, one in enumerate(given.body.get("exclude") or ())
        if one.get("controlName") == check.control
    ]
    # Annotations of a CronJob's Pods are looked for in its Job, as upstream does.
    is_cron_job = _CRON_JOB in given.matching.kinds
    holder = given.scope.object.child("spec").child("jobTemplate") if is_cron_job else owner
    annotations = holder.child("metadata").child("annotations").or_else({})
    if _CRON_JOB in given.controllers:
        # Written so that the derived policies leave it as it is.
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
