"""`mutate.foreach`: the object is patched for each element of a list."""

from kyvsim.kube.objects import Json
from kyvsim.migrate.conditions import conditions_test
from kyvsim.migrate.entries import with_entries
from kyvsim.migrate.expressions import TRUE, Test
from kyvsim.migrate.known_types import element_of, is_list
from kyvsim.migrate.patches import Around
from kyvsim.migrate.patches.draft import no_twin
from kyvsim.migrate.queries import query_value
from kyvsim.migrate.refusal import NotConvertible
from kyvsim.migrate.rules.draft import Given, Mutation
from kyvsim.migrate.rules.mutate_resource import merge
from kyvsim.migrate.values import Value


def foreach(given: Given) -> list[Mutation]:
    """Return the mutation of each loop."""
    found = []
    for index, block in enumerate(given.body):
        try:
            found.append(_loop(block, given))
        except NotConvertible as refusal:
            raise refusal.below(index) from None
    return found


def _loop(block: Json, given: Given) -> Mutation:
    if block.get("patchStrategicMerge") is None or block.get("foreach"):
        raise no_twin("a JSON patch in a loop", "map the list to patches by hand")
    listed = query_value(block["list"], given.scope)
    if not is_list(listed.types):
        raise no_twin("a loop over what is no list").below("list")
    name = given.scope.element(listed.noun)
    element = Value(name, element_of(listed.types), noun=listed.noun)
    names = {**given.scope.names, "element": element, "element0": element}
    scope = given.scope._replace(names=names, taken=given.scope.taken | {name})
    scope = with_entries(block.get("context"), scope, inline=True)
    kept: Test = TRUE
    if block.get("preconditions"):
        kept = conditions_test(block["preconditions"], scope, lenient=True)
    around = Around(scope, loop=listed, kept=kept, element=name)
    try:
        return merge(block["patchStrategicMerge"], given, around)
    except NotConvertible as refusal:
        raise refusal.below("patchStrategicMerge") from None
