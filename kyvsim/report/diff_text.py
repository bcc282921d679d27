"""What two sets of policies say otherwise, for people: by resource, then by rule."""

from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import Final

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.diagnostic import Severity, listed
from kyvsim.model.difference import (
    Author,
    Direction,
    Effect,
    Missing,
    ObjectDifference,
    ResourceDifference,
    Said,
    UncomparedRule,
    VerdictDifference,
)
from kyvsim.model.source import Location
from kyvsim.report.comparison import Comparison, counts_line
from kyvsim.report.object_text import Marked, hunks, marked_yaml, to_json, yaml_lines
from kyvsim.report.results import key_title, title
from kyvsim.report.style import Look, Paint, counted, indented, painter, safe_line
from kyvsim.report.text_blocks import guttered, resource_heading

# Words for differences between sets of policies, the same in all views for people.


NOT_COMPARED: Final = "Not compared, since no rule of either set looked there"
WITHOUT: Final = "Exceptions that count in the old set only, and what became of what they let off"
FAULTS: Final = frozenset({"fail", "error", "warn"})
_MISSING = MappingProxyType(
    {
        Missing.POLICY: "has no such policy",
        Missing.RULE: "has no such rule",
        Missing.MATCH: "does not match",
        None: "",
    }
)
_WORDS = MappingProxyType(
    {Effect.MUTATED: "mutated", Effect.GENERATED: "generated", Effect.PATCHED: "patched"}
)


def heading(one: Comparison) -> str:
    """Return the line that says what is compared."""
    if not one.applied:
        return "Nothing is compared: a file that every verdict depends on was refused"
    old, new = (counted(run.rule_count, "rule") for run in (one.old, one.new))
    over = counted(one.new.resource_count, "resource")
    told = f"Comparing {old} of {one.names[0]} with {new} of {one.names[1]} over {over}"
    if any(entry.severity is Severity.ERROR for entry in one.remarks()):
        told += "; some input could not be used, which may be why a set lacks something"
    return safe_line(told)


def arrow(results: tuple[str, str]) -> str:
    """Return `pass → fail`; `none` stands for no result."""
    return " → ".join(results)


def rule_name(policy: str, rule: str) -> str:
    """Return `policy / rule`, or the policy alone where its rule has no name."""
    return safe_line(" / ".join(filter(None, (policy, rule))))


def is_told(one: VerdictDifference, *, detailed: bool) -> bool:
    """Return whether a verdict is told by itself: others are told in numbers, by their rule."""
    return detailed or not FAULTS.isdisjoint(one.results)


def verdict_lines(one: VerdictDifference) -> Iterator[str]:
    """Yield what is said of a verdict: messages, the places of its rule, and in the manifest."""
    old, new = (_said(side) for side in (one.old, one.new))
    if new and old and new != old:
        yield f"old: {old}"
        yield f"new: {new}"
    elif new or old:
        yield new or old
    for word, side in (("old", one.old), ("new", one.new)):
        yield f"{word} {side.rule_place if side else _MISSING[one.missing]}"
    found = {side.failed_place for side in (one.old, one.new) if side and side.failed_place}
    yield from (f"at  {place}" for place in sorted(found))


def _said(side: Said | None) -> str:
    is_fault = side is not None and side.result in FAULTS
    return "\n".join(filter(None, (side.message, side.note))) if side and is_fault else ""


def object_title(one: ObjectDifference) -> str:
    """Return what became of an object, as `generated ConfigMap shop/web only by old`."""
    word = _WORDS[one.effect]
    named = "" if one.effect is Effect.MUTATED else f" {_short(one.key)}"
    sides = [name for name, side in (("old", one.old), ("new", one.new)) if side and side.authors]
    how = "otherwise" if len(sides) == 2 else f"only by {sides[0]}" if sides else "otherwise"
    return safe_line(f"{word}{named} {how}")


def _short(key: ObjectKey) -> str:
    return f"{key.kind} {'/'.join(filter(None, (key.namespace, key.name)))}"


def author_lines(one: ObjectDifference) -> Iterator[str]:
    """Yield who made an object so in each set, with the place of the rule, and settings."""
    for word, side in (("old", one.old), ("new", one.new)):
        for author in side.authors if side else ():
            yield safe_line(f"{word} by {_author(author)}")
    old, new = (dict(side.settings) if side else None for side in (one.old, one.new))
    if old is not None and new is not None and old != new:
        for name in dict.fromkeys((*old, *new)):
            if old.get(name) != new.get(name):
                before, after = (to_json(one.get(name)) for one in (old, new))
                yield safe_line(f"{name}: {before} → {after}")


def _author(author: Author) -> str:
    rule = f", rule {author.rule}" if author.rule else ""
    return f"policy {author.policy}{rule} ({author.place})"


def exception_lines(one: Comparison) -> Iterator[str]:
    """Yield a line for each exception that only the old set has."""
    for exception, changes in one.without() if one.applied else ():
        told = ", ".join(f"{number} {arrow(way)}" for way, number in changes.items())
        yield safe_line(f"{exception}: {told or 'it let nothing off'}")


def uncompared_lines(one: Comparison) -> Iterator[str]:
    """Yield what neither set looked at, a line for each rule and one for all resources."""
    if not one.applied:
        return
    yield from map(_uncompared_line, one.uncompared())
    if one.seen.unmatched:
        yield safe_line(f"resources: {listed(map(key_title, one.seen.unmatched))}")


def _uncompared_line(one: UncomparedRule) -> str:
    """Return a rule by which nothing was compared, and where it stands in the sets."""
    places: list[tuple[str, Location | None]] = [("old", one.old), ("new", one.new)]
    told = ", ".join(f"{word} {place}" for word, place in places if place)
    return f"{rule_name(one.policy, one.rule)} ({safe_line(told)})"


# What two sets of policies say otherwise, for people: by resource, then by rule.


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
