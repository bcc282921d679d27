"""Objects that are generated more than once, gathered while responses stream by."""

from collections.abc import Iterator
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, ObjectKey, labels, metadata, object_key
from kyvsim.model.result import EngineResponse
from kyvsim.report.object_text import to_json
from kyvsim.report.results import generated, identity, identity_of, short_title
from kyvsim.report.style import Paint, safe_line

_SHOWN = 3
_OWN_LABELS = "generate.kyverno.io/"


class _Maker(NamedTuple):
    """Who generated an object."""

    policy: str
    rule: str
    trigger: Json
    content: int
    """A hash of the object without the labels that name its trigger."""


class Collision(NamedTuple):
    """One object and all that generate it."""

    key: ObjectKey
    makers: tuple[_Maker, ...]

    @property
    def agree(self) -> bool:
        """Whether all generate the same, so that it does not matter who comes last."""
        return len({maker.content for maker in self.makers}) == 1


class Collisions:
    """The generated objects seen so far, by identity."""

    __slots__ = ("_makers",)

    def __init__(self) -> None:
        self._makers: dict[ObjectKey, list[_Maker]] = {}

    def add(self, response: EngineResponse) -> None:
        """Take in the objects generated for a response's trigger."""
        for change in generated(response):
            maker = _Maker(
                change.policy.key, change.rule, response.trigger, _content(change.object)
            )
            self._makers.setdefault(object_key(change.object), []).append(maker)

    def found(self) -> Iterator[Collision]:
        """Yield the objects that several generate, in the order in which they were first seen."""
        for key, makers in self._makers.items():
            if len(makers) > 1:
                yield Collision(key, tuple(makers))


def _content(obj: Json) -> int:
    meta = dict(metadata(obj))
    meta["labels"] = {
        name: text for name, text in labels(obj).items() if not name.startswith(_OWN_LABELS)
    }
    return hash(to_json({**obj, "metadata": meta}))


def collision_entry(collision: Collision) -> Json:
    """Return a collision as the JSON document shows it."""
    return {
        "object": identity_of(collision.key),
        "by": [
            {"policy": one.policy, "rule": one.rule, "trigger": identity(one.trigger)}
            for one in collision.makers
        ],
        "same": collision.agree,
    }


def collision_lines(collisions: Collisions, paint: Paint) -> Iterator[str]:
    """Yield the lines about collisions in the text view; none where there are none."""
    lines = [_line(one, paint) for one in collisions.found()]
    if lines:
        yield paint("title", "Objects that are generated more than once") + "\n"
        yield from lines
        yield "\n"


def _line(collision: Collision, paint: Paint) -> str:
    key = collision.key
    place = "/".join(part for part in (key.namespace, key.name) if part)
    makers = [
        f"policy {one.policy}, rule {one.rule} for {short_title(one.trigger)}"
        for one in collision.makers[:_SHOWN]
    ]
    more = len(collision.makers) - _SHOWN
    told = [*makers, f"and {more} more"] if more > 0 else makers
    kind = "the same each time" if collision.agree else "different each time"
    heading = f"  {paint('warn', 'warning')}  {safe_line(f'{key.kind} {place}: {kind}')}\n"
    return heading + "".join(f"           {safe_line(text)}\n" for text in told)
