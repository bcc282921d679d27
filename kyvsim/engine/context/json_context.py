"""The JSON context of an evaluation: the data of a request, and entries loaded on demand."""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, cast

from kyvsim.engine.context.images import pod_images
from kyvsim.jmespath import QueryError, System
from kyvsim.kubernetes.objects import Json, KubernetesObject
from kyvsim.model.explanation import Step, StepKind, Value
from kyvsim.model.ports import ExternalData
from kyvsim.model.release import NEWEST, Release
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.tracing import NO_TRACE, TraceContext, traced
from kyvsim.policy.tree import (
    ApiCallEntry,
    ConfigMapEntry,
    ContextEntry,
    GlobalReferenceEntry,
    ImageRegistryEntry,
    VariableEntry,
)

# Variables given by dotted names, merged into the data for expressions.


@lru_cache(maxsize=1024)
def split_name(name: str) -> tuple[str, ...]:
    """Return the parts of a dotted name; quotes keep dots together, as in `"a.b".c`.

    upstream: pkg/engine/context (AddVariable reads the name as a line of dot-separated values).
    """
    if '"' not in name:
        return tuple(name.split("."))

    return tuple(next(csv.reader([name], delimiter=".")))


def top_names(variables: Mapping[str, object]) -> frozenset[str]:
    """Return the top-level names that contain the variables."""
    return frozenset(split_name(name)[0] for name in variables)


class _Copied(dict[str, "_Copied"]):
    """The copied fields of a map that are maps, each with the same for its own fields."""


def with_variables(data: dict[str, Json], variables: Mapping[str, object]) -> dict[str, Json]:
    """Return `data` with the variables merged in; maps are merged, everything else is replaced.

    Each map is copied once, even if it contains several of the variables.
    """
    found: Json = dict(data)
    copied = _Copied()
    for name, value in variables.items():
        parts = split_name(name)
        if not parts:
            found, copied = _merged(found, value), _Copied()
            found = dict(found) if found.__class__ is dict else found
            continue
        if found.__class__ is not dict:
            found = {}
        _put(found, copied, parts, value)
    return found  # type: ignore[no-any-return]


def _put(data: dict[str, Json], copied: _Copied, parts: Sequence[str], value: object) -> None:
    """Merge a value into a copied map, whose fields in `copied` are copies, too."""
    *lead, last = parts
    for part in lead:
        if part not in copied:
            inner = data.get(part)
            data[part] = dict(inner) if inner.__class__ is dict else {}
            copied[part] = _Copied()
        data, copied = data[part], copied[part]
    data[last] = _merged(data.get(last), value)
    copied.pop(last, None)


def _merged(old: object, new: object) -> object:
    if old.__class__ is not dict or new.__class__ is not dict:
        return new
    return {**old, **{key: _merged(old.get(key), value) for key, value in new.items()}}


# Data for the expressions of one rule: plain values, and entries loaded on first access.


class _Skipped:
    """Marks an entry that stays undefined because its data is unknown."""


SKIPPED = _Skipped()

_NO_NAMES: frozenset[str] = frozenset()
_NOTHING: Mapping[str, object] = MappingProxyType({})

EntryLoader = Callable[["JSONContext"], Json]
"""Computes an entry's value from the entries before it; `SKIPPED` leaves it undefined.

Raises `QueryError` if the value cannot be computed.
"""


class _LazyEntry:
    __slots__ = ("_load", "_value", "name")

    def __init__(self, name: str, load: EntryLoader) -> None:
        self.name = name
        self._load = load
        self._value: object = None

    def value(self, before: "JSONContext") -> object:
        """Return the value, computed on first use from the context `before` this entry."""
        # Later elements of a loop reuse the value of an outer entry from the first, as upstream.
        if self._value is None:
            self._value = self._load(before)
        return self._value


MISSING_INPUT: Final = "missing input: "
"""Begins the hint, in the note of a result, that an input was not given, in every format."""


def not_stored(what: str) -> str:
    """Return the hint that an object is not in a simulated cluster."""
    return f"there is no {what}: create it before the request, such as with --object"


class JSONContext:
    """Top-level names of one evaluation. Layers share entries, but not the data that they write.

    upstream: pkg/engine/context. It restores a checkpoint after each element of a loop; here each
    element has its own layer.
    """

    __slots__ = (
        "_data",
        "_entries",
        "_entry_names",
        "_failed",
        "_settled",
        "_valued",
        "_variables",
        "deleting",
        "external",
        "hints",
        "policy_namespace",
        "release",
    )

    def __init__(
        self,
        data: dict[str, Json],
        external: ExternalData,
        *,
        deleting: bool,
        valued: frozenset[str] = _NO_NAMES,
        loaders: Iterable[tuple[str, EntryLoader]] = (),
    ) -> None:
        self._data = data
        self._entries: tuple[_LazyEntry, ...] = ()
        self._entry_names: frozenset[str] = _NO_NAMES
        if loaders:
            self._hold(tuple([_LazyEntry(name, load) for name, load in loaders]))
        self._settled: set[_LazyEntry] = set()
        self._failed: set[_LazyEntry] = set()
        """The settled entries that could not be computed."""
        self._valued = valued
        self._variables = _NOTHING
        self.external = external
        self.deleting = deleting
        self.hints: list[str] = []
        """Lookups without a result while entries were loaded, and how to provide one; shared by all
        layers."""
        self.policy_namespace = ""
        """The namespace that a namespaced policy can read; "" for all."""
        self.release = NEWEST
        """The release of Kyverno that evaluates, which decides how images are extracted."""

    def root(self, names: frozenset[str]) -> dict[str, Json]:
        """Return the data for a query that may read the top-level `names`.

        Raises `QueryError` if one of these entries cannot be computed.
        """
        if not self._entry_names.isdisjoint(names):
            self._settle(names)
        return self._data

    def begin_rule(self, release: Release) -> None:
        """Begin a rule: entries that an earlier one could not compute fail again for this one.

        Within a rule, only the first access to such an entry is an error: later ones find no value.
        upstream: pkg/engine/context/deferred.go (`matched`, which each rule's checkpoint clears)
        """
        self.release = release
        if self._failed:
            self._settled -= self._failed
            self._failed.clear()

    def _settle(self, names: frozenset[str]) -> None:
        for position, entry in enumerate(self._entries):
            if entry.name not in names or entry in self._settled:
                continue
            # Marked first: an entry that reads its own name finds no value.
            self._settled.add(entry)
            earlier = JSONContext(
                self._data, self.external, deleting=self.deleting, valued=self._valued
            )
            earlier.hints = self.hints
            earlier.policy_namespace = self.policy_namespace
            earlier.release = self.release
            earlier._hold(self._entries[:position])
            earlier._settled = self._settled
            try:
                value = entry.value(earlier)
            except QueryError:
                self._failed.add(entry)
                raise
            if value is not SKIPPED:
                self._data[entry.name] = value

    def _hold(self, entries: tuple[_LazyEntry, ...]) -> None:
        self._entries = entries
        self._entry_names = frozenset([entry.name for entry in entries])

    def layer(
        self,
        values: Mapping[str, object],
        loaders: Iterable[tuple[str, EntryLoader]] = (),
        variables: Mapping[str, object] = _NOTHING,
    ) -> "JSONContext":
        """Return a context with additional values and entries; this one does not change.

        Dotted `variables` are merged into it, and again into every layer above. They are given by
        users: entries with their names are not loaded.
        """
        given = variables or self._variables
        data = {**self._data, **values}
        if given:
            data = with_variables(data, given)
        valued = self._valued | top_names(variables) if variables else self._valued
        added = JSONContext(data, self.external, deleting=self.deleting, valued=valued)
        added._variables = given
        added._settled = self._settled - self._failed
        added.hints = self.hints
        added.policy_namespace = self.policy_namespace
        added.release = self.release
        if loaders:
            added._hold((*self._entries, *(_LazyEntry(name, load) for name, load in loaders)))
        else:
            added._entries, added._entry_names = self._entries, self._entry_names
        return added

    def confined(self, namespace: str) -> "JSONContext":
        """Return a context whose entries can read only objects of a namespace."""
        inside = self.layer(_NOTHING)
        inside.policy_namespace = namespace
        return inside

    def asking(self, external: ExternalData) -> "JSONContext":
        """Return a context whose entries read other external data."""
        elsewhere = self.layer(_NOTHING)
        elsewhere.external = external
        return elsewhere

    def holds(self, name: str) -> bool:
        """Return whether a user gave a value for a top-level name, or for a field of it."""
        return name in self._valued

    def with_object(self, obj: KubernetesObject) -> "JSONContext":
        """Return a context with another `request.object`."""
        seen = self.external.as_json(obj)
        return self.layer({"request": {**self._data["request"], "object": seen}})


# Context entries: one module for each source, imported on first use.


LOADERS: Final[Mapping[type, str]] = MappingProxyType(
    {
        VariableEntry: "variable",
        ConfigMapEntry: "config_map",
        ApiCallEntry: "api_call",
        GlobalReferenceEntry: "global_reference",
        ImageRegistryEntry: "image_registry",
    }
)
"""The module whose `compile_entry` returns the loader of an entry of a class."""


@lru_cache(maxsize=16)
def loader_compiler(entry_class: type) -> Callable[[Any, System], EntryLoader]:
    """Return the function that compiles entries of a class."""
    module = import_module(f"{__package__}.loaders.{LOADERS[entry_class]}")
    return cast("Callable[[Any, System], EntryLoader]", module.compile_entry)


def compile_entries(
    entries: Iterable[ContextEntry], system: System, trace: TraceContext = NO_TRACE
) -> tuple[tuple[str, EntryLoader], ...]:
    """Return name and loader of each context entry, in the order in which they are written.

    `trace` is that of the rule, or of a part of it. Entries are traced on first access.
    """
    found = []
    for entry in entries:
        entry_class: type = type(entry)
        load = loader_compiler(entry_class)(entry, system)
        step = Step(StepKind.CONTEXT, entry.name)
        found.append((entry.name, traced(trace.to(entry.path), load, step, _completed)))
    return tuple(found)


def _completed(step: Step, found: object, _: JSONContext) -> Step:
    if found is SKIPPED:
        return step._replace(note="no answer")
    return step._replace(found=Value(found))


# The initial context of a request.
#
# Source of the rules: upstream pkg/engine/policycontext, pkg/engine/context.

_SERVICE_ACCOUNT = "system:serviceaccount:"


def images_entry(subject: KubernetesObject) -> tuple[str, EntryLoader]:
    """Return the entry `images`: those of the containers of an object, undefined without any."""
    return ("images", lambda before: pod_images(subject, before.release) or SKIPPED)


def request_context(
    request: AdmissionRequest, external: ExternalData, variables: Mapping[str, object]
) -> JSONContext:
    """Return the context of a request: its fields, its user, the images of its object.

    `variables` are merged in by their dotted names; they can change any part of the request.
    """
    data = _request_data(request, external)
    if variables:
        data = with_variables(data, variables)
    deleting = request.operation is Operation.DELETE
    subject = request.object
    return JSONContext(
        data,
        external,
        deleting=deleting,
        valued=top_names(variables) if variables else frozenset(),
        loaders=(images_entry(subject),) if subject else (),
    )


def _request_data(request: AdmissionRequest, external: ExternalData) -> dict[str, object]:
    fields: dict[str, object] = {
        "namespace": request.namespace,
        "operation": request.operation.value,
    }
    if request.object is not None:
        fields["object"] = external.as_json(request.object)
    if request.old_object is not None:
        fields["oldObject"] = external.as_json(request.old_object)
    if request.details:
        fields |= request.details
    user = request.user
    if user is None:
        return {"request": fields}
    info: dict[str, object] = {
        "username": user.username,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": user.extra,
    }
    fields["userInfo"] = {name: value for name, value in info.items() if value}
    if user.roles:
        fields["roles"] = list(user.roles)
    if user.cluster_roles:
        fields["clusterRoles"] = list(user.cluster_roles)
    # upstream cuts off the length of the prefix without checking it.
    parts = user.username[len(_SERVICE_ACCOUNT) :].split(":")
    namespace, name = (parts[0], parts[1]) if len(parts) > 1 else ("", "")
    return {"request": fields, "serviceAccountName": name, "serviceAccountNamespace": namespace}
