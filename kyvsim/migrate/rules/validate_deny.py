"""`validate.deny`: the conditions must not hold."""

from collections.abc import Sequence

from kyvsim.migrate.conditions import conditions_test
from kyvsim.migrate.expressions import FALSE, opposite
from kyvsim.migrate.messages import message_of
from kyvsim.migrate.refusal import NotConvertible
from kyvsim.migrate.rules.draft import Given, Validation


def deny(given: Given) -> Sequence[Validation]:
    """Return the validation of a deny block."""
    message = message_of(given.rule["validate"].get("message") or "", given.scope)
    conditions = given.body.get("conditions")
    if not conditions:
        return [Validation(FALSE, message)]
    try:
        denied = conditions_test(conditions, given.scope, denies=True)
    except NotConvertible as refusal:
        raise refusal.below("conditions") from None
    return [Validation(opposite(denied), message)]
