"""The `mutate` section of rules: nodes and their readers."""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, Path
from kyvsim.policy.read import read_conditions, read_context, read_each, read_pattern, read_text
from kyvsim.policy.tree import Conditions, ContextEntry, Pattern


class JsonPatch(NamedTuple):
    """A JSON patch: YAML or JSON in a text, which may have variables."""

    path: Path
    text: str


class ForEachMutation(NamedTuple):
    """A loop of a mutate rule: each element of a list brings a patch."""

    path: Path
    list: str
    order: str
    context: tuple[ContextEntry, ...]
    preconditions: Conditions | None
    patch_strategic_merge: Pattern | None
    patches_json6902: JsonPatch | None
    foreach: tuple["ForEachMutation", ...] | None


class MutateTarget(NamedTuple):
    """Existing objects that a rule changes; texts may have variables."""

    path: Path
    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    selector: Mapping[str, Json] | None
    context: tuple[ContextEntry, ...]
    preconditions: Conditions | None

    @property
    def selection(self) -> dict[str, Json]:
        """The fields that select objects, for filling in their variables."""
        fields = {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "selector": self.selector,
        }
        return {field: value for field, value in fields.items() if value}


class Mutate(NamedTuple):
    """The `mutate` section of a rule."""

    path: Path
    patch_strategic_merge: Pattern | None
    patches_json6902: JsonPatch | None
    foreach: tuple[ForEachMutation, ...] | None
    targets: tuple[MutateTarget, ...] | None
    mutate_existing_on_policy_update: bool | None


def _json_patch(data: Json, path: Path) -> JsonPatch | None:
    return JsonPatch(path, data) if data.__class__ is str and data else None


def read_mutate(data: Mapping[str, Json], path: Path, under: Path) -> Mutate:
    """Return the `mutate` section of a rule, with `under` as in `read_rule`."""
    loop = partial(_foreach_mutation, under=under)
    return Mutate(
        path,
        patch_strategic_merge=_merge_patch(data, path, under),
        patches_json6902=_json_patch(data.get("patchesJson6902"), (*path, "patchesJson6902")),
        foreach=read_each(data.get("foreach"), (*path, "foreach"), loop),
        targets=read_each(data.get("targets"), (*path, "targets"), _mutate_target),
        mutate_existing_on_policy_update=data.get("mutateExistingOnPolicyUpdate"),
    )


def _merge_patch(data: Mapping[str, Json], path: Path, under: Path) -> Pattern | None:
    return read_pattern(data.get("patchStrategicMerge"), (*path, "patchStrategicMerge"), under)


def _foreach_mutation(data: Mapping[str, Json], path: Path, under: Path) -> ForEachMutation:
    loop = partial(_foreach_mutation, under=under)
    return ForEachMutation(
        path,
        list=read_text(data, "list"),
        order=read_text(data, "order"),
        context=read_context(data.get("context"), (*path, "context")),
        preconditions=read_conditions(data.get("preconditions"), (*path, "preconditions")),
        patch_strategic_merge=_merge_patch(data, path, under),
        patches_json6902=_json_patch(data.get("patchesJson6902"), (*path, "patchesJson6902")),
        foreach=read_each(data.get("foreach"), (*path, "foreach"), loop),
    )


def _mutate_target(data: Mapping[str, Json], path: Path) -> MutateTarget:
    return MutateTarget(
        path,
        api_version=read_text(data, "apiVersion"),
        kind=read_text(data, "kind"),
        namespace=read_text(data, "namespace"),
        name=read_text(data, "name"),
        uid=read_text(data, "uid"),
        selector=data.get("selector"),
        context=read_context(data.get("context"), (*path, "context")),
        preconditions=read_conditions(data.get("preconditions"), (*path, "preconditions")),
    )
