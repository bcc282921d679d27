"""`validate.anyPattern`: the object has to fit one of several patterns."""

from collections.abc import Sequence

from kyvsim.migrate.expressions import TRUE, Test, every, opposite, some
from kyvsim.migrate.messages import message_of
from kyvsim.migrate.refusal import NotConvertible
from kyvsim.migrate.rules.draft import Given, Validation
from kyvsim.migrate.rules.validate_pattern import tests_of
from kyvsim.migrate.values import Value


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
