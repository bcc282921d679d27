"""Where in an object, and in its manifest, the steps of an explanation looked."""

from operator import is_

from kyvsim.api.explain_parts import Numbers, Parts, number_of
from kyvsim.kubernetes.objects import Json
from kyvsim.model.explanation import ObjectExplanation, Step, StepKind
from kyvsim.model.result import EngineResponse
from kyvsim.model.source import Document, Path


def with_places(found: ObjectExplanation) -> ObjectExplanation:
    """Return an explanation whose steps have whole paths, and places in the manifest."""
    placed = Placing(found.response.document, object_states(found.response))
    return found._replace(
        rules=tuple(
            rule._replace(
                steps=tuple(placed.step(one, ()) for one in rule.steps),
                before=tuple(placed.step(one, ()) for one in rule.before),
            )
            for rule in found.rules
        )
    )


def object_states(response: EngineResponse) -> tuple[Json, ...]:
    """Return the object of a response in each state in which rules saw it."""
    found: list[Json] = []
    for one in (
        *(answer.object for answer in response.responses),
        response.object,
        response.trigger,
    ):
        if one is not None and not any(one is known for known in found):
            found.append(one)
    return tuple(found)


class Placing:
    """Finds places in one object, in whatever state rules saw it."""

    def __init__(self, document: Document | None, objects: tuple[Json, ...]) -> None:
        """Take the manifest of an object, and its `object_states`."""
        self._document = document
        self._objects = objects
        self._numbers: Numbers = {}
        self._parts: list[Parts] = []

    def is_about(self, document: Document | None, objects: tuple[Json, ...]) -> bool:
        """Return whether it finds places of these states of an object."""
        return (
            self._document is document
            and len(self._objects) == len(objects)
            and all(map(is_, self._objects, objects))
        )

    def way(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        """Return a way, of which each step is among those of the one before, with its places.

        Of steps beside the way only those have places that `places` looks at: below the last step,
        and below expressions.
        """
        base: Path | None = ()
        placed = []
        for number, step in enumerate(steps, 1):
            whole = number == len(steps) or step.kind is StepKind.EXPRESSION
            found = self.step(step, base, deep=whole)
            placed.append(found)
            base = found.path if found.path is not None else base
        return tuple(placed)

    def step(self, step: Step, base: Path | None, *, deep: bool = True) -> Step:
        """Return a step, whose surroundings are about what is at `base`, with its place.

        Without `deep` the steps inside it stay without places.
        """
        path = self._path(step, base)
        inner = path if path is not None else base
        seen_at = None
        if path is not None and self._document is not None:
            seen_at = self._document.locate(path)
        steps = step.steps
        if deep and steps:
            steps = tuple([self.step(one, inner) for one in steps])
        found, note = step.found, step.note
        if path and found is not None and found.data is None and not self._has(path):
            found, note = None, note or "not there"
        return Step(
            step.kind,
            step.name,
            step.text,
            step.answer,
            step.wanted,
            found,
            note,
            step.place,
            path,
            path is not None,
            seen_at,
            steps,
        )

    def _is_whole(self, step: Step) -> bool:
        """Return whether a pattern looked at the object, as it may inside a loop, too."""
        return step.found is not None and any(step.found.data == one for one in self._objects)

    def _has(self, path: Path) -> bool:
        return any(_is_there(obj, path) for obj in self._objects)

    def _path(self, step: Step, base: Path | None) -> Path | None:
        if step.kind is StepKind.ELEMENT and step.found is not None:
            return self._of_value(step.found.data)
        if step.path is None or step.rooted:
            return step.path
        if not step.path and step.kind is StepKind.PATTERN and self._is_whole(step):
            return ()
        return None if base is None else (*base, *step.path)

    def _of_value(self, value: Json) -> Path | None:
        """Return where a part of the object stands, if that can be said."""
        if value.__class__ is not dict and value.__class__ is not list:
            return None
        if not self._parts:
            self._parts = [Parts(obj, self._numbers) for obj in self._objects]
        number = number_of(value, self._numbers)
        for parts in self._parts:
            path = parts.path_of(value, number)
            if path is not None:
                return path
        for parts in self._parts:
            path = parts.only_path_of(number)
            if path is not None:
                return path
        return None


def _is_there(value: Json, path: Path) -> bool:
    for step in path:
        is_map = value.__class__ is dict and step in value
        if not is_map and not (value.__class__ is list and step in range(len(value))):
            return False
        value = value[step]
    return True
