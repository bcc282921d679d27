"""`validate.deny`, `validate.cel` and `validate.foreach`."""

import re
from collections.abc import Sequence
from typing import Final

from kyvsim.kubernetes.objects import Json
from kyvsim.migrate.conditions import conditions_test
from kyvsim.migrate.entries import with_entries
from kyvsim.migrate.expressions import CHOICE, FALSE, TRUE, Each, Plain, Test, every, opposite
from kyvsim.migrate.known_types import (
    NUMBER,
    element_of,
    is_list,
    is_map,
    is_number,
    is_scalar,
    is_text,
)
from kyvsim.migrate.matching import names_operations
from kyvsim.migrate.messages import Message, message_of
from kyvsim.migrate.patterns import guarded
from kyvsim.migrate.queries import Scope, query_value
from kyvsim.migrate.queries.scope import no_twin
from kyvsim.migrate.refusal import NotConvertible, list_of
from kyvsim.migrate.rules.draft import Given, Validation
from kyvsim.migrate.rules.validate_pattern import fits, one_fits
from kyvsim.migrate.values import Value
from kyvsim.model.migration import Condition

# `validate.deny`: the conditions must not hold.


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


# `validate.cel`: expressions that are CEL already.

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


# `validate.foreach`: every element of a list has to pass.


def foreach(given: Given) -> Sequence[Validation]:
    """Return the validation of each loop."""
    message = message_of(given.rule["validate"].get("message") or "", given.scope)
    return [Validation(test, message) for test in loops(given.body, given, 0)]


def loops(blocks: Json, given: Given, depth: int) -> list[Test]:
    """Return the test of each of several loops."""
    tests = []
    for index, block in enumerate(blocks):
        try:
            tests.append(_loop(block, given, depth))
        except NotConvertible as refusal:
            raise refusal.below(index) from None
    return tests


def _loop(block: Json, given: Given, depth: int) -> Test:
    listed = _list(list_of(block), given.scope)
    name = given.scope.element(listed.noun)
    element = Value(name, element_of(listed.types), noun=listed.noun)
    if block.get("elementScope") and any(
        known(element.types) for known in (is_text, is_number, is_scalar)
    ):
        raise NotConvertible(
            "elements that are no maps end a loop with `elementScope` in an error",
            "leave `elementScope` out",
            ("elementScope",),
        )
    scope = _inside(given.scope, element, depth, counted="elementIndex" in str(block))
    try:
        scope = with_entries(block.get("context"), scope, inline=True)
    except NotConvertible as refusal:
        raise refusal.below("context") from None
    body = _body(block, given._replace(scope=scope), element, depth)
    if block.get("preconditions"):
        try:
            applies = conditions_test(block["preconditions"], scope, lenient=True)
        except NotConvertible as refusal:
            raise refusal.below("preconditions") from None
        body = guarded(applies, body)
    if body in {TRUE, FALSE}:
        body = every([body])
    source = listed.or_else([]) if listed.may_miss or listed.soft else listed.tight()
    keyed = "index" if "elementIndex" in str(block) else ""
    return Each(source, name, body, keyed=keyed)


def _list(text: str, scope: Scope) -> Value:
    try:
        listed = query_value(text, scope)
    except NotConvertible as refusal:
        raise refusal.below("list") from None
    if is_map(listed.types):
        raise no_twin("a loop over a map").below("list")
    if not is_list(listed.types) and listed.types:
        return listed._replace(text=f"[{listed.text}]", types=())
    return listed


def _inside(scope: Scope, element: Value, depth: int, *, counted: bool) -> Scope:
    names = {**scope.names, "element": element, f"element{depth}": element}
    taken = scope.taken | {element.text}
    if counted:
        names |= {"elementIndex": Value("index", NUMBER)}
        taken |= {"index"}
    return scope._replace(names=names, taken=taken)


def _body(block: Json, given: Given, element: Value, depth: int) -> Test:
    try:
        if block.get("deny") is not None:
            field = "deny"
            return opposite(
                conditions_test(block["deny"].get("conditions"), given.scope, denies=True)
            )
        if block.get("pattern") is not None:
            field = "pattern"
            return fits(block["pattern"], element, given)
        if block.get("anyPattern") is not None:
            field = "anyPattern"
            return one_fits(block["anyPattern"], element, given)
        field = "foreach"
        return every(loops(block.get("foreach") or (), given, depth + 1))
    except NotConvertible as refusal:
        steps = (field, "conditions") if field == "deny" else (field,)
        raise refusal.below(*steps) from None
