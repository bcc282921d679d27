"""`generate`: objects that are made for a trigger, of data or as copies."""

from collections.abc import Mapping
from typing import Final

from kyvsim.kubernetes.objects import Json
from kyvsim.migrate.conditions import conditions_test
from kyvsim.migrate.entries import with_entries
from kyvsim.migrate.expressions import TRUE, one_line
from kyvsim.migrate.generated import (
    applied,
    copied,
    copied_by_label,
    described,
    object_text,
    templated,
)
from kyvsim.migrate.generated.targets import no_twin
from kyvsim.migrate.known_types import NUMBER, element_of
from kyvsim.migrate.patches.draft import WIDTH, indented
from kyvsim.migrate.queries import Scope, query_value
from kyvsim.migrate.refusal import list_of, within
from kyvsim.migrate.rules.draft import Generation, Given
from kyvsim.migrate.values import Value

_SWITCHES: Final = ("synchronize", "orphanDownstreamOnPolicyDelete")


def generate(given: Given) -> list[Generation]:
    """Return what makes the objects of a rule."""
    body = given.body
    if body.get("foreach"):
        return [within(("foreach", n), _loop, one, given) for n, one in enumerate(body["foreach"])]
    if body.get("cloneList"):
        return [Generation(one) for one in copied_by_label(body, given.scope)]
    if body.get("clone"):
        return [Generation(copied(body, given.scope))]
    if given.scope.namespace and body.get("namespace") != given.scope.namespace:
        raise no_twin("an object outside of the policy's namespace", "write a ClusterPolicy")
    return [Generation(template=templated(described(body), given.scope))]


def evaluation_of(rule: Json, spec: Json, _: Scope) -> dict[str, Json]:
    """Return when objects are made and kept up, as `evaluation` and `useServerSideApply`."""
    body = rule["generate"]
    existing = body.get("generateExisting")
    looks_back = spec.get("generateExisting") if existing is None else existing
    switches: dict[str, Json] = {"generateExisting": {"enabled": True}} if looks_back else {}
    switches |= {name: {"enabled": True} for name in _SWITCHES if body.get(name)}
    if rule.get("skipBackgroundRequests") is False:
        switches["skipBackgroundRequests"] = False
    found: dict[str, Json] = {"evaluation": switches} if switches else {}
    if spec.get("useServerSideApply"):
        found["useServerSideApply"] = True
    return found


def _loop(block: Mapping[str, Json], given: Given) -> Generation:
    """Return the expression that makes objects for each element of a list."""
    listed = within(("list",), query_value, list_of(block), given.scope)
    source, name, names = _elements(listed, given.scope, by_place="elementIndex" in str(block))
    scope = given.scope._replace(
        names={**given.scope.names, **names}, taken=given.scope.taken | {name}
    )
    scope = within(("context",), _inside, block.get("context"), scope)
    kept = within(("preconditions",), conditions_test, block.get("preconditions"), scope)
    if kept != TRUE:
        source = f"{source}.filter({name}, {one_line(kept)})"
    made = " &&\n".join(_calls(block, scope))
    text = f"{source}.all({name}, {made})"
    return Generation(text if len(text) <= WIDTH else f"{source}.all({name},\n{indented(made)}\n)")


def _elements(listed: Value, scope: Scope, *, by_place: bool) -> tuple[str, str, dict[str, Value]]:
    """Return the list that is gone through, what its elements are called, and names for them.

    There are no loops over two names: where places are read, the list is that of the places.
    """
    if by_place:
        held = scope.desk.variable(listed.noun or "elements", listed.text)
        element = Value(f"{held}[index]", element_of(listed.types), noun=listed.noun)
        place = Value("index", NUMBER)
        names = {"element": element, "elementIndex": place, "elementIndex0": place}
        return f"lists.range({held}.size())", "index", {**names, "element0": element}
    name = scope.element(listed.noun)
    element = Value(name, element_of(listed.types), noun=listed.noun)
    return listed.tight(), name, {"element": element, "element0": element}


def _inside(entries: Json, scope: Scope) -> Scope:
    return with_entries(entries, scope, inline=True)


def _calls(block: Mapping[str, Json], scope: Scope) -> list[str]:
    if block.get("cloneList"):
        return copied_by_label(block, scope)
    if block.get("clone"):
        return [copied(block, scope)]
    made = object_text(described(block), scope)
    return [applied(f"[{made}]", str(block.get("namespace") or ""), scope)]
