"""What two sets of policies say otherwise, in Markdown, for a comment on a change of policies."""

from collections.abc import Iterable, Iterator

from kyvsim.model.difference import ResourceDifference
from kyvsim.report.comparison import Comparison, comparison_ending, counts_line
from kyvsim.report.diff_text import (
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
from kyvsim.report.ending import ending_line
from kyvsim.report.results import title
from kyvsim.report.style import Look, markdown_lines, markdown_text, table_line

_COLUMNS = ("verdict", "object", "rule", "said")


def render(one: Comparison, look: Look) -> Iterator[str]:
    """Yield a table of what differs, then numbers by rule, and what was not compared."""
    yield f"**{markdown_text(heading(one))}**\n\n"
    is_begun = False
    for resource in one.resources:
        rows = "".join(_rows(resource, detailed=look.detailed))
        if rows and not is_begun:
            yield table_line(_COLUMNS) + table_line(("---",) * len(_COLUMNS))
            is_begun = True
        yield rows
    yield "\n" if is_begun else ""
    yield from _list("By rule", _by_rule(one))
    yield from _list(WITHOUT, exception_lines(one))
    yield from _list(NOT_COMPARED, uncompared_lines(one))
    yield from _list("Input", map(str, (*one.remarks(), *one.last_remarks())))
    yield f"{counts_line(one)}\n\n{markdown_text(ending_line(comparison_ending(one)))}\n"


def _rows(found: ResourceDifference, *, detailed: bool) -> Iterator[str]:
    place = markdown_text(str(found.place)) if found.place else ""
    name = "<br>".join(filter(None, (markdown_text(title(found.resource)), place)))
    for one in found.verdicts:
        if is_told(one, detailed=detailed):
            said = "<br>".join(map(markdown_lines, verdict_lines(one)))
            rule = markdown_text(rule_name(one.policy, one.rule))
            yield table_line((markdown_text(arrow(one.results)), name, rule, said))
    for obj in found.objects:
        authors = "<br>".join(map(markdown_text, author_lines(obj)))
        yield table_line((markdown_text(object_title(obj)), name, "", authors))


def _by_rule(one: Comparison) -> Iterator[str]:
    for (policy, rule, old, new), number in one.seen.by_rule.items():
        yield f"{number}: {arrow((old, new))} {rule_name(policy, rule)}"


def _list(head: str, items: Iterable[str]) -> Iterator[str]:
    lines = "".join(f"- {markdown_text(item)}\n" for item in items)
    yield f"{head}:\n\n{lines}\n" if lines else ""
