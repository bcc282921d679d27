"""Given objects that an API server refuses for certain, whatever policies say of them.

Verdicts stay as they are: tests often have objects that are cut down to what a rule looks at. What
is reported is what no request gets past: values that cannot be decoded, owners and elements without
what identifies them, names that are none, and what the simulated API server finds in Pods, in
what makes them and in a few other kinds, unless their spec or template is left out or mutate rules
may supply what lacks. What lacks is not reported beside a kustomization, where patches are parts.
Fields that nobody knows are left alone, as API servers drop them.
upstream: k8s.io/apimachinery pkg/apis/meta/v1/validation (owner references), pkg/api/validation,
k8s.io/kubernetes pkg/apis/*/validation
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.go_text import Base64Error, decode_padded
from kyvsim.kubernetes.go_time import TimeError, parse_rfc3339
from kyvsim.kubernetes.objects import Json, Path, metadata, object_key
from kyvsim.kubernetes.quantities import parse_quantity
from kyvsim.kubernetes.validation import metadata_problems, problems_of, required_problems
from kyvsim.load.recognise import is_beside_kustomization
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.result import RefusalCount
from kyvsim.model.source import Document
from kyvsim.patch.merge_types import (
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
"""Lists whose elements no API server takes without what tells them apart."""
_UNCHECKED = frozenset({"CustomResourceDefinition"})
"""Kinds whose fields hold types of other kinds."""
_FITTING: Mapping[str, tuple[frozenset[type], str]] = MappingProxyType(
    {
        STRING: (frozenset({str}), "a string"),
        NUMERIC: (frozenset({int, float}), "a number"),
        BOOLEAN: (frozenset({bool}), "a boolean"),
    }
)


_QUANTITIES = frozenset(
    {"allocatable", "allocatedResources", "averageValue", "capacity", "default", "defaultRequest"}
    | {"divisor", "hard", "limits", "max", "maxLimitRequestRatio", "min", "overhead", "requests"}
    | {"sizeLimit", "used"}
)
"""Fields that hold a quantity, or a map of them; the types only say that they are scalars."""
_TIMES = ("Time", "Timestamp", "At", "time", "timeAdded")
"""How fields end that hold a time; the types only say that they are scalars."""
_BYTES: Mapping[tuple[str, str], str] = MappingProxyType(
    {("v1", "Secret"): "data", ("v1", "ConfigMap"): "binaryData"}
)
"""The field of a kind that maps names to base64; the types only say that its values are texts."""
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
"""What is certainly right, in lines; what is not is looked at closely."""
_NOTHING: Mapping[str, str] = MappingProxyType({})


class _Fault(NamedTuple):
    """What is wrong with an object, and where."""

    path: Path
    what: str
    example: str = ""
    """What is wrong with just this object; others with the same fault have their own."""


class RefusedObjects:
    """KV233: objects that an API server refuses, once for each kind and cause, with a count.

    Parts of a run have one each, which are put together in the order of the parts.
    """

    __slots__ = ("_found", "_is_final")

    def __init__(self, *, is_final: bool) -> None:
        """Say whether objects are stored as they are given, because no rule mutates them."""
        self._is_final = is_final
        self._found: dict[tuple[str, str, str], RefusalCount] = {}

    def add(self, documents: Iterable[Document]) -> None:
        """Check some objects."""
        for document in documents:
            obj = document.data
            if obj.__class__ is not dict or (self._is_final and _is_ordinary(obj)):
                continue
            for fault in _faults_of(document, is_final=self._is_final):
                field = ".".join(str(step) for step in fault.path if step.__class__ is not int)
                key = (object_key(obj).kind, field, fault.what)
                known = self._found.get(key)
                if known:
                    self._found[key] = known._replace(number=known.number + 1)
                else:
                    place = document.locate(fault.path)
                    self._found[key] = RefusalCount(*key, fault.example, place)

    def merge(self, others: Iterable[RefusalCount]) -> None:
        """Take in what was found in a later part."""
        for one in others:
            known = self._found.setdefault(one[:3], one)
            if known is not one:
                self._found[one[:3]] = known._replace(number=known.number + one.number)

    @property
    def found(self) -> tuple[RefusalCount, ...]:
        """What was found, in the order of the objects."""
        return tuple(self._found.values())


def refused_objects(
    documents: Iterable[Document], *, is_final: bool = True
) -> tuple[Diagnostic, ...]:
    """Return the warnings of RefusedObjects about all objects of a run."""
    refused = RefusedObjects(is_final=is_final)
    refused.add(documents)
    return warnings_of(refused.found)


def warnings_of(found: Iterable[RefusalCount]) -> tuple[Diagnostic, ...]:
    """Return a warning for each cause."""
    warnings: list[Diagnostic] = []
    for one in found:
        more = f" ({one.number} times)" if one.number > 1 else ""
        example = f": {one.example}" if one.example else ""
        text = f"an API server rejects this {one.kind}: `{one.field}` {one.what}{more}{example}"
        warnings.append(Diagnostic("KV233", Severity.WARNING, text, one.location))
    return tuple(warnings)


def _faults_of(document: Document, *, is_final: bool) -> Iterator[_Fault]:
    obj = document.data
    key = object_key(obj)
    known = None if key.kind in _UNCHECKED else _type_of(key.api_version, key.kind)
    misfits: Iterator[_Fault] = iter(())
    if known is not None:
        misfits = _misfits(known, obj, ())
    elif obj.get("metadata").__class__ is dict:
        misfits = _misfits(_metadata_type(), obj["metadata"], ("metadata",))
    unreadable = [*misfits, *_of_owners(obj), *_of_bytes(obj)]
    yield from unreadable
    review = document.review or {}
    is_there = review.get("subResource") or review.get("oldObject")
    # Tests often have no more than metadata, and an empty specification.
    is_cut_down = not any(value for name, value in obj.items() if name not in _WITHOUT_PARTS)
    if unreadable or not is_final or is_there or is_cut_down:
        yield from () if _is_plain(obj) else _faults_in(metadata_problems(obj, new=True))
        return
    is_part = is_beside_kustomization(document.file)
    yield from _faults_in(one for one in problems_of(obj) if not (is_part and _REQUIRED in one))


_REQUIRED = "Required value"
_PROBLEMS: Mapping[str, str] = MappingProxyType(
    {
        _REQUIRED: "is required",
        "Invalid value": "is invalid",
        "Duplicate value": "is a duplicate",
        "Not found": "is not found",
    }
)
"""What Kubernetes calls problems with fields, and how a sentence about the field goes on."""


_LEFT_ALONE = (
    r"metadata\.ownerReferences\.|metadata\.name: Required|spec\.([a-zA-Z.]*\.)?template: Required"
)
"""Owners were looked at before, some kinds need no name, and tests cut workloads down."""


def _faults_in(problems: Iterable[str]) -> Iterator[_Fault]:
    """Yield problems in the words of Kubernetes, such as `spec.a[0].b: Invalid value: "c": why`."""
    for text in dict.fromkeys(problems):
        if re.match(_LEFT_ALONE, text) is None:
            field, _, problem = text.partition(": ")
            what, _, example = problem.partition(": ")
            steps = re.findall(r"[^.\[\]]+", field)
            path = tuple(int(step) if step.isdecimal() else step for step in steps)
            yield _Fault(path, _PROBLEMS.get(what, what), example)


def _is_ordinary(obj: Json) -> bool:
    """Return whether nothing is wrong with an object; False where that takes a closer look.

    Most objects are right, and this must be quick: some microseconds for a Pod.
    """
    version, kind = obj.get("apiVersion"), obj.get("kind")
    return (
        version.__class__ is str
        and kind.__class__ is str
        and _accepting(version, kind)(obj)
        and _is_plain(obj)
        and ("ownerReferences" not in metadata(obj) or not any(_of_owners(obj)))
        and ((version, kind) not in _BYTES or not any(_of_bytes(obj)))
        and (kind not in _WITH_PODS or _has_ordinary_pod(obj))
        and not any(required_problems(obj))
    )


def _has_ordinary_pod(obj: Json) -> bool:
    """Return whether an object that fits its type surely is no Pod that is refused."""
    spec = obj.get("spec")
    if not spec:
        return True
    if obj["kind"] != "Pod" or not spec.get("containers"):
        return False
    volumes = [one.get("name") for one in spec.get("volumes") or ()]
    found = set(volumes)
    if len(found) != len(volumes):
        return False
    names: list[str] = []
    for one in chain(spec["containers"], spec.get("initContainers") or ()):
        name, mounts = one.get("name"), one.get("volumeMounts")
        if not name or not one.get("image") or _PLAIN_NAME.fullmatch(name) is None:
            return False
        names.append(name)
        if not all(port.get("containerPort") for port in one.get("ports") or ()):
            return False
        if mounts and not (
            found.issuperset([mount.get("name") for mount in mounts])
            and len({mount.get("mountPath") for mount in mounts}) == len(mounts)
        ):
            return False
    return len(set(names)) == len(names) and not spec.get("ephemeralContainers")


_Accepts: TypeAlias = Callable[[Json], bool]
_LEAVES: frozenset[type] = frozenset({str, int, float, bool, type(None)})
_NO_LEAVES: frozenset[type] = frozenset({type(None)})


def _accepts_anything(_: Json) -> bool:
    return True


def _accepts_nothing(_: Json) -> bool:
    return False


class _Accepted(NamedTuple):
    """What values of a type may be; nothing that `_misfits` finds a fault with is accepted."""

    leaves: frozenset[type]
    """Classes of texts, numbers, booleans and null."""
    inner: _Accepts
    """What accepts maps and lists."""


def _is_quantity_text(value: Json) -> bool:
    return value.__class__ is str and parse_quantity(value) is not None


@lru_cache(maxsize=1024)
def _is_time_text(value: str) -> bool:
    try:
        parse_rfc3339(value)
    except TimeError:
        return False
    return True


def _is_time(value: Json) -> bool:
    return value.__class__ is str and _is_time_text(value)


_ANY_VALUE = _Accepted(_LEAVES, _accepts_anything)
_TIME = _Accepted(_NO_LEAVES, _is_time)
_QUANTITY = _Accepted(_LEAVES - {str, bool}, _is_quantity_text)


@lru_cache(maxsize=512)
def _accepting(api_version: str, kind: str) -> _Accepts:
    """Return what quickly recognises objects of a kind that can be decoded."""
    found = None if kind in _UNCHECKED else _type_of(api_version, kind)
    if found is not None:
        return _accepted(found, "").inner
    return _map_acceptor({"metadata": _metadata_type()}, None)


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
    return _Accepted(fitting[0] | _NO_LEAVES, _accepts_nothing)


class _AcceptedFields(dict[str, _Accepted]):
    """What the fields of a map may be: worked out for each when it is first seen."""

    __slots__ = ("_fields", "_other")

    def __init__(
        self, fields: Mapping[str, TypeRef], others: TypeRef | None, holder: str = ""
    ) -> None:
        super().__init__()
        self._fields = fields
        self._other = _ANY_VALUE if others is None else _accepted(resolve(others), holder)

    def __missing__(self, name: str) -> _Accepted:
        if name not in self._fields:
            return self._other  # not kept: names of others are without number
        found = self[name] = _accepted(resolve(self._fields[name]), name)
        return found


def _map_acceptor(
    fields: Mapping[str, TypeRef], others: TypeRef | None, holder: str = ""
) -> _Accepts:
    accepted = _AcceptedFields(fields, others, holder)
    if not fields and others is not None:
        return _uniform(dict, accepted[""])

    def accepts(value: Json) -> bool:
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
    return lambda value: accepts(value) and not any(_missing_key(keys, one) for one in value)


def _uniform(holder: type, accepted: _Accepted) -> _Accepts:
    """Return what accepts maps or lists whose values are all of one type."""
    leaves, accepts_inner = accepted
    if accepted is _ANY_VALUE:
        return lambda value: value.__class__ is holder
    values: Callable[[Json], Iterable[Json]] = dict.values if holder is dict else list.__iter__
    if accepts_inner is _accepts_nothing:
        return lambda value: (
            value.__class__ is holder and leaves.issuperset(map(type, values(value)))
        )

    def accepts(value: Json) -> bool:
        if value.__class__ is not holder:
            return False
        for one in values(value):
            if one.__class__ not in leaves and not accepts_inner(one):
                return False
        return True

    return accepts


def _is_plain(obj: Json) -> bool:
    """Return whether names, labels and annotations are such as every kind may have."""
    about = metadata(obj)
    name, texts, notes = about.get("name", "a"), about.get("labels"), about.get("annotations")
    namespace = about.get("namespace") or "a"
    if namespace.__class__ is not str or _PLAIN_NAME.fullmatch(namespace) is None:
        return False
    try:
        shown = "\n".join((name, *(texts or ()), *(notes or ())))
        values = "\n".join((texts or _NOTHING).values())
    except (AttributeError, TypeError):
        return False  # they are no texts
    return _PLAIN_NAMES.fullmatch(shown) is not None and _PLAIN_VALUES.fullmatch(values) is not None


def _type_of(api_version: str, kind: str) -> Type | None:
    try:
        return find_type(api_version, kind)
    except NoTypesError:
        return None


@cache
def _metadata_type() -> Type:
    """Return the type of metadata, which objects of all kinds share."""
    pod = find_type("v1", "Pod")
    if pod is None or pod.mapping is None:
        raise LookupError("the types of Kubernetes have no Pods")
    return resolve(pod.mapping.fields["metadata"])


def _misfits(kind: Type, value: Json, path: Path) -> Iterator[_Fault]:
    """Yield values that cannot be decoded into a type, and list elements without a name."""
    found = value.__class__
    if value is None:
        return
    if found is dict and kind.mapping is not None:
        for name, field in value.items():
            ref = kind.mapping.fields.get(name, kind.mapping.others)
            if ref is not None:
                yield from _misfits(resolve(ref), field, (*path, name))
    elif found is list and kind.sequence is not None:
        yield from _in_list(kind.sequence, value, path)
    else:
        wanted = _expected(kind, found)
        if wanted:
            name = TYPE_NAMES[value.__class__]
            type_name = f"{'an' if name[0] in 'aeio' else 'a'} {name}"
            yield _Fault(path, f"must be {wanted}, not {type_name}")
        elif (
            kind.scalar == UNTYPED
            and not _QUANTITIES.isdisjoint(path[-2:])
            and value.__class__ in {str, bool}
            and not _is_quantity_text(value)
        ):
            yield _Fault(path, "must be a quantity such as 100m or 1Gi", _shown(value))
        elif kind.scalar == UNTYPED and str(path[-1]).endswith(_TIMES) and not _is_time(value):
            yield _Fault(path, "must be a time such as 2026-01-31T08:00:00Z", _shown(value))


def _in_list(kind: ListType, value: list[Json], path: Path) -> Iterator[_Fault]:
    keys = kind.keys if path and path[-1] in _NAMED_LISTS else None
    for index, element in enumerate(value):
        missing = _missing_key(keys, element)
        if missing:
            yield _Fault((*path, index), f"has an element without `{missing}`")
        yield from _misfits(resolve(kind.element), element, (*path, index))


def _expected(kind: Type, found: type) -> str:
    """Return what a type takes where it does not take a value of some class, or ""."""
    if kind.mapping is None and kind.sequence is None:
        fitting = _FITTING.get(kind.scalar)
        return "" if fitting is None or found in fitting[0] else fitting[1]
    if kind.scalar or (kind.mapping is not None and kind.sequence is not None):
        return ""
    return "a map" if kind.mapping is not None else "a list"


def _missing_key(keys: Iterable[str] | None, element: Json) -> str:
    if not keys or element.__class__ is not dict:
        return ""
    return next((key for key in keys if element.get(key) in (None, "")), "")


def _shown(value: Json) -> str:
    """Return a value as it is written in JSON, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _of_owners(obj: Json) -> Iterator[_Fault]:
    owners = metadata(obj).get("ownerReferences")
    for index, owner in enumerate(owners if owners.__class__ is list else ()):
        if owner.__class__ is dict:
            for field in _OF_OWNERS:
                if owner.get(field) in (None, ""):
                    place = ("metadata", "ownerReferences", index)
                    yield _Fault(place, f"has an element without `{field}`")


def _of_bytes(obj: Json) -> Iterator[_Fault]:
    """Yield values that hold bytes and are not the base64 that Go's encoding/json decodes."""
    key = object_key(obj)
    field = _BYTES.get((key.api_version, key.kind), "")
    held = obj.get(field)
    for name, value in held.items() if held.__class__ is dict else ():
        if value.__class__ is not str:
            continue
        try:
            decode_padded(value)
        except Base64Error:
            # The value may be a secret: it is not shown.
            hint = " (`stringData` takes plain text)" if key.kind == "Secret" else ""
            yield _Fault((field, name), f"must be base64{hint}")
