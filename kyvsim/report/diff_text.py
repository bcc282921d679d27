"""What two sets of policies say otherwise, for people: by resource, then by rule."""

from collections.abc import Iterable, Iterator
from types import MappingProxyType

from kyvsim.model.difference import (
    Direction,
    ObjectDifference,
    ResourceDifference,
    VerdictDifference,
)
from kyvsim.report.comparison import Comparison, counts_line
from kyvsim.report.diff import Marked, hunks
from kyvsim.report.diff_words import (
    NOT_COMPARED,
    WITHOUT,
    arrow,
    author_lines,
    exception_lines,
    heading,
    is_told,
    object_title,
    rule_name,
    uncompared_lines,
    verdict_lines,
)
from kyvsim.report.look import Look
from kyvsim.report.object_diff import marked_yaml
from kyvsim.report.object_yaml import yaml_lines
from kyvsim.report.style import Paint, indented, painter
from kyvsim.report.subject import title
from kyvsim.report.text_blocks import resource_heading
from kyvsim.report.text_objects import guttered

_LOOKS = MappingProxyType(
    {Direction.STRICTER: "fail", Direction.LAXER: "pass", Direction.NEITHER: "dim"}
)
_INDENT = " " * 9


def render(one: Comparison, look: Look) -> Iterator[str]:
    """Yield the view a resource at a time; the last line counts."""
    paint = painter(colours=look.colours)
    yield f"{paint('title', heading(one))}\n\n"
    for resource in one.resources:
        yield from _resource(resource, paint, look)
    yield from _by_rule(one, paint)
    yield from _list(WITHOUT, exception_lines(one), paint)
    yield from _list(NOT_COMPARED, uncompared_lines(one), paint)
    yield f"{counts_line(one)}\n"


def _resource(found: ResourceDifference, paint: Paint, look: Look) -> Iterator[str]:
    verdicts = [one for one in found.verdicts if is_told(one, detailed=look.detailed)]
    if not (verdicts or found.objects):
        return
    place = str(found.place) if found.place else ""
    yield resource_heading(title(found.resource), place, paint)
    for verdict in verdicts:
        yield from _verdict(verdict, paint)
    for obj in found.objects:
        yield from _object(obj, paint)
    yield "\n"


def _verdict(one: VerdictDifference, paint: Paint) -> Iterator[str]:
    looks = _LOOKS[one.direction]
    yield f"  {paint(looks, arrow(one.results))}  {rule_name(one.policy, one.rule)}\n"
    yield from _lines(verdict_lines(one))


def _object(one: ObjectDifference, paint: Paint) -> Iterator[str]:
    yield f"  {paint('title', object_title(one))}\n"
    yield from _lines(author_lines(one))
    yield from guttered(_marked(one), paint)


def _marked(one: ObjectDifference) -> Iterator[Marked]:
    """Yield what differs of an object with marks; all of it where one set does not make it."""
    if one.old and one.new:
        yield from hunks(marked_yaml(one.old.object, one.new.object))
        return
    for mark, side in (("-", one.old), ("+", one.new)):
        yield from ((mark, line) for line in (yaml_lines(side.object) if side else ()))


def _lines(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield f"{_INDENT}{indented(text, _INDENT)}\n"


def _by_rule(one: Comparison, paint: Paint) -> Iterator[str]:
    """Yield how often each rule says something else."""
    found = one.seen.by_rule
    if not found:
        return
    yield f"{paint('title', 'By rule')}\n"
    width = max(len(arrow((old, new))) for _, _, old, new in found)
    for (policy, rule, old, new), number in found.items():
        yield f"  {number:>5}  {arrow((old, new)):<{width}}  {rule_name(policy, rule)}\n"
    yield "\n"


def _list(head: str, items: Iterable[str], paint: Paint) -> Iterator[str]:
    lines = "".join(f"  {item}\n" for item in items)
    yield f"{paint('title', head)}\n{lines}\n" if lines else ""
