"""What may stand where in objects of a kind, as far as the types of Kubernetes tell."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from kyvsim.equivalence.known_fields import needed, words
from kyvsim.equivalence.values import is_key, samples
from kyvsim.kubernetes.objects import Json, object_key
from kyvsim.model.policy import Hole, Way
from kyvsim.patch.merge_types import (
    BOOLEAN,
    NUMERIC,
    STRING,
    UNTYPED,
    FindType,
    NoTypesError,
    Type,
    resolve,
)

_CLASSES: Mapping[str, frozenset[type]] = MappingProxyType(
    {
        STRING: frozenset({str}),
        NUMERIC: frozenset({int, float}),
        BOOLEAN: frozenset({bool}),
        UNTYPED: frozenset({str, int, float, bool}),
    }
)
_SAMPLES: Mapping[str, Json] = MappingProxyType({STRING: "a", NUMERIC: 1, BOOLEAN: True})


def type_of(obj: Json, find: FindType) -> Type | None:
    """Return the type of an object, None where nothing is known of its kind."""
    key = object_key(obj)
    try:
        return find(key.api_version, key.kind)
    except NoTypesError:
        return None


def with_spec(obj: Json, kind: Type | None) -> Json:
    """Return an object with a specification, where its kind has one: it is no field that can lack.

    Source of the rule: the types of k8s.io/api, of which none has a pointer there.
    """
    if kind is None or obj.get("spec") is not None or type_at(kind, ("spec",)) is None:
        return obj
    return {**obj, "spec": {}}


def leads_somewhere(root: Type | None, way: Way) -> bool:
    """Return whether an object can have something at a way; True where nothing is known."""
    return root is None or type_at(root, way) is not None


def of_one_shape(ways: Iterable[Way]) -> Iterator[Way]:
    """Yield ways of which none takes for a list what another one before it took for a map.

    Where nobody knows the types, the first policy to look at something says what it is.
    """
    is_list: dict[Way, bool] = {}
    for way in ways:
        steps = {way[:end]: way[end] is Hole.ELEMENT for end in range(len(way))}
        if all(is_list.setdefault(place, found) is found for place, found in steps.items()):
            yield way


def keys_meant(root: Type | None, places: Mapping[Way, Sequence[Json]]) -> Iterator[Way]:
    """Yield the ways to entries of maps of which a policy lists the keys.

    Of a map with free keys those that are written; of a type's fields all that there are.
    """
    for way, values in places.items():
        around = type_at(root, way[:-1]) if root and isinstance(way[-1], Hole) else None
        if around is None or around.mapping is None:
            continue
        free = (one for one in samples(values) if isinstance(one, str) and is_key(one))
        yield from ((*way[:-1], key) for key in around.mapping.fields or free)


def type_at(root: Type, way: Way) -> Type | None:
    """Return the type of what stands at a way, None where nothing can."""
    here: Type | None = root
    for step in way:
        if here is None:
            return None
        if step is Hole.ELEMENT:
            ref = here.sequence.element if here.sequence else None
        elif here.mapping is None:
            ref = None
        elif step is Hole.KEY:
            ref = here.mapping.others
        else:
            ref = here.mapping.fields.get(str(step), here.mapping.others)
        here = None if ref is None else resolve(ref)
    return here


def suits(found: Type | None, value: Json) -> bool:
    """Return whether a value has a type that is allowed, at its top."""
    if found is None:
        return True
    if value.__class__ is dict:
        return found.mapping is not None
    if value.__class__ is list:
        return found.sequence is not None
    if value.__class__ is bool and found.scalar == UNTYPED:
        # Scalars of no type are quantities and times, unless anything at all may be there.
        return found.mapping is not None
    return value.__class__ in _CLASSES.get(found.scalar, ())


def new_element(name: str, depth: int, sequence: Type | None) -> Json:
    """Return an element for the list in a field, with what elements must have there."""
    ref = sequence.sequence.element if sequence and sequence.sequence else None
    inner = resolve(ref) if ref is not None else None
    if inner is not None and inner.scalar and inner.mapping is None:
        return _SAMPLES.get(inner.scalar, "a")
    keys = (sequence.sequence.keys if sequence and sequence.sequence else None) or ()
    named = {}
    for key in keys:
        at = type_at(inner, (key,)) if inner else None
        taken = words((key,)) or (_SAMPLES.get(at.scalar if at else "", "a"),)
        named[key] = taken[0]
    return {**named, **needed(name, depth)}
