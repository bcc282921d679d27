"""`validate.foreach`: every element of a list has to pass."""

from collections.abc import Sequence

from kyvsim.kube.objects import Json
from kyvsim.migrate.conditions import conditions_test
from kyvsim.migrate.entries import with_entries
from kyvsim.migrate.expressions import FALSE, TRUE, Each, Test, every, opposite
from kyvsim.migrate.known_types import (
    NUMBER,
    element_of,
    is_list,
    is_map,
    is_number,
    is_scalar,
    is_text,
)
from kyvsim.migrate.messages import message_of
from kyvsim.migrate.patterns import guarded
from kyvsim.migrate.queries import Scope, query_value
from kyvsim.migrate.queries.scope import no_twin
from kyvsim.migrate.refusal import NotConvertible, list_of
from kyvsim.migrate.rules.draft import Given, Validation
from kyvsim.migrate.rules.validate_any_pattern import one_fits
from kyvsim.migrate.rules.validate_pattern import fits
from kyvsim.migrate.values import Value


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
