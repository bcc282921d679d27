"""Diagnostics and reasons of failures: positions, source excerpts, texts, and JSON."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import text_field
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.explanation import (
    RuleExplanation,
    Step,
    StepKind,
    alternatives,
    deciding,
    deciding_part,
    nearest,
    places,
)
from kyvsim.model.result import EngineResponse, Excerpt, ReportedReason, RuleResult, RuleStatus
from kyvsim.model.source import Document, Location
from kyvsim.report.object_text import whole_numbers
from kyvsim.report.results import Row
from kyvsim.report.style import INDENT, TextLayout, counted, safe_line, truncated, wrapped

_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"' r"|'(?:[^']|'')*'")
_WORD: Final = re.compile(r"[^\s,\[\]{}]+")
_PLAIN = r"[^,\[\]{}#]+"
_QUOTES: Final = ('"', "'")
_CLOSING: Final[Mapping[str, str]] = MappingProxyType({"{": "}", "[": "]"})
_BEFORE: Final = 16
_CUT: Final = "…"
_KEPT: Final = 200
"""Maximum characters of each part of an excerpt; no view is wider."""
_LOOKED_AT: Final = 4 * _KEPT
"""Maximum characters that are read from a column; a line may be as long as the file."""


def window_of(column: int) -> tuple[int, int]:
    """Return first and last column, from 0, of the part of a line that `excerpt_of` needs."""
    return max(column - 1 - _KEPT, 0), column - 1 + _LOOKED_AT


def excerpt_of(source: str, column: int) -> Excerpt | None:
    """Return the part of a line around the entry or value at a column, which counts from 1.

    None if the line has no such column. Of long lines, only the part near the column is returned.
    """
    start = column - 1
    near = source[start : start + _LOOKED_AT]
    if not near.strip():
        return None
    is_cut = len(source) - start >= _LOOKED_AT
    ends_beyond = is_cut and near[0] in _QUOTES and not _quoted(near, 0)
    meant = near if ends_beyond else _meant(near, 0)
    after = near[len(meant) :].rstrip()
    return Excerpt(source[max(start - _KEPT, 0) : start], meant[:_KEPT], after[:_KEPT])


def excerpt_lines(excerpt: Excerpt, number: int, width: int) -> Iterator[tuple[str, str]]:
    """Yield a source line and the line with the mark below it, each as gutter and text.

    A line that is too long for the width is cut.
    """
    gutter = f"{number} | "
    room = max(width - len(gutter), _BEFORE * 2)
    texts = [safe_line(text.replace("\t", " ")) for text in excerpt]
    if _cells("".join(texts)) > room:
        texts = _cut(texts, room)
    mark = "^" * max(_cells(texts[1].removesuffix(_CUT)), 1)
    yield gutter, "".join(texts)
    yield " " * (len(gutter) - 2) + "| ", " " * _cells(texts[0]) + mark


def _meant(source: str, start: int) -> str:
    """Return the entry or value at an index."""
    if source[start] in _CLOSING:
        # A map or list in braces, up to the end of the line.
        depth = 0
        for place, character in enumerate(source[start:], start):
            depth += (character in _CLOSING) - (character in _CLOSING.values())
            if depth == 0:
                return source[start : place + 1]
        return source[start:].rstrip()
    # A quoted text, a key or another word; a key ends before its colon.
    end = start + (_quoted(source, start) or 1)
    word = None if end > start + 1 else _WORD.match(source, start)
    if word:
        end = word.end()
        is_key = source[end - 1] == ":" and source[start] not in ":\"'"
        end -= is_key and not source[end : end + 1].strip()
    behind = source[end:].lstrip()
    if not behind.startswith(":") or behind[1:2].strip():
        return source[start:end]
    # The length of the scalar after a key, 0 if the value is not a scalar.
    value = behind[1:].lstrip()
    size = _quoted(value, 0)
    plain = None if size or value.startswith(tuple("&!*|>[{#")) else re.match(_PLAIN, value)
    size = len(plain[0].rstrip()) if plain else size
    return source[start : len(source) - len(value) + size if size else end]


def _quoted(text: str, start: int) -> int:
    """Return the length of the quoted text at an index, 0 if there is none."""
    match = _QUOTED.match(text, start) if text[start : start + 1] in _QUOTES else None
    return len(match[0]) if match else 0


def _cut(texts: list[str], room: int) -> list[str]:
    """Return the three parts of an excerpt, shortened to fit into the columns."""
    before, meant, after = texts
    if _cells(before) > _BEFORE and before.strip():
        before = _CUT + before[-_BEFORE:]
    elif _cells(before) > room // 2:
        before = before[: room // 2]
    if _cells(before + meant) > room:
        return [before, _cropped(meant, room - _cells(before) - 1) + _CUT, ""]
    left = room - _cells(before + meant)
    return [before, meant, after if _cells(after) <= left else _cropped(after, left - 1) + _CUT]


def _cropped(text: str, room: int) -> str:
    """Return the beginning of a text that fits into the columns."""
    if text.isascii():
        return text[: max(room, 0)]
    from rich.cells import set_cell_size

    return set_cell_size(text, max(room, 0))


def _cells(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


_MOST_SLASHES = 8
"""Maximum number of path segments that are tried as one key; label keys have at most one slash."""


def resource_place(response: EngineResponse) -> Location | None:
    """Return the position of a response's object, or None if it is not in a manifest."""
    return response.document.locate(()) if response.document else None


def rule_place(row: Row) -> Location:
    """Return the position of a row's rule; for an autogen rule, that of its source rule."""
    return row.policy.document.locate(row.result.rule.path)


def failed_place(document: Document | None, path: str) -> Location | None:
    """Return the position of the deepest node along `path`; None without its first field."""
    names = path.strip("/").split("/")
    if document is None or _member(document.data, names[0]) is None:
        return None
    steps: list[str | int] = []
    node: object = document.data
    at = 0
    while at < len(names):
        name: str | int = names[at]
        length = 1
        if node.__class__ is dict and name not in node:
            # Keys such as `example.com/team` contain slashes, which the path does not escape.
            name, length = _long_key(node, names, at)
        elif node.__class__ is list and names[at].isdecimal():
            name = int(names[at])
        steps.append(name)
        node = _member(node, name)
        at += length
    return document.locate(tuple(steps))


def _long_key(node: Mapping[str, object], names: list[str], at: int) -> tuple[str, int]:
    """Return the key of a map that consists of several names, and their number, or one name."""
    for length in range(2, min(len(names) - at, _MOST_SLASHES) + 1):
        key = "/".join(names[at : at + length])
        if key in node:
            return key, length
    return names[at], 1


def place_json(place: Location | None) -> dict[str, object] | None:
    """Return a location as JSON data; None without one."""
    return None if place is None else place._asdict()


def location_json(place: Location | None) -> dict[str, object]:
    """Return a location as JSON data; without one, file "" and line and column 0."""
    return (place or Location(""))._asdict()


def _member(node: object, step: str | int) -> object:
    if isinstance(node, list) and isinstance(step, int) and step < len(node):
        return node[step]
    return node.get(step) if isinstance(node, dict) else None


def diagnostic_json(entry: Diagnostic) -> dict[str, object]:
    """Return a diagnostic as JSON data; line and column are 0 if they are unknown."""
    data: dict[str, object] = {
        "code": entry.code,
        "severity": entry.severity.value,
        "message": entry.message,
        **location_json(entry.location),
    }
    if entry.excerpt:
        data["excerpt"] = list(entry.excerpt)
    if entry.fix and entry.fix.edits:
        names = ("line", "column", "endLine", "endColumn", "text")
        edits = [dict(zip(names, edit, strict=True)) for edit in entry.fix.edits]
        data["fix"] = {"title": entry.fix.title, "edits": edits}
    return data


def source_lines(entry: Diagnostic, line: str, layout: TextLayout) -> Iterator[str]:
    """Yield the source line of a diagnostic and its mark; nothing if unknown or with an excerpt."""
    place = entry.location
    has_lines = any(not one.startswith("note: ") for one in entry.excerpt)
    excerpt = excerpt_of(line, place.column) if place and not has_lines else None
    if place is None or excerpt is None:
        return
    shown, mark = excerpt_lines(excerpt, place.line, layout.width - 4)
    style = "error" if entry.severity is Severity.ERROR else "warn"
    yield f"    {layout.paint('dim', shown[0])}{shown[1]}"
    yield f"    {layout.paint('dim', mark[0])}{layout.paint(style, mark[1])}"


def diagnostic_text(entry: Diagnostic, width: int = 0) -> str:
    """Return a diagnostic on one line, escaped, with its excerpt below.

    It is wrapped to `width` (of the terminal); 0 means no wrapping, for programs.
    """
    lines = [safe_line(str(entry))]
    if 0 < width < len(lines[0]):
        lines = [*wrapped(str(entry), width, "    ", "")]
    return "\n".join((*lines, *(f"    {safe_line(line)}" for line in entry.excerpt)))


_LONGEST = 160
_UNLABELED = frozenset(
    {
        *(StepKind.MATCH, StepKind.EXCLUDE, StepKind.CONDITIONS, StepKind.BODY, StepKind.INDEX),
        *(StepKind.PATTERN, StepKind.CRITERION, StepKind.EXPRESSION, StepKind.FILTER),
        StepKind.CONCERN,
    }
)


def value_text(data: object) -> str:
    """Return a value as JSON on one line, or as `str` returns it; truncated if it is long."""
    text = json.dumps(whole_numbers(data), ensure_ascii=False, default=str)
    return truncated(text, _LONGEST)


def sentence(step: Step) -> str:
    """Return the inputs and the result of a step, on one line."""
    return " ".join(_parts(step))


def _parts(step: Step) -> Iterator[str]:
    if step.kind is StepKind.SIDE:
        yield f"{step.name}"
        if step.found is not None:
            yield f"= {value_text(step.found.data)}"
        if step.wanted is not None and step.found is not None and step.wanted != step.found:
            yield f"from {value_text(step.wanted.data)}"
    elif step.kind in {StepKind.CHANGE, StepKind.GENERATED}:
        yield f"{step.kind.value} {step.name}".strip()
    else:
        label = "" if step.kind in _UNLABELED else step.kind.value
        yield " ".join(filter(None, (label, step.name)))
        if step.text:
            yield step.text
        if step.kind is StepKind.LOOP and step.found is not None:
            yield f"({counted(len(step.found.data), 'element')})"
        else:
            yield from _compared(step)
    if step.note:
        yield f"({step.note})"


def _compared(step: Step) -> Iterator[str]:
    if step.kind in {StepKind.EXPRESSION, StepKind.VARIABLE}:
        if step.found is not None and step.answer is None:
            yield f"found {value_text(step.found.data)}"
    elif not step.steps:
        if step.wanted is not None:
            comma = "" if step.found is None else ","
            yield f"expected {value_text(step.wanted.data)}{comma}"
        if step.found is not None:
            yield f"found {value_text(step.found.data)}"


# Short reasons of failures with positions, which the text output of `apply` shows.
# They are derived from the steps of an explanation. The decisive step depends on its kind: the
# nearest one of alternatives, all conditions that held, each failed Pod security control.

_WITH_VALUES = frozenset({StepKind.SIDE, StepKind.EXPRESSION, StepKind.VARIABLE})


class FailureExplanation(NamedTuple):
    """One reason why a rule failed."""

    path: tuple[Step, ...]
    """The steps from the section of the rule to the decisive one; () if unknown."""
    start: str
    """A prefix of the text about the last step."""
    place: Location | None
    """The position of the decisive step in the policy."""
    seen_at: Location | None
    """The evaluated field of the manifest, or its nearest ancestor."""

    @property
    def text(self) -> str:
        """Expected and actual values; computed on demand, since most formats do not show them."""
        if not self.path:
            return ""
        # The elements of the enclosing loops come first.
        elements = []
        for step in self.path:
            if step.kind is StepKind.ELEMENT:
                value: object = step.found.data if step.found else None
                name = text_field(value, "name")
                called = f" `{name}`" if name else ""
                called = f" {value_text(value)}" if isinstance(value, str) else called
                elements.append(f"element {step.name}{called}: ")
        return f"{''.join(elements)}{self.start}{_words(self.path[-1])}"


Explain: TypeAlias = Callable[[EngineResponse, Row], tuple[FailureExplanation, ...]]
"""Returns the reasons for a rule's result, with positions; () if unknown.

It must be called while the response is the last one that was read.
"""


def reasons_of(
    rule: RuleExplanation,
    result: RuleResult,
    placed: Callable[[tuple[Step, ...]], tuple[Step, ...]],
) -> tuple[FailureExplanation, ...]:
    """Return the reasons for a result of a rule, in the order of evaluation.

    `placed` adds positions in the manifest to a path. Several reasons are returned only if they are
    shown individually. An error that the explanation did not reproduce, because its budget is
    smaller, has no reasons.
    """
    errs = result.status is RuleStatus.ERROR
    if errs and all(other.message != result.message for other in rule.results):
        return ()
    path = _path_to_image(rule.steps, result.message)
    if not path and len(rule.results) == 1:
        path = deciding(rule.steps)
    for number, step in enumerate(path):
        causes = [*_causes(step, path[:number])]
        if causes:
            before = path[:number]
            return tuple(_reason(placed((*before, *below)), start) for below, start in causes)
    return (_reason(placed(path), ""),) if path else ()


def _path_to_image(steps: Iterable[Step], message: str) -> tuple[Step, ...]:
    """Return the path to the image that a message is about; each image has a result."""
    for step in steps:
        if step.kind is StepKind.IMAGE and step.note == message:
            return (step,)
        below = _path_to_image(step.steps, message)
        if below:
            return (step, *below)
    return ()


def _causes(step: Step, around: tuple[Step, ...]) -> Iterator[tuple[tuple[Step, ...], str]]:
    """Yield the paths below a step that are reported separately or replace it, with prefixes."""
    evaluated = [inner for inner in step.steps if inner.answer is not None]
    if step.kind is StepKind.CONTROL:
        yield from (((step, inner), "") for inner in evaluated if inner.answer is False)
    elif step.kind is StepKind.CONDITIONS and step.answer is True:
        if any(outer.kind is StepKind.BODY for outer in around):  # which denies
            held = (inner for inner in evaluated if inner.answer is True)
            yield from (((step, one), "") for one in held if one.kind is StepKind.CONDITION)
    elif step.kind is StepKind.BODY or step.kind is StepKind.ELEMENT:
        every = alternatives(evaluated)
        chosen = nearest(every)
        if chosen is not None and len(every) > 1:
            start = f"closest of {counted(len(every), 'alternative')}, {chosen.name}: "
            yield (step, *deciding((chosen,))), start


def _reason(path: tuple[Step, ...], start: str) -> FailureExplanation:
    place, seen_at = places(path)
    last = path[-1]
    if last.kind is StepKind.CONTROL:
        seen_at = next((field.seen_at for field in last.steps if field.seen_at), seen_at)
    return FailureExplanation(path, start, place, seen_at)


def _words(step: Step) -> str:
    if step.answer is RuleStatus.ERROR:
        # The message of the result has the error, but not which value has a wrong type.
        mistyped = "no such overload" in step.note
        return ("; ".join(_operands(step)) if mistyped else "") or step.note
    if step.kind is StepKind.PATTERN:
        # The expected and actual values of a part of a pattern.
        expected = f"expected {value_text(step.wanted.data)}" if step.wanted else step.note
        if step.found is None:
            return f"no `{step.name}`; {expected}" if expected else f"no `{step.name}`"
        return f"found {value_text(step.found.data)}; {expected}"
    if step.kind is StepKind.CONDITION:
        return _condition_words(step)
    if step.kind is StepKind.CONTROL:
        fields = ", ".join(
            f"{field.name} is {value_text(field.found.data)}"
            if field.found
            else f"{field.name} ({field.note})"
            for field in step.steps
        )
        return f"{step.note or step.name}: {fields}" if fields else step.note or step.name
    if step.kind is StepKind.EXPRESSION:
        answer = "true" if step.answer else "false"
        return "; ".join((f"`{step.text.strip()}` is {answer}", *_operands(step)))
    if step.kind is StepKind.IMAGE:
        return step.name
    return "" if step.kind is StepKind.BODY else sentence(step)


def _condition_words(step: Step) -> str:
    sides = {side.name: value_text(side.found.data) for side in step.steps if side.found}
    compared = f"{step.name}: {sides.get('key', '?')} {step.text} {sides.get('value', '?')}"
    part = deciding_part(step)
    if not part or part.path is not None:
        return compared  # the position already shows a part that only selects a field
    actual = value_text(part.found.data) if part.found else part.note
    return "; ".join((compared, f"`{part.text}` is {actual}", *_operands(part)))


def _operands(step: Step) -> Iterator[str]:
    for operand in step.steps:
        if operand.kind in _WITH_VALUES and operand.answer is None and operand.found is not None:
            yield f"`{(operand.text or operand.name).strip()}` is {value_text(operand.found.data)}"


def failure_reasons(
    row: Row, response: EngineResponse, explain: Explain
) -> tuple[ReportedReason, ...]:
    """Return why a result failed; at least the position of its rule."""
    document = response.document
    reasons = explain(response, row)
    at = failed_place(document, row.result.path)
    if not reasons:
        reasons = (FailureExplanation((), "", None, at),)
    elif at is not None and len(reasons) == 1:
        # The result names the field, and formats without explanations report that position.
        reasons = (reasons[0]._replace(seen_at=at),)
    reported_reasons = []
    for reason in reasons:
        text, seen_at = reason.text, reason.seen_at
        text = "" if text in row.result.message else text
        reported = ReportedReason(text, reason.place or rule_place(row))
        if document is not None and seen_at is not None and seen_at != document.locate(()):
            excerpt = None
            if seen_at.line:
                first, last = window_of(seen_at.column)
                line = document.line(seen_at.line, first, last)
                excerpt = excerpt_of(line, seen_at.column - first)
            reported = reported._replace(seen_at=seen_at, excerpt=excerpt)
        reported_reasons.append(reported)
    return tuple(reported_reasons)


def explained_place(row: Row, response: EngineResponse, explain: Explain) -> Location | None:
    """Return the first position of `failure_reasons`, without computing their texts."""
    document = response.document
    if document is None:
        return None
    whole = document.locate(())
    places = (reason.seen_at for reason in explain(response, row))
    return next((place for place in places if place is not None and place != whole), None)


def reason_lines(reasons: Iterable[ReportedReason], layout: TextLayout) -> Iterator[str]:
    """Yield the lines on positions in the manifest with values, then the rules' positions."""
    reasons = tuple(reasons)
    for (seen_at, excerpt), reasons_there in groupby(
        reasons, lambda reason: (reason.seen_at, reason.excerpt)
    ):
        texts = [reason.text for reason in reasons_there if reason.text]
        yield from _seen(seen_at, excerpt, texts, layout)
    for place in dict.fromkeys(reason.place for reason in reasons):
        shown = layout.paint("dim", f"rule: {safe_line(str(place))}")
        yield f"{INDENT}{layout.linked(shown, str(place))}\n"


def _seen(
    place: Location | None, excerpt: Excerpt | None, texts: list[str], layout: TextLayout
) -> Iterator[str]:
    if place:
        shown = layout.paint("place", safe_line(str(place)))
        yield f"{INDENT}{layout.linked(shown, str(place))}\n"
    if place and excerpt:
        width = layout.width - len(INDENT)
        (gutter, source), (blank, mark) = excerpt_lines(excerpt, place.line, width)
        yield f"{INDENT}{layout.paint('dim', gutter)}{source}\n"
        start = f"{INDENT}{layout.paint('dim', blank)}{layout.paint('fail', mark)}"
        length = len(INDENT) + len(blank) + len(mark)
        if len(texts) == 1 and length + 1 + len(safe_line(texts[0])) <= layout.width:
            yield f"{start} {safe_line(texts[0])}\n"
            return
        yield f"{start}\n"
    for text in texts:
        yield from (f"{line}\n" for line in wrapped(text, layout.width, f"{INDENT}  ", INDENT))
