"""Makes a case small that shows something: what can be left out goes, what remains gets simple.

Delta debugging over the tree of an object: https://www.st.cs.uni-saarland.de/papers/tse2002/.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice

from kyvsim.equivalence.case import STRANGER, Case
from kyvsim.equivalence.seeds import unwrapped
from kyvsim.kubernetes.objects import Json, replaced, without
from kyvsim.model.request import Operation
from kyvsim.model.source import Path

_TYPE = frozenset({("apiVersion",), ("kind",)})
_IDENTITY = _TYPE | {("metadata",), ("metadata", "name")}
_NAMES_THERE = _IDENTITY | {
    ("metadata", "namespace"),
    *(
        (name,)
        for name in ("image", "manifest", "config", "digest", "registry", "repository", "data")
    ),
}
"""What is looked up has a name that has to stay, and data of images have parts."""
_SIMPLE: tuple[Json, ...] = ("a", 1, True)


def shrunk(case: Case, shows: Callable[[Case], bool], probes_left: int) -> Case:
    """Return a case as small as single steps make it that still `shows` what it is about.

    It is asked no more often than `probes_left` says.
    """
    start = 0
    while True:
        found = None
        for number, smaller in enumerate(islice(_smaller(case), start, None), start):
            probes_left -= 1
            if probes_left < 0:
                return case
            if shows(smaller):
                # What went before did not help: it is tried again when all else has been.
                found, start = smaller, number
                break
        if found is not None:
            case = found
        elif start:
            start = 0
        else:
            return case


def _smaller(case: Case) -> Iterator[Case]:
    """Yield cases that are a step simpler, those that leave out most first."""
    if case.operation is not Operation.CREATE and not case.part:
        yield case._replace(operation=Operation.CREATE, old=None)
    if case.user != STRANGER:
        yield case._replace(user=STRANGER)
    if case.namespace_labels:
        yield case._replace(namespace_labels={})
    yield from _with_smaller_answers(case)
    pod = unwrapped(case.object)
    if pod is not None:
        yield case._replace(object=pod)
    if case.old == case.object:
        # What stays as it was is changed in both, or hardly anything could go.
        for smaller in _smaller_objects(case.object):
            yield case._replace(object=smaller, old=smaller)
    for smaller in _smaller_objects(case.object):
        yield case._replace(object=smaller)
    if case.old is not None:
        yield case._replace(old=case.object)
        for smaller in _smaller_objects(case.old):
            yield case._replace(old=smaller)


def _with_smaller_answers(case: Case) -> Iterator[Case]:
    """Yield cases with less to look up."""
    for place, one in enumerate(case.there):
        before, after = case.there[:place], case.there[place + 1 :]
        yield case._replace(there=(*before, *after))
        for smaller in _smaller_parts(one, _NAMES_THERE, _NAMES_THERE):
            yield case._replace(there=(*before, smaller, *after))


def _smaller_objects(obj: Json) -> Iterator[Json]:
    """Yield smaller objects; what one is called may change, but not go."""
    return _smaller_parts(obj, _IDENTITY, _TYPE)


def _smaller_parts(obj: Json, there: frozenset[Path], unchanged: frozenset[Path]) -> Iterator[Json]:
    """Yield objects with less in them: some parts have to be there, some to stay as they are."""
    return chain(_parts_left_out(obj, there), _parts_simplified(obj, unchanged))


def _parts_left_out(obj: Json, kept: frozenset[Path]) -> Iterator[Json]:
    found = [(path, size) for path, size, _ in _nodes(obj, ()) if path and path not in kept]
    for path, _ in sorted(found, key=lambda one: -one[1]):
        yield without(obj, path)


def _parts_simplified(obj: Json, kept: frozenset[Path]) -> Iterator[Json]:
    for path, _, value in _nodes(obj, ()):
        if path in kept or value.__class__ in {dict, list}:
            continue
        for simple in _simpler(value):
            yield replaced(obj, path, simple)


def _simpler(value: Json) -> Iterator[Json]:
    """Yield simpler values of the same type: short ones, and texts with a part left out."""
    yield from (one for one in _SIMPLE if one.__class__ is value.__class__ and one != value)
    if value.__class__ is not str or len(value) < 2:
        return
    for size in (len(value) // 2, len(value) // 4, 1):
        for start in range(0, len(value), size or 1):
            left = value[:start] + value[start + (size or 1) :]
            if left:
                yield left


def _nodes(value: Json, path: Path) -> Iterator[tuple[Path, int, Json]]:
    """Yield each part of a value with its path and its size in nodes."""
    size = 1
    members: Iterable[tuple[str | int, Json]] = ()
    if value.__class__ is dict:
        members = value.items()
    elif value.__class__ is list:
        members = enumerate(value)
    for step, inner in members:
        below = list(_nodes(inner, (*path, step)))
        size += below[-1][1]
        yield from below
    yield path, size, value
