"""`mutate.patchStrategicMerge` and `mutate.patchesJson6902`: the object is patched."""

from collections.abc import Mapping

from kyvsim.kube.objects import Json
from kyvsim.migrate.patches import (
    Around,
    Atomic,
    Patched,
    json_patch,
    listed,
    merged_fields,
    merged_object,
    operations_of,
)
from kyvsim.migrate.patches.draft import no_twin
from kyvsim.migrate.rules.draft import Given, Mutation


def strategic_merge(given: Given) -> list[Mutation]:
    """Return the mutation of a strategic merge."""
    return [merge(given.body, given, Around(given.scope, merges=given.merges))]


def by_json_patch(given: Given) -> list[Mutation]:
    """Return the mutation of a JSON patch."""
    around = Around(given.scope)
    operations = operations_of(given.body, given.scope)
    return [Mutation("JSONPatch", listed(json_patch(operations, given.scope.object, around)))]


def merge(patch: Mapping[str, Json], given: Given, around: Around) -> Mutation:
    """Return a patch as what is applied, or as JSON patches where types do not merge so."""
    if not isinstance(patch, Mapping):
        raise no_twin("a merge that is no map")
    root = given.scope.object
    try:
        return _mutation("ApplyConfiguration", merged_object(patch, root, around))
    except Atomic:
        return _mutation("JSONPatch", merged_fields(patch, root, around))


def _mutation(form: str, patched: Patched) -> Mutation:
    return Mutation(form, patched.text, patched.guards)
