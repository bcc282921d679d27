"""Results of the text view: how each is rendered, and equal ones grouped and counted."""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, Protocol

from kyvsim.model.result import BaselineState, EngineResponse
from kyvsim.report.diagnostics import reason_lines
from kyvsim.report.finding import finding_of
from kyvsim.report.results import NO_RESULT, QUIET, Row, cached_by_rule, row_title
from kyvsim.report.run import Run
from kyvsim.report.style import INDENT, TextLayout, counted, justified, safe_line, wrapped


class RenderedResult(NamedTuple):
    """What is reported about a result or a change."""

    word: str
    """A status, `edit` or `new`."""
    name: str
    """The rule, or the object that was changed or created."""
    size: str = ""
    """Text at the end of the line with the name."""
    text: str = ""
    """Lines that equal results share."""
    message: str = ""
    """Lines that replace `text`: Kyverno's message can name a path or an image."""
    places: str = ""
    """Lines that are only about this object."""


class RenderRow(Protocol):
    """Renders a result of a response."""

    def __call__(self, row: Row, response: EngineResponse, *, whole: bool) -> RenderedResult:
        """Return the result; with only its name where it is not shown as a whole."""


def headline(word: str, name: str, right: str, layout: TextLayout) -> str:
    """Return the line with a word, a name, and what is at its end."""
    shown = f"{word:<4}"
    lines = [*wrapped(name, layout.width, INDENT, f"  {shown}  ")]
    start, end = justified(lines[-1], right, layout.width)
    shown_name = "\n".join((*lines[:-1], start))
    painted = shown_name.replace(shown, layout.paint(word.lower(), shown), 1)
    return f"{painted}{layout.paint('dim', end)}\n"


def compile_row_renderer(run: Run, layout: TextLayout) -> RenderRow:
    """Return a function that renders a result, with its reasons, or only its name."""
    title = cached_by_rule(row_title)

    def render_row(row: Row, response: EngineResponse, *, whole: bool) -> RenderedResult:
        rendered = RenderedResult(word_of(row.status), title(row))
        if not whole:
            return rendered
        result = row.result
        rendered = with_message(rendered, (result.own, result.message, result.note), layout)
        if row.status in QUIET or row.result.baseline is BaselineState.UNCHANGED:
            return rendered

        finding = finding_of(row, response, run.explain, with_reasons=True)
        return rendered._replace(places="".join(reason_lines(finding.reasons, layout)))

    return render_row


def word_of(status: str) -> str:
    """Return the word for a status, in capitals if it needs attention."""
    return status if status in QUIET | {NO_RESULT} else status.upper()


def with_message(
    rendered: RenderedResult, texts: tuple[str, str, str], layout: TextLayout
) -> RenderedResult:
    """Return the result with its texts: the policy's own message, the whole message, a note."""
    own, message, note = texts
    text, whole = (
        "".join(f"{line}\n" for text in shown if text for line in wrapped(text, layout.width))
        for shown in ((own or message, note), (message, note))
    )
    return rendered._replace(text=text, message=whole if whole != text else "")


# Equal results are shown once and counted: the first one in full, the others by number.
#
# A run may have any number of objects, so what is stored is bounded: a number of wordings for each
# rule, and of examples for each wording. Parts of a run are rendered by several processes. Each
# leaves out what it has already rendered itself, and the process that joins them leaves out the
# rest. The result is that of a single process: the first result of a wording in the whole run is
# also the first of its part. The same holds for examples: once a part has enough of them, further
# objects are counted there, and only the number is passed on.

_MOST_WORDINGS: Final = 10
"""So many wordings of one rule are shown; results with other wordings are only counted."""
_MOST_EXAMPLES: Final = 5
_LONG: Final = 1000
"""Wordings of more characters are known by a digest."""


class ResultKey(NamedTuple):
    """What equal results have in common; "" for a result that is always shown."""

    rule: str
    wording: str = ""


@lru_cache(maxsize=4096)
def result_key(rule: str, rendered: str) -> ResultKey:
    """Return the key of a result or a change, from its rule and its text."""
    if len(rendered) <= _LONG:
        return ResultKey(rule, rendered)
    from hashlib import blake2b  # noqa: PLC0415 — loads OpenSSL, which few runs need

    digest = blake2b(rendered.encode("utf-8", "surrogatepass"), digest_size=8)
    return ResultKey(rule, digest.hexdigest())


def key_of_result(
    rule: tuple[str, ...], rendered: Iterable[str], names: Iterable[str]
) -> ResultKey:
    """Return the key of a result: `rule` with status, and texts without names of the object."""
    text = "\n".join(rendered)
    for name in names:
        if name and name in text:
            text = text.replace(name, "…")
    return result_key(" ".join(rule), text)


class GroupedResult(NamedTuple):
    """A result or a change of one object."""

    kind: ResultKey
    rendered: RenderedResult
    is_whole: bool = True
    """Whether it is complete: not where its part of the run has rendered an equal one."""


class ObjectBlock(NamedTuple):
    """What is shown of one object."""

    title: str
    place: str
    items: Sequence[GroupedResult]
    edited: int = 0
    """Objects that were changed."""
    created: int = 0


class CountedResults(NamedTuple):
    """How many objects have a result of which a part has rendered enough examples."""

    kind: ResultKey
    number: int


class ChunkGroups:
    """Counts the results of a part of a run that are not rendered."""

    def __init__(self) -> None:
        self._examples: dict[ResultKey, int] = {}
        self._numbers: dict[ResultKey, int] = {}

    def counts(self, kinds: Sequence[ResultKey]) -> bool:
        """Count an object whose results were all rendered for others, or return False.

        Until there are enough examples of each: joining the parts may need this one.
        """
        examples = self._examples
        if all(examples.get(kind, 0) >= _MOST_EXAMPLES for kind in kinds):
            for kind in kinds:
                self._numbers[kind] = self._numbers.get(kind, 0) + 1
            return True
        for kind in kinds:
            examples[kind] = examples.get(kind, 0) + 1
        return False

    def taken(self) -> Iterator[CountedResults]:
        """Yield the counts since the last call."""
        counted, self._numbers = self._numbers, {}
        return map(CountedResults, counted, counted.values())


class SeenResults:
    """The wordings that were reported."""

    def __init__(self) -> None:
        self._rules: dict[str, set[str]] = {}

    def is_new(self, kind: ResultKey) -> bool:
        """Return whether a result is the first of its kind, and remember it."""
        if not kind.rule:
            return True
        known = self._rules.setdefault(kind.rule, set())
        if kind.wording in known or len(known) >= _MOST_WORDINGS:
            return False
        known.add(kind.wording)
        return True


class _ResultGroup:
    """Results that are alike, but for the first."""

    __slots__ = ("count", "examples", "rendered")

    def __init__(self, rendered: RenderedResult) -> None:
        self.rendered = rendered
        self.count = 0
        self.examples: list[tuple[str, str]] = []


class ResultGroups:
    """Renders the objects of a run in order, and at the end the results that were only counted."""

    def __init__(self, layout: TextLayout) -> None:
        self._layout = layout
        self._seen = SeenResults()
        self._groups: dict[ResultKey, _ResultGroup] = {}
        self._others: dict[str, _ResultGroup] = {}
        self.edited = 0
        self.created = 0

    def add(self, block: ObjectBlock) -> str:
        """Return the text of an object, "" where all of it was shown for others."""
        self.edited += block.edited
        self.created += block.created
        texts = []
        for kind, rendered, is_whole in block.items:
            if not self._seen.is_new(kind) or not is_whole:
                texts.append("")
                continue
            if kind.rule:
                self._groups[kind] = _ResultGroup(rendered._replace(message="", places=""))
            head = self._head(rendered, rendered.size)
            texts.append(f"{head}{rendered.message or rendered.text}{rendered.places}")
        if any(texts):
            shown = (
                text or self._head(item.rendered, "(as above)")
                for item, text in zip(block.items, texts, strict=True)
            )
            paint, width = self._layout.paint, self._layout.width
            left, right = justified(safe_line(block.title), safe_line(block.place), width)
            return f"{paint('title', left)}{paint('dim', right)}\n{''.join(shown)}\n"
        for item in block.items:
            group = self._group_of(item.kind)
            group.count += 1
            if len(group.examples) < _MOST_EXAMPLES:
                group.examples.append((block.title, block.place))
        return ""

    def counts(self, kinds: Sequence[ResultKey]) -> bool:
        """Count an object of which only the name would be shown; return whether it is one.

        All its results were shown for others, and there are enough examples.
        """
        known = [self._groups.get(kind) or self._others.get(kind.rule) for kind in kinds]
        groups = [group for group in known if group and len(group.examples) >= _MOST_EXAMPLES]
        if len(groups) < len(kinds):
            return False
        for group in groups:
            group.count += 1
        return True

    def take(self, part: "ObjectBlock | CountedResults") -> str:
        """Return the text of an object from a part, as `add` does; or add a count."""
        if isinstance(part, ObjectBlock):
            return self.add(part)
        self._group_of(part.kind).count += part.number
        return ""

    def _head(self, rendered: RenderedResult, end: str) -> str:
        return headline(rendered.word, rendered.name, end, self._layout) if rendered.word else ""

    def _group_of(self, kind: ResultKey) -> _ResultGroup:
        """Return the group of a result that was not shown in full."""
        found = self._groups.get(kind) or self._others.get(kind.rule)
        if found is None:
            first = next(group for known, group in self._groups.items() if known.rule == kind.rule)
            rendered = first.rendered._replace(text="", message="")
            found = self._others[kind.rule] = _ResultGroup(rendered)
        return found

    def lines(self) -> Iterator[str]:
        """Yield what was only counted."""
        groups = [(group, "same finding on") for group in self._groups.values() if group.count]
        others = self._others.values()
        groups += [(group, "with a different message on") for group in others if group.count]
        if not groups:
            return
        paint = self._layout.paint
        yield f"{paint('title', 'Same findings on more objects')}\n"
        for group, how in groups:
            yield self._head(group.rendered, group.rendered.size)
            yield group.rendered.text
            yield f"{INDENT}{how} {counted(group.count, 'more object')}:\n"
            for title, place in group.examples:
                name = f"{INDENT}  {safe_line(title)}"
                left, right = justified(name, safe_line(place), self._layout.width, f"{INDENT}    ")
                yield f"{left}{paint('dim', right)}\n"
            left_out = group.count - len(group.examples)
            if left_out:
                rendered = f"… {counted(left_out, 'more object')} (--show all)"
                yield f"{INDENT}  {paint('dim', rendered)}\n"
        yield "\n"

    def sizes(self) -> Iterator[str]:
        """Yield how many objects were changed and created."""
        counts = ((self.edited, "mutated"), (self.created, "generated"))
        sizes = ", ".join(f"{number} {what}" for number, what in counts if number)
        if sizes:
            them = "it" if self.edited + self.created == 1 else "them"
            end = f"{sizes} (--show objects prints {them})"
            yield f"{self._layout.paint('title', 'objects')}: {end}\n"


_APART: Final = "\x1e"
"""Separates a block from its items; JSON never contains it."""


def to_line(part: ObjectBlock | CountedResults) -> str:
    """Return an object or a count of a part as a line, which another process reads."""
    if isinstance(part, CountedResults):
        return f"{json.dumps(part)}\n"
    title, place, items, edited, created = part
    head = json.dumps((title, place, edited, created))
    return f"{_APART.join((head, *map(_item_text, items)))}\n"


@lru_cache(maxsize=1024)
def _item_text(item: GroupedResult) -> str:
    return json.dumps(item)


def from_lines(pieces: Iterable[str]) -> Iterator[ObjectBlock | CountedResults]:
    """Yield what the lines of a text hold, which comes in pieces."""
    rest = ""
    for piece in pieces:
        *lines, rest = f"{rest}{piece}".split("\n")
        for line in lines:
            head, *items = line.split(_APART)
            if items:
                title, place, edited, created = json.loads(head)
                yield ObjectBlock(title, place, [*map(_read_item, items)], edited, created)
            else:
                kind, number = json.loads(head)
                yield CountedResults(ResultKey(*kind), number)


@lru_cache(maxsize=1024)
def _read_item(text: str) -> GroupedResult:
    kind, rendered, is_whole = json.loads(text)
    return GroupedResult(ResultKey(*kind), RenderedResult(*rendered), is_whole)
