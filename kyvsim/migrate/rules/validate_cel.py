"""`validate.cel`: expressions that are CEL already."""

from collections.abc import Sequence
from typing import Final

from kyvsim.migrate.expressions import CHOICE, Plain
from kyvsim.migrate.matching import names_operations
from kyvsim.migrate.messages import Message
from kyvsim.migrate.refusal import NotConvertible
from kyvsim.migrate.rules.draft import Given, Validation
from kyvsim.model.migration import Condition

_DELETIONS: Final = Condition(
    "deletions",
    "they are not asked: expressions that read the object fail there, and with them the rule",
)


def cel(given: Given) -> Sequence[Validation]:
    """Return the validations as they are written."""
    body = given.body
    if body.get("paramKind"):
        raise NotConvertible(
            "parameters have no twin in a ValidatingPolicy",
            "read the object with `resource.Get` in a variable",
            ("paramKind",),
        )
    for one in body.get("variables") or ():
        given.scope.desk.keep(one["name"], one["expression"])
    if given.rule.get("celPreconditions") or not names_operations(given.rule):
        given.scope.desk.note(_DELETIONS)
    usual = given.rule["validate"].get("message") or ""
    return [
        Validation(
            Plain(one["expression"], CHOICE),
            Message(one.get("message") or usual, one.get("messageExpression") or ""),
        )
        for one in body.get("expressions") or ()
    ]
