"""`validate.pattern` and `validate.anyPattern`: the object has to fit a pattern."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.wildcard import has_wildcard, split_operator
from kyvsim.migrate.conditions.operators import READ_TEXTS
from kyvsim.migrate.expressions import TRUE, Relation, Test, every, opposite, some
from kyvsim.migrate.messages import message_of
from kyvsim.migrate.patterns import Surroundings, TextTest, pattern_test, pattern_tests
from kyvsim.migrate.queries import Scope, text_value
from kyvsim.migrate.refusal import NotConvertible
from kyvsim.migrate.rules.draft import Given, Validation
from kyvsim.migrate.values import Value

# Texts of patterns that hold variables.

_SIGNS: Final = MappingProxyType({"": "==", "!": "!="})


def text_tests(scope: Scope) -> TextTest:
    """Return what makes tests of texts with variables."""

    def test(pattern: str, value: Value, if_missing: bool) -> Test | None:
        if "{{" not in pattern and "$(" not in pattern:
            return None
        sign, operand = split_operator(pattern)
        if sign not in _SIGNS or "$(" in pattern or has_wildcard(operand) or "|" in operand:
            raise NotConvertible(
                f"`{pattern}`, a pattern made at run time, has no twin in CEL",
                "ask with a deny condition",
            )
        scope.desk.note(READ_TEXTS)
        wanted = text_value(operand, scope)
        found = Relation(value.text, _SIGNS[sign], wanted.tight(5))
        if if_missing:
            return some([value.is_missing(), found])
        return every([value.is_there(), found])

    return test


# `validate.pattern`: the object has to fit a pattern.


def pattern(given: Given) -> Sequence[Validation]:
    """Return the validation of a pattern."""
    subject = given.scope.object
    test = fits(given.body, subject, given)
    message = message_of(given.rule["validate"].get("message") or "", given.scope)
    return [Validation(test, message)]


def fits(data: Json, subject: Value, given: Given) -> Test:
    """Return the test that a value fits a pattern, or that the pattern is not for it."""
    return pattern_test(data, subject, _around(given))


def tests_of(data: Json, subject: Value, given: Given) -> tuple[Test, Test]:
    """Return what guards a pattern, and what it asks of a value."""
    return pattern_tests(data, subject, _around(given))


def _around(given: Given) -> Surroundings:
    return Surroundings(given.scope.desk, text_tests(given.scope), given.scope.taken)


# `validate.anyPattern`: the object has to fit one of several patterns.


def any_pattern(given: Given) -> Sequence[Validation]:
    """Return the validation of several patterns."""
    test = one_fits(given.body, given.scope.object, given)
    message = message_of(given.rule["validate"].get("message") or "", given.scope)
    return [Validation(test, message)]


def one_fits(patterns: list[object], subject: Value, given: Given) -> Test:
    """Return the test that a value fits a pattern, or that no pattern is for it."""
    pairs = []
    for index, one in enumerate(patterns):
        try:
            pairs.append(tests_of(one, subject, given))
        except NotConvertible as refusal:
            raise refusal.below(index) from None
    fitting = [every(pair) for pair in pairs]
    if any(guard == TRUE for guard, _ in pairs):
        return some(fitting)
    return some([*fitting, every(opposite(guard) for guard, _ in pairs)])
