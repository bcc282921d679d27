"""Given objects that an API server refuses for certain, whatever policies say of them.

Verdicts stay as they are: tests often have objects that are cut down to what a rule looks at. What
is reported is what no request gets past: values that cannot be decoded, owners and elements without
what identifies them, names that are none. Missing fields that only validation asks for are left
alone, and so are fields that nobody knows, which API servers drop.
upstream: k8s.io/apimachinery pkg/apis/meta/v1/validation (owner references), pkg/api/validation
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.compile.remark import warn
from kyvsim.kube.objects import Json, annotations, labels, metadata, object_key
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.source import Document, Path
from kyvsim.patch.merge_types import (
    BOOLEAN,
    NUMERIC,
    STRING,
    ListType,
    NoTypesError,
    Type,
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


_PLAIN_NAME = re.compile(r"[a-z]([-a-z0-9]{0,50}[a-z0-9])?")
_PLAIN_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9.]{0,80}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,60}[A-Za-z0-9])?"
)
_PLAIN_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,60}[A-Za-z0-9])?)?")
"""What is certainly right; what is not is looked at closely."""


class _Fault(NamedTuple):
    """What is wrong with an object, and where."""

    path: Path
    what: str
    example: str = ""
    """What is wrong with just this object; others with the same fault have their own."""


def refused_objects(documents: Iterable[Document]) -> Iterator[Diagnostic]:
    """KV233: objects that an API server refuses, once for each kind and cause, with a count."""
    found: dict[tuple[str, Path, str], list[tuple[Document, _Fault]]] = {}
    for document in documents:
        obj = document.data
        if obj.__class__ is not dict:
            continue
        kind = object_key(obj).kind
        for fault in _faults_of(obj):
            cause = tuple(step for step in fault.path if step.__class__ is not int)
            found.setdefault((kind, cause, fault.what), []).append((document, fault))
    for (kind, cause, what), every in found.items():
        document, fault = every[0]
        field = ".".join(map(str, cause))
        more = f" ({len(every)} times)" if len(every) > 1 else ""
        example = f": {fault.example}" if fault.example else ""
        text = f"an API server refuses this {kind}: `{field}` {what}{more}{example}"
        yield warn(document, "KV233", text, fault.path)


def _faults_of(obj: Json) -> Iterator[_Fault]:
    key = object_key(obj)
    known = None if key.kind in _UNCHECKED else _type_of(key.api_version, key.kind)
    if known is not None:
        if not _fits(known, obj):
            yield from _misfits(known, obj, ())
    elif obj.get("metadata").__class__ is dict:
        yield from _misfits(_metadata_type(), obj["metadata"], ("metadata",))
    yield from _of_owners(obj)
    if _is_plain(obj):
        return
    from kyvsim.sim.server.validation_metadata import metadata_problems  # noqa: PLC0415 — slow, for odd names

    for text in metadata_problems(obj, new=True):
        field, _, problem = text.partition(": ")
        if not problem.startswith("Required value"):
            yield _Fault(tuple(field.split(".")), "is invalid", problem.partition(": ")[2])


def _is_plain(obj: Json) -> bool:
    """Return whether names, labels and annotations are such as every kind may have."""
    about = metadata(obj)
    texts, keys = labels(obj), (*labels(obj), *annotations(obj))
    name = about.get("name")
    return (
        (name is None or (name.__class__ is str and _PLAIN_NAME.fullmatch(name) is not None))
        and all(map(_PLAIN_KEY.fullmatch, keys))
        and all(map(_PLAIN_VALUE.fullmatch, map(str, texts.values())))
    )


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


def _fits(kind: Type, value: Json, field: str = "") -> bool:
    """Return whether `_misfits` has nothing to yield; most objects are right, and this is quick."""
    found = value.__class__
    if found is dict and kind.mapping is not None:
        fields, others = kind.mapping.fields, kind.mapping.others
        for name, inner in value.items():
            ref = fields.get(name, others)
            if ref is not None and inner is not None and not _fits(resolve(ref), inner, name):
                return False
        return True
    if found is list and kind.sequence is not None:
        keys = kind.sequence.keys if field in _NAMED_LISTS else None
        element = resolve(kind.sequence.element)
        return all(not _missing_key(keys, one) and _fits(element, one) for one in value)
    return value is None or not _wanted(kind, found)


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
        wanted = _wanted(kind, found)
        if wanted:
            yield _Fault(path, f"must be {wanted}, not {_type_name(value)}")


def _in_list(kind: ListType, value: list[Json], path: Path) -> Iterator[_Fault]:
    keys = kind.keys if path and path[-1] in _NAMED_LISTS else None
    for index, element in enumerate(value):
        missing = _missing_key(keys, element)
        if missing:
            yield _Fault((*path, index), f"has an element without `{missing}`")
        yield from _misfits(resolve(kind.element), element, (*path, index))


def _wanted(kind: Type, found: type) -> str:
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


def _type_name(value: Json) -> str:
    name = TYPE_NAMES[value.__class__]
    return f"{'an' if name[0] in 'aeio' else 'a'} {name}"


def _of_owners(obj: Json) -> Iterator[_Fault]:
    owners = metadata(obj).get("ownerReferences")
    for index, owner in enumerate(owners if owners.__class__ is list else ()):
        if owner.__class__ is dict:
            for field in _OF_OWNERS:
                if owner.get(field) in (None, ""):
                    place = ("metadata", "ownerReferences", index)
                    yield _Fault(place, f"has an element without `{field}`")
