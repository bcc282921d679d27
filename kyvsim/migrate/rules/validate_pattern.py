"""`validate.pattern`: the object has to fit a pattern."""

from collections.abc import Sequence

from kyvsim.kube.objects import Json
from kyvsim.migrate.expressions import Test
from kyvsim.migrate.messages import message_of
from kyvsim.migrate.patterns import Surroundings, pattern_test, pattern_tests
from kyvsim.migrate.rules.draft import Given, Validation
from kyvsim.migrate.rules.pattern_variables import text_tests
from kyvsim.migrate.values import Value


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
