"""JSON patches of rules → those of a MutatingPolicy, with what Kyverno makes of missing places.

In rules `add` makes what is missing on the way to its place, `remove` passes over what is not
there and `replace` does not; in a MutatingPolicy `add` and `remove` fail, and `replace` adds.

upstream: `pkg/engine/mutate/patch/patchJSON6902.go`; gopkg.in/evanphx/json-patch.v4
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from kyvsim.expr.variables import find_variables
from kyvsim.kube.objects import Json
from kyvsim.migrate.expressions import FALSE, OR, TRUE, Test, enclosed, opposite, quoted
from kyvsim.migrate.known_types import is_number
from kyvsim.migrate.patches.draft import Around, Quoted, no_twin, value_text
from kyvsim.migrate.patches.operations import Operation, operation
from kyvsim.migrate.patches.places import END, LAST, Place, Step, is_index
from kyvsim.migrate.queries import text_value
from kyvsim.migrate.refusal import NotConvertible
from kyvsim.migrate.values import Value
from kyvsim.model.migration import Condition

_TESTS: Final = Condition(
    "failed tests",
    "where a `test` of the patch fails the object stays as it is; the rule ends in an error",
)
_KEYS: Final = Condition(
    "keys with variables", "no slash and no tilde stands in what becomes a part of a path"
)


_Steps: TypeAlias = tuple[str, ...]


class _Patch(NamedTuple):
    """A patch whose operations are converted one after the other."""

    root: Place
    around: Around
    made: set[_Steps]
    """Places that earlier operations have made."""
    gone: set[_Steps]
    """Places that earlier operations have taken away."""
    shifted: set[_Steps]
    """Lists in which earlier operations have moved elements."""


def json_patch(
    operations: Sequence[Mapping[str, Json]], root: Value, around: Around
) -> list[Operation]:
    """Return the operations of a patch; raises NotConvertible with their number."""
    patch = _Patch(Place(root), around, set(), set(), set())
    found: list[Operation] = []
    for index, one in enumerate(operations):
        try:
            found += _CONVERTERS[one["op"]](one, patch)
        except NotConvertible as refusal:
            raise refusal.below(index) from None
    return found


def removed_element(
    operations: Sequence[Mapping[str, Json]], root: Value, around: Around
) -> Place | None:
    """Return the list from which a loop takes its elements; None where it does something else."""
    loop = around.loop
    if loop is None or [one["op"] for one in operations] != ["remove"]:
        return None
    *before, last = _steps(operations[0]["path"], around)
    listed = [Place(root), *_walk(Place(root), before, around)][-1]
    mine = last == loop.counter and loop.goes_over(listed.value)
    return listed if mine else None


# ---------------------------------------------------------------------------- the way to a place


def _steps(path: Json, around: Around) -> list[Step]:
    text = path.text if isinstance(path, Quoted) else path
    if not isinstance(text, str) or not text.startswith("/"):
        raise no_twin(f"the path `{text}`", "name a field of the object").below("path")
    try:
        return [_step(part, around) for part in _parts(text)]
    except NotConvertible as refusal:
        raise refusal.below("path") from None


def _parts(path: str) -> list[str]:
    """Return what stands between the slashes that are outside of variables."""
    found, rest = [""], path[1:]
    for one in find_variables(f" {rest}"):
        before, _, after = rest.partition(one.text)
        first, *more = before.split("/")
        found[-1] += first
        found += more
        found[-1] += one.text
        rest = after
    first, *more = rest.split("/")
    return [*found[:-1], found[-1] + first, *more]


def _step(part: str, around: Around) -> Step:
    if "{{" not in part:
        return part.replace("~1", "/").replace("~0", "~")
    value = text_value(part, around.scope)
    if not is_number(value.types) and "'~1'" not in value.text:
        around.scope.desk.note(_KEYS)
    return value


def _walk(place: Place, steps: Sequence[Step], around: Around) -> list[Place]:
    """Return the places on a way, the last one too."""
    found: list[Place] = []
    for step in steps:
        loop = next((one for one in around.loops if one.counter == step), None)
        if loop is not None and loop.goes_over(place.value):
            # A list that a loop goes over is there.
            found = [one._replace(value=one.value.given()) for one in found]
            place = place.element(loop.counter, loop.element)
        elif step == END and step is not steps[-1]:
            raise no_twin("`-` in the middle of a path", "use -1").below("path")
        else:
            place = place.below(step)
        found.append(place)
    return found


def _way(path: Json, patch: _Patch) -> list[Place]:
    return [patch.root, *_walk(patch.root, _steps(path, patch.around), patch.around)]


def _is_there(place: Place, patch: _Patch) -> Test:
    """Return the test that there is something at a place when its operation is made."""
    steps = place.steps
    if steps in patch.made:
        return TRUE
    if any(steps[: len(one)] == one for one in patch.gone):
        return FALSE
    if not place.value.may_miss:
        return TRUE
    if any(steps[: len(one)] == one and steps != one for one in patch.shifted):
        raise no_twin("an element behind another one that comes or goes", "write two rules")
    if "'~1'" in place.path and not isinstance(place.way[-1], str):
        raise no_twin("an escaped key", "write the key as it is").below("path")
    return place.value.is_there()


# ---------------------------------------------------------------------------- operations


def _add(written: Mapping[str, Json], patch: _Patch) -> list[Operation]:
    _, *parents, place = _way(written["path"], patch)
    steps = place.way
    if steps[-1] == LAST:
        place = parents[-1].below(END) if parents else place
    value = _value(written, patch.around)
    unsure = [(one, _is_there(one, patch)) for one in parents]
    unsure = [(one, test) for one, test in unsure if test != TRUE]
    patch.made.update(one.steps for one in (*(one for one, _ in unsure), place))
    patch.gone.difference_update(patch.made)
    if is_index(steps[-1]) and steps[-1] not in {END, LAST} and parents:
        patch.shifted.add(parents[-1].steps)
    added = operation("add", place, value)
    if len(unsure) == 1 and not (patch.around.loops and unsure[0][0].is_fixed):
        first, there = unsure[0]
        around_value = _nested(place.way[len(first.way) :], value)
        instead = operation("add", first, around_value)
        return [Operation(_choice(there, added, instead))]
    made = [
        Operation(
            operation("add", one, _container(steps[len(one.way)])),
            opposite(there),
            once=bool(patch.around.loops) and one.is_fixed,
        )
        for one, there in unsure
    ]
    return [*made, Operation(added)]


def _choice(test: Test, yes: str, no: str) -> str:
    if test == FALSE:
        return no
    return f"{enclosed(test, OR)}\n? {yes}\n: {no}"


def _container(step: Step) -> str:
    """Return what is made for a step to lead into."""
    if not is_index(step):
        return "{}"
    if isinstance(step, str) and step in {"0", LAST, END}:
        return "[]"
    raise no_twin("a place in a list that may be missing", "add the list first").below("path")


def _nested(steps: Sequence[Step], value: str) -> str:
    """Return a value inside of all that leads to it."""
    for step in reversed(steps):
        if _container(step) == "[]":
            value = f"[{value}]"
        else:
            key = quoted(step) if isinstance(step, str) else step.text
            value = f"{{{key}: {value}}}"
    return value


def _remove(written: Mapping[str, Json], patch: _Patch) -> list[Operation]:
    place = _way(written["path"], patch)[-1]
    there = _is_there(place, patch)
    _took(place, patch)
    if there == FALSE:
        return []
    once = bool(patch.around.loops) and place.is_fixed
    return [Operation(operation("remove", place), there, once=once)]


def _took(place: Place, patch: _Patch) -> None:
    patch.made.discard(place.steps)
    if is_index(place.way[-1]):
        patch.shifted.add(place.steps[:-1])
    else:
        patch.gone.add(place.steps)


def _replace(written: Mapping[str, Json], patch: _Patch) -> list[Operation]:
    place = _way(written["path"], patch)[-1]
    value = _value(written, patch.around)
    if place.steps in patch.made or not place.value.may_miss:
        return [Operation(operation("replace", place, value))]
    # Taking away what is not there is the error that `replace` is in a rule.
    return [Operation(operation("remove", place)), Operation(operation("add", place, value))]


def _move(written: Mapping[str, Json], patch: _Patch) -> list[Operation]:
    source, place = _way(written["from"], patch)[-1], _way(written["path"], patch)[-1]
    _took(source, patch)
    patch.made.add(place.steps)
    return [Operation(operation("move", place, source=source))]


def _copy(written: Mapping[str, Json], patch: _Patch) -> list[Operation]:
    source, place = _way(written["from"], patch)[-1], _way(written["path"], patch)[-1]
    patch.made.add(place.steps)
    if source.steps in patch.made or not source.value.may_miss:
        return [Operation(operation("copy", place, source=source))]
    # What is not there is an error when it is read.
    return [Operation(operation("add", place, source.value.text))]


def _test(written: Mapping[str, Json], patch: _Patch) -> list[Operation]:
    patch.around.scope.desk.note(_TESTS)
    place = _way(written["path"], patch)[-1]
    return [Operation(operation("test", place, _value(written, patch.around)))]


def _value(written: Mapping[str, Json], around: Around) -> str:
    try:
        return value_text(written.get("value"), around)
    except NotConvertible as refusal:
        raise refusal.below("value") from None


_CONVERTERS: Final[Mapping[str, Callable[[Mapping[str, Json], _Patch], list[Operation]]]] = (
    MappingProxyType(
        {
            "add": _add,
            "copy": _copy,
            "move": _move,
            "remove": _remove,
            "replace": _replace,
            "test": _test,
        }
    )
)
