"""Objects that an API server certainly rejects, independent of policies.

They do not affect results: tests often have objects with only the fields that a rule reads.
Reported are values that cannot be decoded, owners and elements without identifying fields, invalid
names, and errors that the simulated API server finds in Pods, workloads and a few other kinds;
these not if spec or template is omitted, or mutate rules may add missing fields. Missing fields
next to a kustomization are not reported, since patches are partial. Unknown fields are ignored, as
API servers drop them. upstream: k8s.io/apimachinery pkg/apis/meta/v1/validation (owner references),
pkg/api/validation, k8s.io/kubernetes pkg/apis/*/validation
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.discovery import (
    every_kind,
    is_builtin_group,
    preferred_version,
    split_api_version,
    successor_of,
)
from kyvsim.kubernetes.go_text import Base64Error, decode_base64
from kyvsim.kubernetes.go_time import TimeError, parse_rfc3339
from kyvsim.kubernetes.objects import Json, KubernetesObject, Path, metadata, object_key
from kyvsim.kubernetes.quantities import parse_quantity
from kyvsim.kubernetes.validation import metadata_problems, problems_of, required_problems
from kyvsim.load.recognise import is_beside_kustomization
from kyvsim.model.diagnostic import Diagnostic, Severity, listed, nearest
from kyvsim.model.result import RefusalCount
from kyvsim.model.source import Document
from kyvsim.schema.hints import field_hint
from kyvsim.schema.merge_types import (
    ANYTHING,
    BOOLEAN,
    NUMERIC,
    STRING,
    UNTYPED,
    ListType,
    NoTypesError,
    Type,
    TypeRef,
    find_type,
    resolve,
)
from kyvsim.schema.node import TYPE_NAMES

_OF_OWNERS = ("apiVersion", "kind", "name", "uid")
_NAMED_LISTS = frozenset(
    {"containers", "initContainers", "ephemeralContainers", "env", "volumes", "volumeMounts"}
)
"""Lists whose elements must have the fields that identify them."""
_UNCHECKED = frozenset({"CustomResourceDefinition"})
"""Kinds whose fields contain types of other kinds."""
_FITTING: Mapping[str, tuple[frozenset[type], str]] = {
    STRING: (frozenset({str}), "a string"),
    NUMERIC: (frozenset({int, float}), "a number"),
    BOOLEAN: (frozenset({bool}), "a boolean"),
}


_QUANTITIES = frozenset(
    {"allocatable", "allocatedResources", "averageValue", "capacity", "default", "defaultRequest"}
    | {"divisor", "hard", "limits", "max", "maxLimitRequestRatio", "min", "overhead", "requests"}
    | {"sizeLimit", "used"}
)
"""Fields with a quantity, or a map of quantities; their types only require a scalar."""
_TIMES = ("Time", "Timestamp", "At", "time", "timeAdded")
"""Suffixes of fields with a time; their types only require a scalar."""
_BYTES: Mapping[tuple[str, str], str] = {
    ("v1", "Secret"): "data",
    ("v1", "ConfigMap"): "binaryData",
}
"""The field of a kind that maps names to base64; its type only requires strings."""
_LONGEST_SHOWN = 60
_WITHOUT_PARTS = frozenset({"apiVersion", "kind", "metadata", "status"})
_WITH_PODS = frozenset(
    {"CronJob", "DaemonSet", "Deployment", "Job", "Pod"}
    | {"ReplicaSet", "ReplicationController", "StatefulSet"}
)
_PLAIN_NAME = re.compile(r"[a-z]([-a-z0-9]{0,50}[a-z0-9])?")
_PLAIN_KEY = r"([a-z0-9]([-a-z0-9.]{0,80}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,60}[A-Za-z0-9])?"
_PLAIN_VALUE = r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,60}[A-Za-z0-9])?)?"
_PLAIN_NAMES = re.compile(rf"{_PLAIN_NAME.pattern}(\n{_PLAIN_KEY})*")
_PLAIN_VALUES = re.compile(rf"{_PLAIN_VALUE}(\n{_PLAIN_VALUE})*")
"""Valid names and values, one per line; others are checked in detail."""
_PLAIN_QUANTITY = re.compile(r"[0-9]{1,9}(m|[kMGT]|[KMGT]i)?")
"""Valid quantities; others are parsed."""
_NO_NAMES = (None, "")
_NO_TEXTS: Mapping[str, str] = MappingProxyType({})


class _FieldError(NamedTuple):
    """An error in a field."""

    path: Path
    what: str
    example: str = ""


class RefusedObjects:
    """KV233: objects that an API server rejects, once for each kind and cause, with a count."""

    __slots__ = ("_found", "_is_final")

    def __init__(self, *, is_final: bool) -> None:
        """Set `is_final` if no rule mutates the objects."""
        self._is_final = is_final
        self._found: dict[tuple[str, str, str], RefusalCount] = {}

    def add(self, documents: Iterable[Document]) -> None:
        """Check the objects of some documents."""
        for document in documents:
            obj = document.data
            if obj.__class__ is not dict or (self._is_final and _is_ordinary(obj)):
                continue
            for fault in _errors_of(document, is_final=self._is_final):
                field = ".".join(str(step) for step in fault.path if step.__class__ is not int)
                key = (object_key(obj).kind, field, fault.what)
                known = self._found.get(key)
                if known:
                    self._found[key] = known._replace(number=known.number + 1)
                else:
                    place = document.locate(fault.path)
                    self._found[key] = RefusalCount(*key, fault.example, place)

    def merge(self, others: Iterable[RefusalCount]) -> None:
        """Add the counts of a later part."""
        for count in others:
            known = self._found.setdefault(count[:3], count)
            if known is not count:
                self._found[count[:3]] = known._replace(number=known.number + count.number)

    @property
    def found(self) -> tuple[RefusalCount, ...]:
        """The counts, in the order of the objects."""
        return tuple(self._found.values())


def refused_objects(
    documents: Iterable[Document], *, is_final: bool = True
) -> tuple[Diagnostic, ...]:
    """Return the warnings about all objects of a run."""
    refused = RefusedObjects(is_final=is_final)
    refused.add(documents)
    return warnings_of(refused.found)


def warnings_of(counts: Iterable[RefusalCount]) -> tuple[Diagnostic, ...]:
    """Return a warning for each cause."""
    warnings: list[Diagnostic] = []
    for count in counts:
        more = f" ({count.number} times)" if count.number > 1 else ""
        example = f": {count.example}" if count.example else ""
        text = (
            f"an API server rejects this {count.kind}: `{count.field}` {count.what}{more}{example}"
        )
        warnings.append(Diagnostic("KV233", Severity.WARNING, text, count.location))
    return tuple(warnings)


def _errors_of(document: Document, *, is_final: bool) -> Iterator[_FieldError]:
    obj = document.data
    key = object_key(obj)
    known = None if key.kind in _UNCHECKED else _type_of(key.api_version, key.kind)
    if known is None and (meant := _other_group(key.api_version, key.kind)):
        yield _FieldError(("apiVersion",), f"has no such kind: did you mean `{meant}`?")
    misfits: Iterator[_FieldError] = iter(())
    if known is not None:
        misfits = _misfits(known, obj, ())
    elif obj.get("metadata").__class__ is dict:
        misfits = _misfits(_metadata_type(), obj["metadata"], ("metadata",))
    unreadable = [*misfits, *_of_owners(obj), *_of_bytes(obj)]
    yield from unreadable
    review = document.review or {}
    is_there = review.get("subResource") or review.get("oldObject")
    # Tests often have only metadata, and an empty specification.
    is_cut_down = not any(value for name, value in obj.items() if name not in _WITHOUT_PARTS)
    if unreadable or not is_final or is_there or is_cut_down:
        yield from () if _is_plain(obj) else _errors_in(metadata_problems(obj, new=True))
        return
    is_part = is_beside_kustomization(document.file)
    yield from _errors_in(one for one in problems_of(obj) if not (is_part and _REQUIRED in one))


_REQUIRED = "Required value"
_PROBLEMS: Mapping[str, str] = {
    _REQUIRED: "is required",
    "Invalid value": "is invalid",
    "Duplicate value": "is a duplicate",
    "Not found": "is not found",
}
"""Kubernetes' names of field errors, and the corresponding text of our message."""


_LEFT_ALONE = (
    r"metadata\.ownerReferences\.|metadata\.name: Required|spec\.([a-zA-Z.]*\.)?template: Required"
)
"""Owners are checked elsewhere, some kinds need no name, and tests omit templates."""


def _errors_in(problems: Iterable[str]) -> Iterator[_FieldError]:
    """Yield Kubernetes' field errors, such as `spec.a[0].b: Invalid value: "c": why`."""
    for text in dict.fromkeys(problems):
        if re.match(_LEFT_ALONE, text) is None:
            field, _, problem = text.partition(": ")
            what, _, example = problem.partition(": ")
            steps = re.findall(r"[^.\[\]]+", field)
            path = tuple(int(step) if step.isdecimal() else step for step in steps)
            yield _FieldError(path, _PROBLEMS.get(what, what), example)


def _is_ordinary(obj: KubernetesObject) -> bool:
    """Return whether an object is certainly valid; a Pod takes some microseconds."""
    version, kind = obj.get("apiVersion"), obj.get("kind")
    return (
        version.__class__ is str
        and kind.__class__ is str
        and _accepting(version, kind)(obj)
        and _is_plain(obj)
        and ("ownerReferences" not in metadata(obj) or not any(_of_owners(obj)))
        and ((version, kind) not in _BYTES or not any(_of_bytes(obj)))
        # A kind of another group may have the same name.
        and (kind not in _WITH_PODS or _type_of(version, kind) is None or _has_ordinary_pod(obj))
        and not any(required_problems(obj))
    )


def _has_ordinary_pod(obj: KubernetesObject) -> bool:
    """Return whether a Pod or workload of the correct type is certainly valid."""
    spec = obj.get("spec")
    if not spec:
        return True
    if obj["kind"] != "Pod" or not spec.get("containers"):
        return False
    volumes, containers = spec.get("volumes") or (), spec["containers"]
    if spec.get("initContainers"):
        containers = [*containers, *spec["initContainers"]]
    if None in volumes or None in containers:
        return False
    volume_names = {volume.get("name") for volume in volumes}
    if len(volume_names) != len(volumes):
        return False
    names: list[str] = []
    for container in containers:
        name, mounts = container.get("name"), container.get("volumeMounts")
        if not name or not container.get("image") or _PLAIN_NAME.fullmatch(name) is None:
            return False
        names.append(name)
        if not all(port and port.get("containerPort") for port in container.get("ports") or ()):
            return False
        if mounts and not (
            None not in mounts
            and volume_names.issuperset([mount.get("name") for mount in mounts])
            and len({mount.get("mountPath") for mount in mounts}) == len(mounts)
        ):
            return False
    return len(set(names)) == len(names) and not spec.get("ephemeralContainers")


_Accepts: TypeAlias = Callable[[Json], bool]
_LEAVES: frozenset[type] = frozenset({str, int, float, bool, type(None)})
_NO_LEAVES: frozenset[type] = frozenset({type(None)})


def _accepts_nothing(_: object) -> bool:
    return False


class _Accepted(NamedTuple):
    """Values that are certainly valid for a type: `_misfits` reports none of them."""

    leaves: frozenset[type]
    inner: _Accepts


def _is_quantity(value: object) -> bool:
    if value.__class__ is not str:
        return False
    return _PLAIN_QUANTITY.fullmatch(value) is not None or parse_quantity(value) is not None


@lru_cache(maxsize=1024)
def _is_time_text(value: str) -> bool:
    try:
        parse_rfc3339(value)
    except TimeError:
        return False
    return True


def _is_time(value: object) -> bool:
    return value.__class__ is str and _is_time_text(value)


_ANY_VALUE = _Accepted(_LEAVES, lambda _: True)
_UNKNOWN = _Accepted(frozenset(), _accepts_nothing)
"""Values of fields that a type does not have."""
_TIME = _Accepted(_NO_LEAVES, _is_time)
_QUANTITY = _Accepted(_LEAVES - {str, bool}, _is_quantity)


@lru_cache(maxsize=512)
def _accepting(api_version: str, kind: str) -> _Accepts:
    """Return a fast function that recognises valid objects of a kind."""
    known = None if kind in _UNCHECKED else _type_of(api_version, kind)
    if known is not None:
        return _accepted(known, "").inner
    if _other_group(api_version, kind):
        return _accepts_nothing
    return _map_acceptor({"metadata": _metadata_type()}, ANYTHING)


def _accepted(kind: Type, field: str) -> _Accepted:
    is_map, is_list = kind.mapping is not None, kind.sequence is not None
    if (is_map and is_list) or (kind.scalar and (is_map or is_list)):
        return _ANY_VALUE
    if kind.mapping is not None:
        fields, others = kind.mapping.fields, kind.mapping.others
        return _Accepted(_NO_LEAVES, _map_acceptor(fields, others, field))
    if kind.sequence is not None:
        return _Accepted(_NO_LEAVES, _list_acceptor(kind.sequence, field))
    if kind.scalar == UNTYPED and field in _QUANTITIES:
        return _QUANTITY
    if kind.scalar == UNTYPED and field.endswith(_TIMES):
        return _TIME
    fitting = _FITTING.get(kind.scalar)
    if fitting is None:
        return _ANY_VALUE
    if kind.values:
        allowed = frozenset({"", *kind.values})  # an empty string is a missing value
        return _Accepted(_NO_LEAVES, lambda value: value.__class__ is str and value in allowed)
    return _Accepted(fitting[0] | _NO_LEAVES, _accepts_nothing)


class _AcceptedFields(dict[str, _Accepted]):
    """The valid values of fields, computed on demand."""

    __slots__ = ("_fields", "_other")

    def __init__(
        self, fields: Mapping[str, TypeRef], others: TypeRef | None, holder: str = ""
    ) -> None:
        super().__init__()
        self._fields = fields
        self._other = _UNKNOWN if others is None else _accepted(resolve(others), holder)

    def __missing__(self, name: str) -> _Accepted:
        if name not in self._fields:
            return self._other  # not cached: other names are unlimited
        accepted = self[name] = _accepted(resolve(self._fields[name]), name)
        return accepted


def _map_acceptor(
    fields: Mapping[str, TypeRef], others: TypeRef | None, holder: str = ""
) -> _Accepts:
    accepted = _AcceptedFields(fields, others, holder)
    if not fields and others is not None:
        return _uniform(dict, accepted[""])

    def accepts(value: object) -> bool:
        if value.__class__ is not dict:
            return False
        for name, inner in value.items():
            leaves, accepts_inner = accepted[name]
            if inner.__class__ not in leaves and not accepts_inner(inner):
                return False
        return True

    return accepts


def _list_acceptor(kind: ListType, field: str) -> _Accepts:
    accepts = _uniform(list, _accepted(resolve(kind.element), ""))
    keys = kind.keys if field in _NAMED_LISTS else None
    if not keys:
        return accepts

    def accepts_named(value: Json) -> bool:
        if not accepts(value):
            return False
        for element in value:
            if element.__class__ is dict:
                for key in keys:
                    if element.get(key) in _NO_NAMES:
                        return False
        return True

    return accepts_named


def _uniform(holder: type, accepted: _Accepted) -> _Accepts:
    """Return a function that accepts maps or lists of values of one type."""
    leaves, accepts_inner = accepted
    if accepted is _ANY_VALUE:
        return lambda value: value.__class__ is holder
    values: Callable[[Json], Iterable[Json]] = dict.values if holder is dict else list.__iter__
    if accepts_inner is _accepts_nothing:
        return lambda value: (
            value.__class__ is holder and leaves.issuperset(map(type, values(value)))
        )

    def accepts(value: object) -> bool:
        if value.__class__ is not holder:
            return False
        for inner in values(value):
            if inner.__class__ not in leaves and not accepts_inner(inner):
                return False
        return True

    return accepts


def _is_plain(obj: object) -> bool:
    """Return whether names, labels and annotations are valid for every kind."""
    about = metadata(obj)
    name, texts, notes = about.get("name", "a"), about.get("labels"), about.get("annotations")
    namespace = about.get("namespace") or "a"
    if namespace.__class__ is not str or _PLAIN_NAME.fullmatch(namespace) is None:
        return False
    try:
        shown = "\n".join((name, *(texts or ()), *(notes or ())))
        values = "\n".join((texts or _NO_TEXTS).values())
    except (AttributeError, TypeError):
        return False  # they are not strings
    return _PLAIN_NAMES.fullmatch(shown) is not None and _PLAIN_VALUES.fullmatch(values) is not None


def _other_group(api_version: str, kind: str) -> str:
    """Return the apiVersion of a kind that is written with another group, or a removed version."""
    group, version = split_api_version(api_version)
    later = successor_of(group, version, kind)
    if later:
        return f"{group}/{later}"
    groups = [one for one, name in every_kind() if name == kind]
    if not (is_builtin_group(group) or group == "extensions") or group in groups or not groups:
        return ""
    return f"{groups[0]}/{preferred_version(groups[0], kind)}".lstrip("/")


def _type_of(api_version: str, kind: str) -> Type | None:
    try:
        return find_type(api_version, kind)
    except NoTypesError:
        return None


@cache
def _metadata_type() -> Type:
    """Return the type of metadata."""
    pod = find_type("v1", "Pod")
    if pod is None or pod.mapping is None:
        raise LookupError("the types of Kubernetes have no Pods")
    return resolve(pod.mapping.fields["metadata"])


def _misfits(kind: Type, value: Json, path: Path) -> Iterator[_FieldError]:
    """Yield values that cannot be decoded into a type, and list elements without keys."""
    actual = value.__class__
    if value is None:
        return
    if actual is dict and kind.mapping is not None:
        for name, field in value.items():
            ref = kind.mapping.fields.get(name, kind.mapping.others)
            if ref is not None:
                yield from _misfits(resolve(ref), field, (*path, name))
            elif hint := field_hint(name, kind.mapping.fields.keys() - value.keys(), (kind,)):
                yield _FieldError((*path, name), f"is not a field{hint}")
    elif actual is list and kind.sequence is not None:
        yield from _in_list(kind.sequence, value, path)
    else:
        yield from _misfit(kind, value, path)


def _misfit(kind: Type, value: Json, path: Path) -> Iterator[_FieldError]:
    """Yield what is wrong with a scalar, or with the type of a value."""
    expected = _expected(kind, value.__class__)
    if expected:
        name = TYPE_NAMES[value.__class__]
        type_name = f"{'an' if name[0] in 'aeio' else 'a'} {name}"
        is_word = expected == "a string" and isinstance(value, bool | int | float)
        hint = " (put it in quotes)" if is_word else ""
        yield _FieldError(path, f"must be {expected}, not {type_name}{hint}")
    elif kind.values and value not in {"", *kind.values}:
        near = nearest(value, kind.values)
        hint = f"did you mean `{near}`?" if near else f"one of {listed(kind.values, 9)}"
        yield _FieldError(path, f"has an unknown value: {hint}", _shown(value))
    elif (
        kind.scalar == UNTYPED
        and not _QUANTITIES.isdisjoint(path[-2:])
        and value.__class__ in {str, bool}
        and not _is_quantity(value)
    ):
        yield _FieldError(path, "must be a quantity such as 100m or 1Gi", _shown(value))
    elif kind.scalar == UNTYPED and str(path[-1]).endswith(_TIMES) and not _is_time(value):
        yield _FieldError(path, "must be a time such as 2026-01-31T08:00:00Z", _shown(value))


def _in_list(kind: ListType, value: list[Json], path: Path) -> Iterator[_FieldError]:
    keys = kind.keys if path and path[-1] in _NAMED_LISTS else None
    for index, element in enumerate(value):
        missing = _missing_key(keys, element)
        if missing:
            yield _FieldError((*path, index), f"has an element without `{missing}`")
        yield from _misfits(resolve(kind.element), element, (*path, index))


def _expected(kind: Type, actual: type) -> str:
    """Return the expected type if a class of values is not allowed, or ""."""
    if kind.mapping is None and kind.sequence is None:
        fitting = _FITTING.get(kind.scalar)
        return "" if fitting is None or actual in fitting[0] else fitting[1]
    if kind.scalar or (kind.mapping is not None and kind.sequence is not None):
        return ""
    return "a map" if kind.mapping is not None else "a list"


def _missing_key(keys: Iterable[str] | None, element: Json) -> str:
    if not keys or (element is not None and element.__class__ is not dict):
        return ""
    found = element or {}  # an API server reads null as an element without fields
    return next((key for key in keys if found.get(key) in _NO_NAMES), "")


def _shown(value: object) -> str:
    """Return a value as JSON, truncated if it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _of_owners(obj: object) -> Iterator[_FieldError]:
    owners = metadata(obj).get("ownerReferences")
    for index, owner in enumerate(owners if owners.__class__ is list else ()):
        if owner.__class__ is dict:
            for field in _OF_OWNERS:
                if owner.get(field) in (None, ""):
                    place = ("metadata", "ownerReferences", index)
                    yield _FieldError(place, f"has an element without `{field}`")


def _of_bytes(obj: KubernetesObject) -> Iterator[_FieldError]:
    """Yield byte values that are not base64 as decoded by Go's encoding/json."""
    key = object_key(obj)
    field = _BYTES.get((key.api_version, key.kind), "")
    held = obj.get(field)
    for name, value in held.items() if held.__class__ is dict else ():
        if value.__class__ is not str:
            continue
        try:
            decode_base64(value)
        except Base64Error:
            # The value may be a secret, so it is not shown.
            hint = " (`stringData` takes plain text)" if key.kind == "Secret" else ""
            yield _FieldError((field, name), f"must be base64{hint}")
