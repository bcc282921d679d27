"""Cases as manifests that tests can name: creations, each object with a name of its own."""

from collections.abc import Iterable

from kyvsim.equivalence.case import Case
from kyvsim.equivalence.seeds import NAME
from kyvsim.kubernetes.objects import Json, metadata, object_key


def manifests(cases: Iterable[Case]) -> tuple[list[Json], int]:
    """Return the objects of cases that a test can tell apart, and how many it cannot have.

    A test has no requests but creations by nobody in particular, and knows objects by their names.
    """
    found: dict[tuple[str, ...], Json] = {}
    left_out = 0
    for case in cases:
        obj = _named(case.object, len(found) + 1)
        key = tuple(object_key(obj))
        if case.is_plain and all((key[0], key[1], key[3])) and key not in found:
            found[key] = obj
        else:
            left_out += 1
    return list(found.values()), left_out


def _named(obj: Json, number: int) -> Json:
    meta = metadata(obj)
    if meta.get("name") != NAME:
        return obj
    return {**obj, "metadata": {**meta, "name": f"case-{number}"}}
