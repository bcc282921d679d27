"""Where in an object, and in its manifest, the steps of an explanation looked."""

from kyvsim.api.explain_parts import Numbers, Parts, number_of
from kyvsim.kube.objects import Json
from kyvsim.model.explanation import ObjectExplanation, Step, StepKind, Value
from kyvsim.model.source import Document, Path


def with_places(found: ObjectExplanation) -> ObjectExplanation:
    """Return an explanation whose steps have whole paths, and places in the manifest."""
    response = found.response
    objects = [
        *(answer.object for answer in response.responses),
        response.object,
        response.trigger,
    ]
    states = {id(one): one for one in objects if one is not None}
    placed = _Placing(response.document, tuple(states.values()))
    return found._replace(
        rules=tuple(
            rule._replace(
                steps=tuple(placed.step(one, ()) for one in rule.steps),
                before=tuple(placed.step(one, ()) for one in rule.before),
            )
            for rule in found.rules
        )
    )


class _Placing:
    """Finds places in one object, in whatever state rules saw it."""

    def __init__(self, document: Document | None, objects: tuple[Json, ...]) -> None:
        self._document = document
        self._objects = objects
        self._numbers: Numbers = {}
        self._parts: list[Parts] = []

    def step(self, step: Step, base: Path | None) -> Step:
        """Return a step, whose surroundings are about what is at `base`, with its place."""
        path = self._path(step, base)
        inner = path if path is not None else base
        seen_at = None
        if path is not None and self._document is not None:
            seen_at = self._document.locate(path)
        steps = tuple(self.step(one, inner) for one in step.steps)
        if path and step.found == Value(None) and not self._has(path):
            step = step._replace(found=None, note=step.note or "not there")
        return step._replace(path=path, rooted=path is not None, seen_at=seen_at, steps=steps)

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
        for parts in self._parts:
            path = parts.path_of(value)
            if path is not None:
                return path
        number = number_of(value, self._numbers)
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
