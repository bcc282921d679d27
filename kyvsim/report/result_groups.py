"""Results in groups: equal ones are shown once, with a bounded number of positions.

Parts of a run group their results by themselves, and the groups are joined afterwards.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from kyvsim.model.result import RuleStatus
from kyvsim.report.results import (
    NO_RESULT,
    QUIET,
    digest,
)
from kyvsim.report.run import complete_lines
from kyvsim.report.style import (
    INDENT,
    TextLayout,
    counted,
    headline,
    placed_line,
    wrapped,
)
from kyvsim.report.text_blocks import (
    KnownTarget,
    PendingReference,
    ReferenceIndex,
    read_related,
    reference_text,
)


class RenderedResult(NamedTuple):
    """What is reported about a result or a change."""

    word: str
    """A status, `edit` or `new`."""
    name: str
    """The rule, or the changed or created object."""
    size: str = ""
    """Text at the end of the line with the name."""
    text: str = ""
    """Lines that equal results share."""
    message: str = ""
    """Lines that replace `text`: Kyverno's message can name a path or an image."""
    places: str = ""
    """Lines about this object only."""


def word_of(status: str) -> str:
    """Return the word for a status, in capitals if it needs attention."""
    return status if status in QUIET | {NO_RESULT} else status.upper()


def with_message(
    rendered: RenderedResult, texts: tuple[str, str, str], layout: TextLayout
) -> RenderedResult:
    """Return the result with its texts: the policy's own message, the full message, a note."""
    own, message, note = texts
    text, whole = (
        "".join(f"{line}\n" for text in shown if text for line in wrapped(text, layout.width))
        for shown in ((own or message, note), (message, note))
    )
    return rendered._replace(text=text, message=whole if whole != text else "")


# Equal results are grouped: up to three are shown in full, of more only the first one, with the
# positions of some others.
#
# A run may have any number of objects, so what is stored is bounded: a number of wordings for each
# rule, of results in full for each wording, and of positions. Parts of a run are rendered by
# several processes. Each renders the first results of a wording that it meets in full, and later
# ones by name; enough positions are rendered, further objects are only counted. The process that
# joins the parts decides what is shown. The output is that of a single process: the first results
# of a wording in the whole run are also among the first of their part.

_MOST_WORDINGS: Final = 10
"""Number of wordings of one rule that are shown; results with other wordings are only counted."""
_MOST_CAUSES: Final = 50
"""The same for causes of errors, which are independent of rules."""
_MOST_WHOLE: Final = 3
"""Number of equal results that are shown in full; of more, only the first one."""
_MOST_LISTED: Final = 10
_MOST_KEPT: Final = _MOST_LISTED + 1
"""A single further position takes no more lines than its number, so it is listed, too."""
"""Number of further equal results that are listed."""
_LONG: Final = 1000
"""Longer wordings, in characters, are identified by a digest."""


class ResultKey(NamedTuple):
    """What equal results have in common; "" for a result that is always shown."""

    rule: str
    wording: str = ""


_ERROR_CAUSE: Final = "cause"
"""The `rule` of the keys of errors with a known cause."""
_QUOTED: Final = re.compile(r'"[^"]*"|`[^`]*`')
_OFFLINE: Final = "kyvsim is offline: "
_AUTOGEN: Final = re.compile(r" / autogen-(?:cronjob-)?")
"""An autogen rule has the findings of its source rule, on Pod controllers."""


@lru_cache(maxsize=4096)
def result_key(rule: str, rendered: str) -> ResultKey:
    """Return the key of a result or a change, from its rule and its text."""
    if len(rendered) <= _LONG:
        return ResultKey(rule, rendered)
    return ResultKey(rule, digest(rendered.encode("utf-8", "surrogatepass"))[:16])


def key_of_result(rule: tuple[str, ...], texts: tuple[str, str], names: Iterable[str]) -> ResultKey:
    """Return the key of a result from `rule`, which begins with its status, message and note.

    Names of the object are not part of it. Errors about missing input are grouped by what is
    missing, whatever rule reads it, so that the remedy is shown once.
    """
    message, note = texts
    cause = note or message.partition(_OFFLINE)[2] if rule[0] == RuleStatus.ERROR.value else ""
    text = cause or f"{message}\n{note}"
    for name in names:
        if name and name in text:
            text = text.replace(name, "…")
    if cause:
        return result_key(_ERROR_CAUSE, _QUOTED.sub("…", text))
    return result_key(_AUTOGEN.sub(" / ", " ".join(rule)), text)


class GroupedResult(NamedTuple):
    """A result or a change of one object."""

    kind: ResultKey
    rendered: RenderedResult
    is_whole: bool = True
    """Whether the text is complete; False if this part of the run has rendered equal ones."""


class ObjectBlock(NamedTuple):
    """The rendered results and changes of one object."""

    title: str
    place: str
    items: Sequence[GroupedResult]
    edited: int = 0
    """Number of changed objects."""
    created: int = 0


class CountedResults(NamedTuple):
    """Number of further objects with a result of which a part has rendered enough positions."""

    kind: ResultKey
    number: int


class ChunkGroups:
    """Counts the results of a part of a run that are not rendered."""

    def __init__(self) -> None:
        self.edited = 0
        self.created = 0
        self._examples: dict[ResultKey, int] = {}
        self._numbers: dict[ResultKey, int] = {}

    def counts(self, kinds: Sequence[ResultKey]) -> bool:
        """Count an object whose results were all rendered for others, or return False.

        An object is rendered while there are too few positions: joining the parts may need it.
        """
        examples = self._examples
        if all(examples.get(kind, 0) > _MOST_KEPT for kind in kinds):
            for kind in kinds:
                self._numbers[kind] = self._numbers.get(kind, 0) + 1
            return True
        for kind in kinds:
            examples[kind] = examples.get(kind, 0) + 1
        return False

    def counts_block(self, block: ObjectBlock) -> bool:
        """Count an object of which only names would be rendered, with its changes, or return False.

        Its kinds are in an earlier line of the part, so the whole run knows them.
        """
        kinds = [item.kind for item in block.items]
        if any(item.is_whole for item in block.items) or not self.counts(kinds):
            return False
        self.edited += block.edited
        self.created += block.created
        return True

    def taken(self) -> Iterator["CountedResults | ObjectBlock"]:
        """Yield the counts since the last call."""
        counted, self._numbers = self._numbers, {}
        yield from map(CountedResults, counted, counted.values())
        if self.edited or self.created:
            yield ObjectBlock("", "", (), self.edited, self.created)
            self.edited = self.created = 0


class SeenResults:
    """How often each wording was rendered in full."""

    def __init__(self) -> None:
        self._rules: dict[str, dict[str, int]] = {}

    def takes(self, kind: ResultKey) -> bool:
        """Return whether a result is one of the first of its kind, and count it."""
        if not kind.rule:
            return True
        known = self._rules.setdefault(kind.rule, {})
        most = _MOST_CAUSES if kind.rule == _ERROR_CAUSE else _MOST_WORDINGS
        number = known.get(kind.wording, 0)
        if number >= _MOST_WHOLE or not (number or len(known) < most):
            return False
        known[kind.wording] = number + 1
        return True

    def knows(self, kind: ResultKey) -> bool:
        """Return whether a result of this kind was rendered in full."""
        return kind.wording in self._rules.get(kind.rule, ())


class _ResultGroup:
    """Equal results; or those of a rule with further wordings, of which none is shown in full."""

    def __init__(self, first: RenderedResult) -> None:
        self.first, self.count = first, 0
        self.members: list[tuple[str, str, str]] = []
        """Title, position and rule of the first ones."""

    def add(self, block: ObjectBlock, name: str) -> None:
        """Count a result of an object."""
        self.count += 1
        if len(self.members) <= _MOST_KEPT:
            self.members.append((block.title, block.place, name))


class _InFull(NamedTuple):
    """A result that is shown in full, unless it is a later one of a large group."""

    group: _ResultGroup
    kind: ResultKey
    rendered: RenderedResult
    is_first: bool


class _ObjectInFull(NamedTuple):
    title: str
    place: str
    items: Sequence[_InFull]
    needs: Sequence[PendingReference]


class _Room:
    """The room that is left for results, or for changes."""

    def __init__(self, lines: float) -> None:
        self._findings, self._lines = _MOST_FINDINGS, lines
        self.represented = 0
        """Number of results that are shown or listed."""

    def takes(self, text: str, number: int) -> bool:
        """Return whether a text about a number of results is shown; the first one always is."""
        lines = text.count("\n")
        if not self._findings or (self.represented and lines > self._lines):
            self._findings = 0  # later ones are not shown, even if they would fit
            return False
        self._findings -= 1
        self._lines -= lines
        self.represented += number
        return True


_MOST_FINDINGS: Final = 50
"""Number of results that are shown, and of changes."""
_MOST_SHOWN_LINES: Final = 200
"""Number of lines for them; the first one is always shown."""
_CHANGES: Final = frozenset({"edit", "new"})


class ResultGroups:
    """Collects the results of a run in groups, and renders a limited number of them at the end."""

    def __init__(self, layout: TextLayout, references: ReferenceIndex) -> None:
        self._layout = layout
        self._references = references
        self._numbers: dict[str, int] = {}
        """Number of wordings of each rule."""
        self._groups: dict[ResultKey, _ResultGroup] = {}
        self._others: dict[str, _ResultGroup] = {}
        self._objects: list[_ObjectInFull] = []
        self._unresolved: list[PendingReference] = []
        """References of objects that are not shown in full."""
        self._single: dict[bool, int] = {}
        """Number of results and of changes that are in no group."""
        self.edited = 0
        self.created = 0

    def add(self, block: ObjectBlock, needs: Sequence[PendingReference] = ()) -> None:
        """Add an object with the references that a mutation added."""
        self.edited += block.edited
        self.created += block.created
        shown = []
        for kind, rendered, is_whole in block.items:
            group = self._group_of(kind, rendered)
            group.add(block, rendered.name)
            if is_whole and kind in self._groups and group.count <= _MOST_WHOLE:
                shown.append(_InFull(group, kind, rendered, group.count == 1))
            elif not kind.rule:
                is_change = rendered.word in _CHANGES
                number = self._single[is_change] = self._single.get(is_change, 0) + 1
                if number <= _MOST_FINDINGS:
                    shown.append(_InFull(group, kind, rendered, group.count == 1))
        if shown:
            self._objects.append(_ObjectInFull(block.title, block.place, shown, needs))
        else:
            self._unresolved += [need for need in needs if not self._references.met_by(need)]

    def counts(self, kinds: Sequence[ResultKey]) -> bool:
        """Count an object of which only the name would be shown; return whether it was counted.

        This is so if all its results were shown for others and there are enough positions.
        """
        known = [self._groups.get(kind) or self._others.get(kind.rule) for kind in kinds]
        groups = [group for group in known if group and group.count > _MOST_KEPT]
        if len(groups) < len(kinds):
            return False
        for group in groups:
            group.count += 1
        return True

    def take(self, part: CountedResults) -> None:
        """Add the number of objects that a part has only counted."""
        group = self._groups.get(part.kind) or self._others[part.kind.rule]
        group.count += part.number

    def _group_of(self, kind: ResultKey, rendered: RenderedResult) -> _ResultGroup:
        if not kind.rule:
            return _ResultGroup(rendered)
        found = self._groups.get(kind) or self._others.get(kind.rule)
        if found is not None:
            return found
        number = self._numbers[kind.rule] = self._numbers.get(kind.rule, 0) + 1
        most = _MOST_CAUSES if kind.rule == _ERROR_CAUSE else _MOST_WORDINGS
        if number <= most:
            found = self._groups[kind] = _ResultGroup(rendered)
        else:
            found = self._others[kind.rule] = _ResultGroup(
                rendered._replace(text="", message="", places="")
            )
        return found

    def lines(self) -> Iterator[str]:
        """Yield the text of the objects, then how many results and changes are not shown."""
        layout = self._layout
        rooms = {
            False: _Room(_MOST_SHOWN_LINES),
            True: _Room(math.inf if layout.options.diff else _MOST_SHOWN_LINES),
        }
        for obj in self._objects:
            texts = []
            for group, kind, rendered, is_first in obj.items:
                is_grouped = group.count > _MOST_WHOLE or kind.rule in self._others
                if is_grouped and not is_first:
                    continue
                text = result_text(rendered, layout)
                if is_grouped:
                    is_cause = kind.rule == _ERROR_CAUSE
                    what = "change" if rendered.word in _CHANGES else "finding"
                    how = ("same cause in", "result") if is_cause else (f"same {what} on", "object")
                    text += self._listed(group, how, 1, with_rules=is_cause)
                number = group.count if is_grouped else 1
                if rooms[rendered.word in _CHANGES].takes(text, number):
                    texts.append(text)
            if texts:
                needs = (
                    reference_text(need, self._references.met_by(need), layout)
                    for need in obj.needs
                )
                head = placed_line(obj.title, obj.place, layout, style="title")
                yield "".join((head, *texts, *needs, "\n"))
            else:
                self._unresolved += obj.needs
        yield from self._other_messages(rooms)
        left = ((self._total(change=False), "finding"), (self._total(change=True), "change"))
        more = [
            f"{number - room.represented:,} more {what}{'s' * (number - room.represented != 1)}"
            for (number, what), room in zip(left, rooms.values(), strict=True)
            if number > room.represented
        ]
        if more:
            yield f"… {' and '.join(more)} (--show all, --output-format html=report.html)\n\n"
        yield from self._unresolved_references()

    def _other_messages(self, rooms: Mapping[bool, _Room]) -> Iterator[str]:
        texts = []
        for group in self._others.values():
            text = result_text(group.first, self._layout)
            text += self._listed(group, ("with a different message on", "object"), 0)
            if rooms[group.first.word in _CHANGES].takes(text, group.count):
                texts.append(text)
        if texts:
            yield f"{self._layout.paint('title', 'Findings with further messages')}\n"
            yield from texts
            yield "\n"

    def _listed(
        self, group: _ResultGroup, words: tuple[str, str], shown: int, *, with_rules: bool = False
    ) -> str:
        """Return the lines with the positions of a group, without those that are shown."""
        how, what = words
        number = group.count - shown
        if not number:
            return ""
        lines = [f"{INDENT}{how} {counted(number, f'more {what}')}:\n"]
        room = _MOST_KEPT if number == _MOST_KEPT else _MOST_LISTED
        for about, place, rule in group.members[shown : shown + room]:
            named = f"{about} ({rule})" if with_rules and rule != group.first.name else about
            lines.append(placed_line(f"{INDENT}  {named}", place, self._layout, f"{INDENT}    "))
        if number > room:
            rest = f"… {counted(number - room, f'more {what}')} (--show all)"
            lines.append(f"{INDENT}  {self._layout.paint('dim', rest)}\n")
        return "".join(lines)

    def _total(self, *, change: bool) -> int:
        groups = (*self._groups.values(), *self._others.values())
        total = sum(group.count for group in groups if (group.first.word in _CHANGES) is change)
        return total + self._single.get(change, 0)

    def _unresolved_references(self) -> Iterator[str]:
        """Yield the lines about references of objects that are not shown and that nothing meets."""
        unresolved = [need for need in self._unresolved if not self._references.met_by(need)]
        if unresolved:
            yield f"{self._layout.paint('title', 'Injected references of further objects')}\n"
            for need in unresolved[:_MOST_FINDINGS]:
                yield reference_text(need, None, self._layout, owner=True)
            left = len(unresolved) - _MOST_FINDINGS
            yield f"  … {counted(left, 'more reference')} (--show all)\n\n" if left > 0 else "\n"

    def sizes(self) -> Iterator[str]:
        """Yield how many objects were changed and created."""
        counts = ((self.edited, "mutated"), (self.created, "generated"))
        sizes = ", ".join(f"{number} {what}" for number, what in counts if number)
        if sizes:
            them = "it" if self.edited + self.created == 1 else "them"
            end = f"{sizes} (--show objects prints {them})"
            yield f"{self._layout.paint('title', 'objects')}: {end}\n"


def result_text(rendered: RenderedResult, layout: TextLayout, end: str | None = None) -> str:
    """Return the text of a result or a change; `end` replaces the text at the end of its head."""
    head = ""
    if rendered.word:
        head = headline(rendered.word, rendered.name, rendered.size if end is None else end, layout)
    return f"{head}{rendered.message or rendered.text}{rendered.places}"


ITEM_SEPARATOR: Final = "\x1e"
"""Separates a block from its items; JSON never contains it."""
RELATED_LINE: Final = "\x1f"
"""The start of a line with targets and references."""


def to_line(part: ObjectBlock | CountedResults) -> str:
    """Return an object or a count of a part as one line, which another process reads."""
    if isinstance(part, CountedResults):
        return f"{json.dumps(part)}\n"
    title, place, items, edited, created = part
    head = json.dumps((title, place, edited, created))
    return f"{ITEM_SEPARATOR.join((head, *map(_item_text, items)))}\n"


@lru_cache(maxsize=1024)
def _item_text(item: GroupedResult) -> str:
    return json.dumps(item)


_Part: TypeAlias = ObjectBlock | CountedResults | tuple[list[KnownTarget], list[PendingReference]]


def from_lines(pieces: Iterable[str]) -> Iterator[_Part]:
    """Yield what is in the lines of a text that is read in pieces.

    References come before the object to which a mutation added them.
    """
    for line in complete_lines(pieces):
        if line.startswith(RELATED_LINE):
            yield read_related(line.removeprefix(RELATED_LINE))
            continue
        head, *items = line.split(ITEM_SEPARATOR)
        match json.loads(head):
            case [title, place, edited, created]:
                yield ObjectBlock(title, place, [*map(_read_item, items)], edited, created)
            case [kind, number]:
                yield CountedResults(ResultKey(*kind), number)


@lru_cache(maxsize=1024)
def _read_item(text: str) -> GroupedResult:
    kind, rendered, is_whole = json.loads(text)
    return GroupedResult(ResultKey(*kind), RenderedResult(*rendered), is_whole)
