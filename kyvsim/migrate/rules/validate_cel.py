"""`validate.cel`: expressions that are CEL already."""

import re
from collections.abc import Sequence
from typing import Final

from kyvsim.kube.objects import Json
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


_OBJECT: Final = re.compile(r"\bobject\b")


def reads_object(body: Json) -> bool:
    """Return whether an expression of a rule looks at the object, which a deletion has none of."""
    entries = (*(body.get("variables") or ()), *(body.get("expressions") or ()))
    return any(_OBJECT.search(one["expression"]) for one in entries)


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
    asks_more = given.rule.get("celPreconditions") or not names_operations(given.rule)
    if asks_more and not given.matching.deletes:
        given.scope.desk.note(_DELETIONS)
    usual = given.rule["validate"].get("message") or ""
    return [
        Validation(
            Plain(one["expression"], CHOICE),
            Message(one.get("message") or usual, one.get("messageExpression") or ""),
        )
        for one in body.get("expressions") or ()
    ]
