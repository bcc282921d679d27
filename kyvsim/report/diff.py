"""Results of `diff` as text, JSON and Markdown."""

from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import Final

from kyvsim.kubernetes.objects import Json
from kyvsim.model.comparison import (
    ComparedObject,
    ComparedResult,
    Direction,
    NoResultReason,
    ObjectDifference,
    ObjectEffect,
    ResourceDifference,
    VerdictDifference,
)
from kyvsim.model.diagnostic import Severity, listed
from kyvsim.report.diagnostics import diagnostic_json, place_json
from kyvsim.report.differences import RunComparison, comparison_ending, counts_line, figures
from kyvsim.report.ending import ending_json, ending_line
from kyvsim.report.object_text import hunks, json_entries, marked_yaml, to_json, yaml_lines
from kyvsim.report.results import identity, identity_of, key_title, rule_title, title
from kyvsim.report.style import (
    Paint,
    RenderOptions,
    counted,
    indented,
    markdown_lines,
    markdown_text,
    painter,
    safe_line,
    table_line,
)
from kyvsim.report.text_blocks import guttered, resource_heading

# Wording of differences between policy sets, shared by all text formats.


NOT_COMPARED: Final = "Not compared, because no rule of either set matched"
WITHOUT: Final = "Exceptions that apply to the old set only, and the results without them"
FAULTS: Final = frozenset({"fail", "error", "warn"})
_MISSING = MappingProxyType(
    {
        NoResultReason.POLICY: "has no such policy",
        NoResultReason.RULE: "has no such rule",
        NoResultReason.MATCH: "does not match",
        None: "",
    }
)
_WORDS = MappingProxyType(
    {
        ObjectEffect.MUTATED: "mutated",
        ObjectEffect.GENERATED: "generated",
        ObjectEffect.PATCHED: "patched",
    }
)


def heading(one: RunComparison) -> str:
    """Return the line that says what is compared."""
    if not one.applied:
        return "Nothing was compared: a file that all results depend on was rejected"
    old, new = (counted(run.rule_count, "rule") for run in (one.old, one.new))
    over = counted(one.new.resource_count, "resource")
    shown = f"Comparing {old} of {one.names[0]} with {new} of {one.names[1]} over {over}"
    if any(entry.severity is Severity.ERROR for entry in one.all_diagnostics()):
        shown += "; some input could not be used, so policies or rules may be missing"
    return safe_line(shown)


def arrow(results: tuple[str, str]) -> str:
    """Return `pass → fail`; `none` represents no result."""
    return " → ".join(results)


def rule_name(policy: str, rule: str) -> str:
    """Return `policy / rule`, or the policy alone where its rule has no name."""
    return safe_line(rule_title(policy, rule))


def is_listed(one: VerdictDifference, *, detailed: bool) -> bool:
    """Return whether a difference is listed by itself; the others are counted by rule."""
    return detailed or not FAULTS.isdisjoint(one.results)


def verdict_lines(one: VerdictDifference) -> Iterator[str]:
    """Yield the lines of a difference: messages, places of its rule and in the manifest."""
    old, new = (
        "\n".join(filter(None, (side.message, side.note))) if side and side.result in FAULTS else ""
        for side in (one.old, one.new)
    )
    if new and old and new != old:
        yield f"old: {old}"
        yield f"new: {new}"
    elif new or old:
        yield new or old
    for word, side in (("old", one.old), ("new", one.new)):
        yield f"{word} {side.rule_place if side else _MISSING[one.missing]}"
    found = {side.failed_place for side in (one.old, one.new) if side and side.failed_place}
    yield from (f"at  {place}" for place in sorted(found))


def object_title(one: ObjectDifference) -> str:
    """Return what became of an object, such as `generated ConfigMap shop/web only by old`."""
    path = "/".join(filter(None, (one.key.namespace, one.key.name)))
    named = "" if one.effect is ObjectEffect.MUTATED else f" {one.key.kind} {path}"
    sides = [name for name, side in (("old", one.old), ("new", one.new)) if side and side.authors]
    how = f"only by {sides[0]}" if len(sides) == 1 else "differently"
    return safe_line(f"{_WORDS[one.effect]}{named} {how}")


def author_lines(one: ObjectDifference) -> Iterator[str]:
    """Yield who made an object so in each set, with the place of the rule, and settings."""
    for word, side in (("old", one.old), ("new", one.new)):
        for author in side.authors if side else ():
            rule = f", rule {author.rule}" if author.rule else ""
            yield safe_line(f"{word} by policy {author.policy}{rule} ({author.place})")
    old, new = (dict(side.settings) if side else None for side in (one.old, one.new))
    if old is not None and new is not None and old != new:
        for name in dict.fromkeys((*old, *new)):
            if old.get(name) != new.get(name):
                before, after = (to_json(one.get(name)) for one in (old, new))
                yield safe_line(f"{name}: {before} → {after}")


def exception_lines(one: RunComparison) -> Iterator[str]:
    """Yield a line for each exception that only the old set has."""
    for exception, changes in one.without() if one.applied else ():
        shown = ", ".join(f"{number} {arrow(way)}" for way, number in changes.items())
        yield safe_line(f"{exception}: {shown or 'no result changed'}")


def uncompared_lines(one: RunComparison) -> Iterator[str]:
    """Yield what neither set evaluated, a line for each rule and one for all resources."""
    if not one.applied:
        return
    for rule in one.uncompared():
        places = (("old", rule.old), ("new", rule.new))
        shown = ", ".join(f"{word} {place}" for word, place in places if place)
        yield f"{rule_name(rule.policy, rule.rule)} ({safe_line(shown)})"
    if one.seen.unmatched:
        yield safe_line(f"resources: {listed(map(key_title, one.seen.unmatched))}")


# The results that differ between two policy sets, as text: by resource, then by rule.


_LOOKS = MappingProxyType(
    {Direction.STRICTER: "fail", Direction.LAXER: "pass", Direction.NEITHER: "dim"}
)
_INDENT = " " * 9


def render_text(one: RunComparison, options: RenderOptions) -> Iterator[str]:
    """Yield the view a resource at a time; the last line counts."""
    paint = painter(colours=options.colours)
    yield f"{paint('title', heading(one))}\n\n"
    for found in one.resources:
        verdicts = [each for each in found.verdicts if is_listed(each, detailed=options.detailed)]
        if not (verdicts or found.objects):
            continue
        place = str(found.place) if found.place else ""
        yield resource_heading(title(found.resource), place, paint)
        for verdict in verdicts:
            change = paint(_LOOKS[verdict.direction], arrow(verdict.results))
            yield f"  {change}  {rule_name(verdict.policy, verdict.rule)}\n"
            for text in verdict_lines(verdict):
                yield f"{_INDENT}{indented(text, _INDENT)}\n"
        for obj in found.objects:
            yield f"  {paint('title', object_title(obj))}\n"
            for text in author_lines(obj):
                yield f"{_INDENT}{indented(text, _INDENT)}\n"
            old, new = obj.old, obj.new
            if old and new:
                lines = [*hunks(marked_yaml(old.object, new.object))]
            else:
                lines = [("-", line) for line in (yaml_lines(old.object) if old else ())]
                lines += [("+", line) for line in (yaml_lines(new.object) if new else ())]
            yield from guttered(lines, paint)
        yield "\n"
    yield from _by_rule(one, paint)
    yield from _list(WITHOUT, exception_lines(one), paint)
    yield from _list(NOT_COMPARED, uncompared_lines(one), paint)
    yield f"{counts_line(one)}\n"


def _by_rule(one: RunComparison, paint: Paint) -> Iterator[str]:
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


# What two sets of policies say differently, as one JSON document.
#
# `resources` has those with a difference. Sides are null where a set says or makes nothing. What
# the document holds, says docs/diff.schema.json.


def render_json(one: RunComparison, options: RenderOptions) -> Iterator[str]:
    """Yield the document a resource at a time."""
    del options  # a document for programs has no such options
    yield f'{{"old": {to_json(one.names[0])}, "new": {to_json(one.names[1])}, "resources": ['
    differing = (found for found in one.resources if found.verdicts or found.objects)
    yield from json_entries(to_json(_resource_json(found)) for found in differing)
    rest = {
        "exceptions": [
            {
                "exception": exception,
                "changes": [
                    {"old": old, "new": new, "count": number}
                    for (old, new), number in changes.items()
                ],
            }
            for exception, changes in (one.without() if one.applied else ())
        ],
        "notCompared": {
            "rules": [
                {
                    "policy": rule.policy,
                    "rule": rule.rule,
                    "old": place_json(rule.old),
                    "new": place_json(rule.new),
                }
                for rule in (one.uncompared() if one.applied else ())
            ],
            "resources": [identity_of(key) for key in one.seen.unmatched],
        },
        "diagnostics": [
            diagnostic_json(entry) for entry in (*one.all_diagnostics(), *one.final_diagnostics())
        ],
        "ending": ending_json(comparison_ending(one)),
        "summary": figures(one),
    }
    yield "]"
    yield from (f',\n"{name}": {to_json(value)}' for name, value in rest.items())
    yield "}\n"


def _resource_json(found: ResourceDifference) -> Json:
    shown: dict[str, Json] = {
        "resource": identity(found.resource),
        "location": place_json(found.place),
        "verdicts": [
            {
                "policy": one.policy,
                "rule": one.rule,
                "type": one.type,
                "direction": one.direction.value,
                "old": _result_json(one.old),
                "new": _result_json(one.new),
                "missing": one.missing.value if one.missing else None,
            }
            for one in found.verdicts
        ],
    }
    for effect in ObjectEffect:
        shown[effect.value] = [
            {"resource": identity_of(one.key), "old": _outcome(one.old), "new": _outcome(one.new)}
            for one in found.objects
            if one.effect is effect
        ]
    return shown


def _result_json(side: ComparedResult | None) -> Json:
    if side is None:
        return None
    return {
        "result": side.result,
        "message": side.message,
        "note": side.note,
        "path": side.path,
        "ruleLocation": place_json(side.rule_place),
        "location": place_json(side.failed_place),
    }


def _outcome(side: ComparedObject | None) -> Json:
    if side is None:
        return None
    return {
        "by": [
            {"policy": one.policy, "rule": one.rule, "ruleLocation": place_json(one.place)}
            for one in side.authors
        ],
        **side.settings,
        "object": side.object,
    }


# What two sets of policies say differently, in Markdown, for a comment on a change of policies.

_COLUMNS = ("change", "object", "rule", "details")


def render_markdown(one: RunComparison, options: RenderOptions) -> Iterator[str]:
    """Yield a table of what differs, then numbers by rule, and what was not compared."""
    yield f"**{markdown_text(heading(one))}**\n\n"
    rows = _markdown_rows(one, detailed=options.detailed)
    first = next(rows, "")
    if first:
        yield table_line(_COLUMNS) + table_line(("---",) * len(_COLUMNS))
        yield first
        yield from rows
        yield "\n"
    by_rule = (
        f"{number}: {arrow((old, new))} {rule_name(policy, rule)}"
        for (policy, rule, old, new), number in one.seen.by_rule.items()
    )
    yield from _markdown_list("By rule", by_rule)
    yield from _markdown_list(WITHOUT, exception_lines(one))
    yield from _markdown_list(NOT_COMPARED, uncompared_lines(one))
    yield from _markdown_list("Input", map(str, (*one.all_diagnostics(), *one.final_diagnostics())))
    yield f"{counts_line(one)}\n\n{markdown_text(ending_line(comparison_ending(one)))}\n"


def _markdown_rows(comparison: RunComparison, *, detailed: bool) -> Iterator[str]:
    for found in comparison.resources:
        place = markdown_text(str(found.place)) if found.place else ""
        name = "<br>".join(filter(None, (markdown_text(title(found.resource)), place)))
        for one in found.verdicts:
            if is_listed(one, detailed=detailed):
                said = "<br>".join(map(markdown_lines, verdict_lines(one)))
                rule = markdown_text(rule_name(one.policy, one.rule))
                yield table_line((markdown_text(arrow(one.results)), name, rule, said))
        for obj in found.objects:
            authors = "<br>".join(map(markdown_text, author_lines(obj)))
            yield table_line((markdown_text(object_title(obj)), name, "", authors))


def _markdown_list(head: str, items: Iterable[str]) -> Iterator[str]:
    lines = "".join(f"- {markdown_text(item)}\n" for item in items)
    yield f"{head}:\n\n{lines}\n" if lines else ""
