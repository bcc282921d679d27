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
from kyvsim.migrate.rules.draft import Given, Mutation, Root


def strategic_merge(given: Given) -> list[Mutation]:
    """Return the mutation of a strategic merge."""
    return [merge(given.body, given.root, Around(given.scope, merges=given.root.merges))]


def by_json_patch(given: Given) -> list[Mutation]:
    """Return the mutation of a JSON patch."""
    return [patch(given.body, given.root, Around(given.scope))]


def patch(text: Json, root: Root, around: Around) -> Mutation:
    """Return a JSON patch as JSON patches of a MutatingPolicy."""
    operations = operations_of(text, around.scope)
    return Mutation("JSONPatch", listed(json_patch(operations, root.value, around)))


def merge(patch: Mapping[str, Json], root: Root, around: Around) -> Mutation:
    """Return a patch as what is applied, or as JSON patches where types do not merge so."""
    if not isinstance(patch, Mapping):
        raise no_twin("a merge that is no map")
    try:
        return _mutation("ApplyConfiguration", merged_object(patch, root.value, around))
    except Atomic:
        return _mutation("JSONPatch", merged_fields(patch, root.value, around))


def _mutation(form: str, patched: Patched) -> Mutation:
    return Mutation(form, patched.text, patched.guards)
