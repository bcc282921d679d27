"""What files of expected objects should hold: each object once, and no two opinions of it."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kyvsim.kubernetes.numbers import deep_equal, with_floats
from kyvsim.kubernetes.objects import Json, ObjectKey, labels, metadata, object_key
from kyvsim.model.suite import Golden
from kyvsim.suite.compare import comparable

_GENERATE_LABEL = "generate.kyverno.io/"
_MANAGED_BY = ("app.kubernetes.io/managed-by", "kyverno")


class Wanted(NamedTuple):
    """What one file should hold."""

    objects: Mapping[ObjectKey, Json]
    """As a policy left them, without the labels that mark generated objects."""
    disputed: tuple[ObjectKey, ...]
    """Objects that rows would have in different states; they are not among the others."""


def wanted_by_file(goldens: Iterable[Golden]) -> dict[str, Wanted]:
    """Return what each file should hold, in the order in which rows name the files."""
    objects: dict[str, dict[ObjectKey, Json]] = {}
    disputed: dict[str, list[ObjectKey]] = {}
    for file, obj in goldens:
        known = objects.setdefault(file, {})
        key = object_key(obj)
        if not key.name:
            continue
        if not same(known.setdefault(key, obj), obj):
            disputed.setdefault(file, []).append(key)
    return {
        file: _wanted(known, tuple(dict.fromkeys(disputed.get(file, ()))))
        for file, known in objects.items()
    }


def _wanted(known: Mapping[ObjectKey, Json], disputed: tuple[ObjectKey, ...]) -> Wanted:
    kept = {key: unmarked(obj) for key, obj in known.items() if key not in disputed}
    return Wanted(kept, disputed)


def same(left: Json, right: Json) -> bool:
    """Return whether two objects make no difference to a row."""
    return deep_equal(with_floats(comparable(left)), with_floats(comparable(right)))


def unmarked(obj: Json) -> Json:
    """Return an object without the labels that say who generated it, if it has them."""
    own = labels(obj)
    if not any(name.startswith(_GENERATE_LABEL) for name in own):
        return obj
    kept = {
        name: value
        for name, value in own.items()
        if not name.startswith(_GENERATE_LABEL) and (name, value) != _MANAGED_BY
    }
    rest = {name: value for name, value in metadata(obj).items() if name != "labels"}
    return {**obj, "metadata": {**rest, "labels": kept} if kept else rest}
