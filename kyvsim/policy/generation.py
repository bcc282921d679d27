"""The `generate` section of rules: nodes and their readers."""

from collections.abc import Mapping
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, Path
from kyvsim.policy.read import read_conditions, read_context, read_each, read_text, read_texts
from kyvsim.policy.tree import Conditions, ContextEntry


class Clone(NamedTuple):
    """The object that a generate rule copies."""

    path: Path
    name: str
    namespace: str


class CloneList(NamedTuple):
    """The objects that a generate rule copies together."""

    path: Path
    kinds: tuple[str, ...] | None
    namespace: str
    selector: Mapping[str, Json] | None


class GenerateTarget(NamedTuple):
    """What a generate rule, or one of its loops, makes; texts may have variables."""

    path: Path
    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    data: Json
    clone: Clone | None
    clone_list: CloneList | None
    fields: Mapping[str, Json]
    """The fields that are there as they are written, for filling in their variables."""


class ForEachGeneration(NamedTuple):
    """A loop of a generate rule: each element of a list brings objects."""

    path: Path
    list: str
    context: tuple[ContextEntry, ...]
    preconditions: Conditions | None
    target: GenerateTarget


class Generate(NamedTuple):
    """The `generate` section of a rule."""

    path: Path
    target: GenerateTarget
    """What is generated outside of loops."""
    foreach: tuple[ForEachGeneration, ...] | None
    generate_existing: bool | None
    synchronize: bool | None
    orphan_downstream_on_policy_delete: bool | None


def read_generate(data: Mapping[str, Json], path: Path) -> Generate:
    """Return the `generate` section of a rule."""
    return Generate(
        path,
        target=_generate_target(data, path),
        foreach=read_each(data.get("foreach"), (*path, "foreach"), _foreach_generation),
        generate_existing=data.get("generateExisting"),
        synchronize=data.get("synchronize"),
        orphan_downstream_on_policy_delete=data.get("orphanDownstreamOnPolicyDelete"),
    )


def _generate_target(data: Mapping[str, Json], path: Path) -> GenerateTarget:
    return GenerateTarget(
        path,
        api_version=read_text(data, "apiVersion"),
        kind=read_text(data, "kind"),
        namespace=read_text(data, "namespace"),
        name=read_text(data, "name"),
        uid=read_text(data, "uid"),
        data=data.get("data"),
        clone=_clone(data.get("clone"), (*path, "clone")),
        clone_list=_clone_list(data.get("cloneList"), (*path, "cloneList")),
        fields={name: data[name] for name in _FILLED if data.get(name) is not None},
    )


_FILLED = ("apiVersion", "kind", "namespace", "name", "data", "clone", "cloneList")


def _clone(data: Json, path: Path) -> Clone | None:
    return (
        None if data is None else Clone(path, read_text(data, "name"), read_text(data, "namespace"))
    )


def _clone_list(data: Json, path: Path) -> CloneList | None:
    if data is None:
        return None
    kinds = read_texts(data.get("kinds"))
    return CloneList(path, kinds, read_text(data, "namespace"), data.get("selector"))


def _foreach_generation(data: Mapping[str, Json], path: Path) -> ForEachGeneration:
    return ForEachGeneration(
        path,
        list=read_text(data, "list"),
        context=read_context(data.get("context"), (*path, "context")),
        preconditions=read_conditions(data.get("preconditions"), (*path, "preconditions")),
        target=_generate_target(data, path),
    )
