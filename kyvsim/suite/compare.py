"""Objects beside the files that say how they should be.

upstream: cmd/cli/kubectl-kyverno/resource (labels.go, tidy.go, compare.go)
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.numbers import deep_equal, with_floats
from kyvsim.kubernetes.objects import Json, labels, metadata, object_key
from kyvsim.model.suite import Difference

_GENERATE_LABEL = "generate.kyverno.io/"

Files: TypeAlias = Mapping[str, tuple[Json, ...] | str]
"""The objects in each file that rows name, or why it cannot be read."""


class Comparison(NamedTuple):
    """How an object compares with a file."""

    equal: bool
    problem: str = ""
    """Why there was nothing to compare with."""
    missing: bool = False
    """Whether that is because the file has no such object."""
    difference: Difference | None = None
    file: str = ""
    """The file that has the object, or is the only one that could; "" where that is open."""


def compare(actual: Json, file: str, files: Files) -> Comparison:
    """Return whether the object of that name in `file` is as `actual`.

    Labels of generated objects, nulls, empty mappings and empty lists make no difference.
    """
    documents = files[file]
    if isinstance(documents, str):
        return Comparison(False, documents, file=file)
    key = object_key(actual)
    expected = next((one for one in documents if object_key(one) == key), None)
    if expected is None:
        problem = f"resource with name {key.name} not found in manifest"
        return Comparison(False, problem, True, file=file)
    wanted, found = comparable(expected), comparable(actual)
    if deep_equal(with_floats(wanted), with_floats(found)):
        return Comparison(True, file=file)
    return Comparison(False, difference=Difference(file, wanted, found), file=file)


def compare_any(actual: Json, names: Sequence[str], files: Files) -> Comparison:
    """Return the first comparison that is equal, else the last that found the object, or any."""
    found = Comparison(False)
    for file in names:
        one = compare(actual, file, files)
        if one.equal:
            return one
        if one.difference or not found.difference:
            found = one
    return found if found.difference or len(names) == 1 else found._replace(file="")


def comparable(obj: Json) -> Json:
    """Return an object without what makes no difference."""
    own = {
        name: value for name, value in labels(obj).items() if not name.startswith(_GENERATE_LABEL)
    }
    marked = {"app.kubernetes.io/managed-by": "kyverno", **own}
    return _tidy({**obj, "metadata": {**metadata(obj), "labels": marked}})


def _tidy(value: Json) -> Json:
    """Return a value without nulls and empty members; None where nothing is left of it."""
    if value.__class__ is dict:
        return {
            key: tidy for key, member in value.items() if (tidy := _tidy(member)) is not None
        } or None
    if value.__class__ is list:
        return [tidy for member in value if (tidy := _tidy(member)) is not None] or None
    return value
