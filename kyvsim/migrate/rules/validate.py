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
from kyvsim.migrate.context import NotConvertible, Scope, list_of, located, no_twin, within
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
from kyvsim.migrate.patterns import PatternContext, TextTest, guarded, pattern_test, pattern_tests
from kyvsim.migrate.pod_security import ControlExclusion, PodExpressions, control_test
from kyvsim.migrate.queries import query_value, text_value
from kyvsim.migrate.rules.results import ConversionInput, RuleMessage, ValidationEntry
from kyvsim.migrate.values import (
    NUMBER,
    Expr,
    element_of,
    is_list,
    is_map,
    is_number,
    is_scalar,
    is_text,
)
from kyvsim.model.migration import ConversionCondition

# Texts of patterns that hold variables.

_SIGNS: Final = MappingProxyType({"": "==", "!": "!="})


def text_tests(scope: Scope) -> TextTest:
    """Return what makes tests of texts with variables."""

    def test(pattern: str, value: Expr, if_missing: bool) -> Test | None:
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
        if if_missing:
            return some([value.is_missing(), found])
        return every([value.is_there(), found])

    return test


# `validate.pattern`: the object has to fit a pattern.


def pattern(given: ConversionInput) -> Sequence[ValidationEntry]:
    """Return the validation of a pattern."""
    test = fits(given.body, given.scope.object, given)
    return [ValidationEntry(test, given.message())]


def fits(data: Json, subject: Expr, given: ConversionInput) -> Test:
    """Return the test that a value fits a pattern, or that the pattern is not for it."""
    return pattern_test(data, subject, _pattern_context(given))


def _pattern_context(given: ConversionInput) -> PatternContext:
    return PatternContext(given.scope.context, text_tests(given.scope), given.scope.taken)


# `validate.anyPattern`: the object has to fit one of several patterns.


def any_pattern(given: ConversionInput) -> Sequence[ValidationEntry]:
    """Return the validation of several patterns."""
    test = one_fits(given.body, given.scope.object, given)
    return [ValidationEntry(test, given.message())]


def one_fits(patterns: list[object], subject: Expr, given: ConversionInput) -> Test:
    """Return the test that a value fits a pattern, or that no pattern is for it."""
    pairs = []
    for index, one in enumerate(patterns):
        with located(index):
            pairs.append(pattern_tests(one, subject, _pattern_context(given)))
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
    with located("conditions"):
        denied = conditions_test(conditions, given.scope, denies=True)
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
    return [ValidationEntry(test, message) for test in loops(given.body, given, 0)]


def loops(blocks: Json, given: ConversionInput, depth: int) -> list[Test]:
    """Return the test of each of several loops."""
    tests = []
    for index, block in enumerate(blocks):
        with located(index):
            tests.append(_loop(block, given, depth))
    return tests


def _loop(block: Json, given: ConversionInput, depth: int) -> Test:
    listed = _list(list_of(block), given.scope)
    name = given.scope.element(listed.noun)
    element = Expr(name, element_of(listed.types), noun=listed.noun)
    if block.get("elementScope") and any(
        known(element.types) for known in (is_text, is_number, is_scalar)
    ):
        raise NotConvertible(
            "elements that are not maps end a loop with `elementScope` in an error",
            "remove `elementScope`",
            ("elementScope",),
        )
    counted = "elementIndex" in str(block)
    names = {**given.scope.names, "element": element, f"element{depth}": element}
    taken = given.scope.taken | {element.text}
    if counted:
        names |= {"elementIndex": Expr("index", NUMBER)}
        taken |= {"index"}
    scope = given.scope._replace(names=names, taken=taken)
    with located("context"):
        scope = with_entries(block.get("context"), scope, inline=True)
    body = _body(block, given._replace(scope=scope), element, depth)
    if block.get("preconditions"):
        with located("preconditions"):
            applies = conditions_test(block["preconditions"], scope, lenient=True)
        body = guarded(applies, body)
    if body in {TRUE, FALSE}:
        body = every([body])
    source = listed.or_else([]) if listed.may_miss or listed.soft else listed.tight()
    keyed = "index" if "elementIndex" in str(block) else ""
    return Quantified(source, name, body, keyed=keyed)


def _list(text: str, scope: Scope) -> Expr:
    with located("list"):
        listed = query_value(text, scope)
    if is_map(listed.types):
        raise no_twin("a loop over a map").below("list")
    if not is_list(listed.types) and listed.types:
        return listed._replace(text=f"[{listed.text}]", types=())
    return listed


def _body(block: Json, given: ConversionInput, element: Expr, depth: int) -> Test:
    if block.get("deny") is not None:
        with located("deny", "conditions"):
            conditions = block["deny"].get("conditions")
            return opposite(conditions_test(conditions, given.scope, denies=True))
    if block.get("pattern") is not None:
        return within(("pattern",), fits, block["pattern"], element, given)
    if block.get("anyPattern") is not None:
        return within(("anyPattern",), one_fits, block["anyPattern"], element, given)
    return every(within(("foreach",), loops, block.get("foreach") or (), given, depth + 1))


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
    return PodExpressions(
        context=given.scope.context,
        spec=owner.child(last),
        annotations=given.scope.context.optional_variable(
            "annotations", _annotations(given, owner)
        ),
        variant=check.variant,
        own=tuple(one for one in exclusions if not one.images),
        by_image=tuple(one for one in exclusions if one.images),
    )


def _annotations(given: ConversionInput, owner: Expr) -> str:
    """Return the expression of a Pod's annotations.

    Those of a CronJob's Pods are looked for in its Job, as upstream does.
    """
    if _CRON_JOB in given.matching.kinds:
        owner = given.scope.object.child("spec").child("jobTemplate")
    found = owner.child("metadata").child("annotations").or_else({})
    if _CRON_JOB not in given.controllers:
        return found
    # Written so that the derived policies leave it as it is.
    of_job = "object['spec'].jobTemplate.?metadata.?annotations.orValue({})"
    return f"object.kind == '{_CRON_JOB}' ? {of_job} : {found}"
