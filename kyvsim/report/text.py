"""The text view of `apply`: what failed and why, what changed, which rules failed how often."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import object_key
from kyvsim.model.policy import Rule
from kyvsim.model.result import BaselineState, EngineResponse, RuleResult, RuleStatus
from kyvsim.report.diagnostics import reason_lines, resource_place
from kyvsim.report.finding import finding_of
from kyvsim.report.object_text import Marked, changed_yaml, hunks, marked_yaml, yaml_lines
from kyvsim.report.results import (
    NO_RESULT,
    QUIET,
    Row,
    Summary,
    cached_by_rule,
    compile_rows,
    generated,
    has_changes,
    mutations,
    patched_targets,
    row_title,
    rule_title,
    severity_of,
    short_title,
    silent_rows,
    title,
)
from kyvsim.report.run import Lists, Run, StreamingDocument, complete_lines, counts_line
from kyvsim.report.style import (
    INDENT,
    MARK_STYLES,
    RenderOptions,
    Show,
    TextLayout,
    counted,
    headline,
    layout_of,
    painter,
    placed_line,
    safe_line,
    truncated,
    wrapped,
)
from kyvsim.report.text_blocks import (
    OPTIONAL,
    UNRESOLVED,
    DeferredOutput,
    KnownTarget,
    OutputPiece,
    PendingReference,
    ReferenceIndex,
    RelatedObjects,
    header,
    known_targets,
    object_blocks,
    pending_references,
    read_related,
    reference_line,
    reference_subject,
    related_line,
    repeat_blocks,
    resource_block,
    verdict_block,
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
    from hashlib import blake2b  # noqa: PLC0415 — loads OpenSSL, which few runs need

    digest = blake2b(rendered.encode("utf-8", "surrogatepass"), digest_size=8)
    return ResultKey(rule, digest.hexdigest())


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
        if all(examples.get(kind, 0) > _MOST_LISTED for kind in kinds):
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
        if len(self.members) <= _MOST_LISTED:
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
        groups = [group for group in known if group and group.count > _MOST_LISTED]
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
        for about, place, rule in group.members[shown : shown + _MOST_LISTED]:
            named = f"{about} ({rule})" if with_rules and rule != group.first.name else about
            lines.append(placed_line(f"{INDENT}  {named}", place, self._layout, f"{INDENT}    "))
        if number > _MOST_LISTED:
            rest = f"… {counted(number - _MOST_LISTED, f'more {what}')} (--show all)"
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


_APART: Final = "\x1e"
"""Separates a block from its items; JSON never contains it."""
_RELATED: Final = "\x1f"
"""The start of a line with targets and references."""


def to_line(part: ObjectBlock | CountedResults) -> str:
    """Return an object or a count of a part as one line, which another process reads."""
    if isinstance(part, CountedResults):
        return f"{json.dumps(part)}\n"
    title, place, items, edited, created = part
    head = json.dumps((title, place, edited, created))
    return f"{_APART.join((head, *map(_item_text, items)))}\n"


@lru_cache(maxsize=1024)
def _item_text(item: GroupedResult) -> str:
    return json.dumps(item)


_Part: TypeAlias = ObjectBlock | CountedResults | tuple[list[KnownTarget], list[PendingReference]]


def from_lines(pieces: Iterable[str]) -> Iterator[_Part]:
    """Yield what is in the lines of a text that is read in pieces.

    References come before the object to which a mutation added them.
    """
    for line in complete_lines(pieces):
        if line.startswith(_RELATED):
            yield read_related(line.removeprefix(_RELATED))
            continue
        head, *items = line.split(_APART)
        match json.loads(head):
            case [title, place, edited, created]:
                yield ObjectBlock(title, place, [*map(_read_item, items)], edited, created)
            case [kind, number]:
                yield CountedResults(ResultKey(*kind), number)


@lru_cache(maxsize=1024)
def _read_item(text: str) -> GroupedResult:
    kind, rendered, is_whole = json.loads(text)
    return GroupedResult(ResultKey(*kind), RenderedResult(*rendered), is_whole)


_COLUMN: Final = 7
_MOST_RULES: Final = 20
"""Number of rules in the table of a view that does not show all rules."""
_SHOWN: Final = ("fail", "warn", "error", "pass", "skip")


def rule_table(run: Run, layout: TextLayout, *, every: bool) -> Iterator[str]:
    """Yield the table of all rules with results, those with most failures first.

    Without `every`, only rules with failures and the total; nothing if there are none.
    """
    titles = {
        (policy.kind, policy.key, rule.path): rule_title(policy.key, rule.name)
        for policy in run.policies
        for rule in policy.rules
    }
    rules: dict[str, Summary] = {}
    for (kind, policy, rule, path), summary in run.result_counts.by_rule().items():
        # Autogen rules are counted with the rule that they are derived from.
        name = titles.get((kind, policy, path)) or rule_title(policy, rule)
        rules[name] = Summary(*map(sum, zip(rules.get(name, Summary()), summary, strict=True)))
    shown = [
        (name, summary)
        for name, summary in rules.items()
        if every or summary.failed or summary.warned or summary.errors
    ]
    if not shown and not every:
        return
    room = layout.width - _COLUMN * len(_SHOWN)
    head = "".join(f"{name:>{_COLUMN}}" for name in _SHOWN)
    yield layout.paint("title", f"{'By rule':<{room}}{head}") + "\n"
    shown.sort(key=lambda item: (-item[1].errors, -item[1].failed, -item[1].warned, item[0]))
    if not every:
        left_out = [summary for _, summary in shown[_MOST_RULES:]]
        if len(left_out) > 1:
            name = f"… {len(left_out)} more rules (--statistics)"
            shown[_MOST_RULES:] = [(name, Summary(*map(sum, zip(*left_out, strict=True))))]
        if len(rules) > 1:
            name = f"all {counted(len(rules), 'rule')} that applied"
            shown.append((name, run.result_counts.summary()))
    for name, summary in shown:
        cells = {word: f"{number or '-':>{_COLUMN}}" for word, number in summary.as_dict().items()}
        for word in ("fail", "warn", "error"):
            is_none = cells[word].endswith("-")
            cells[word] = cells[word] if is_none else layout.paint(word, cells[word])
        numbers = "".join(cells[word] for word in _SHOWN)
        *lines, last = wrapped(name, room, "    ", "  ")
        yield from (f"{line}\n" for line in lines)
        gap = f"\n{' ' * room}" if len(last) > room else " " * (room - len(last))
        yield f"{safe_line(last)}{gap}{numbers}\n"
    yield "\n"


class ObjectBlocks:
    """Builds the block of each object while responses are read."""

    def __init__(self, run: Run, layout: TextLayout) -> None:
        self._layout = layout
        self._hidden = layout.options.hidden
        self._rows_of = compile_rows(audit_warn=run.audit_warn, hidden=self._hidden)
        self._explain = run.explain
        self._seen = SeenResults()
        self._title = cached_by_rule(row_title)
        self._severity = cached_by_rule(lambda row: severity_of(row.policy))
        # Many objects share a result. Keys are only known if nothing else affects the status, and
        # if results are not listed for each object.
        is_alone = not (layout.options.lists_all or run.audit_warn)
        self._known: dict[tuple[Rule, str, str, str], ResultKey] | None = {} if is_alone else None
        """The keys of results by rule, status and texts."""

    def known_keys(self, response: EngineResponse) -> list[ResultKey] | None:
        """Return the keys of the results of an object if all were shown for others, or None."""
        if not self._known or response.repeated:
            return None
        kinds: list[ResultKey] = []
        key = object_key(response.trigger)
        for answer in response.evaluated:
            if answer.changed or answer.silent:
                return None
            for result in answer.results:
                known = self._known.get((result.rule, result.status._value_, *_texts(result)))
                if known is not None and not _mentions(result, key.name, key.namespace):
                    kinds.append(known)
                elif result.status._value_ not in self._hidden or not is_plain(result):
                    return None
        return kinds or None

    def of(self, response: EngineResponse) -> tuple[ObjectBlock, list[PendingReference]]:
        """Return the block of an object, and its references to objects that are not known yet."""
        rows = [*self._rows_of(response), *silent_rows(response)]
        changes = [*changes_of(response)] if has_changes(response) else []
        needs = pending_references(response) if changes else []
        key = object_key(response.trigger)
        names = key.name, key.namespace
        items = [self._row(row, response, names) for row in rows]
        items += [self._change(change, names) for change in changes]
        again = repeat_blocks(response, self._layout.paint) if response.repeated else ()
        items += [GroupedResult(ResultKey(""), RenderedResult("", "", text=text)) for text in again]
        if not items:
            return _NOTHING, []
        place = str(resource_place(response) or "")
        created = sum(change.word == "new" for change in changes)
        edited = len(changes) - created
        return ObjectBlock(title(response.trigger), place, items, edited, created), needs

    def _row(self, row: Row, response: EngineResponse, names: tuple[str, str]) -> GroupedResult:
        if self._layout.options.lists_all:
            return GroupedResult(ResultKey(""), self._rendered(row, response))
        rule = row.status, row.policy.kind, self._title(row)
        kind = key_of_result(rule, _texts(row.result), names)
        if self._seen.takes(kind):
            return GroupedResult(kind, self._rendered(row, response))
        if self._seen.knows(kind):
            self._know(row.result, kind, names)
        name_only = RenderedResult(word_of(row.status), self._title(row), self._severity(row))
        return GroupedResult(kind, name_only, is_whole=False)

    def _rendered(self, row: Row, response: EngineResponse) -> RenderedResult:
        """Return a complete result, with its reasons."""
        result, layout = row.result, self._layout
        severity = "" if row.status in QUIET else self._severity(row)
        rendered = RenderedResult(word_of(row.status), self._title(row), severity)
        rendered = with_message(rendered, (result.own, result.message, result.note), layout)
        if row.status in QUIET or result.baseline is BaselineState.UNCHANGED:
            return rendered
        finding = finding_of(row, response, self._explain, with_reasons=True)
        return rendered._replace(places="".join(reason_lines(finding.reasons, layout)))

    def _know(self, result: RuleResult, kind: ResultKey, names: tuple[str, str]) -> None:
        """Store the key of a result whose texts do not depend on its object."""
        if self._known is None or result.generated or result.targets or _mentions(result, *names):
            return
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[result.rule, result.status._value_, *_texts(result)] = kind

    def _change(self, change: "RenderedChange", names: tuple[str, str]) -> GroupedResult:
        kind = ResultKey("")
        differing = change.differing
        if not self._layout.options.lists_all:
            rule = change.word, change.author or change.name
            lines = "\n".join(f"{mark}{line}" for mark, line in differing)
            kind = key_of_result(rule, (lines, ""), names)
        whole = self._seen.takes(kind)
        rendered = change_result(change, differing, self._layout, whole=whole)
        return GroupedResult(kind, rendered, whole)


_NOTHING = ObjectBlock("", "", ())
_MOST_KNOWN: Final = 4096


def _texts(result: RuleResult) -> tuple[str, str]:
    return result.own or result.message, result.note


def _mentions(result: RuleResult, name: str, namespace: str) -> bool:
    """Return whether the texts of a result contain the name or the namespace of an object."""
    text = "\n".join(_texts(result))
    return bool((name and name in text) or (namespace and namespace in text))


def is_plain(result: RuleResult) -> bool:
    """Return whether a result only has a message to show."""
    return not (result.note or result.generated or result.targets)


def reference_text(
    need: PendingReference, resolved: str | None, layout: TextLayout, *, owner: bool = False
) -> str:
    """Return the lines about an injected reference; with `owner`, they name its object."""
    word, what = reference_subject(need, resolved)
    of = f"{need.owner}: " if owner else ""
    rendered = resolved or (OPTIONAL if need.reference.optional else UNRESOLVED)
    lines = [*wrapped(f"{of}{what}: {rendered}", layout.width, first="  needs ")]
    if need.hint and not resolved:
        lines += wrapped(need.hint, layout.width)
    text = "".join(f"{line}\n" for line in lines)
    return text.replace("needs", layout.paint(word, "needs"), 1)


_MOST_LINES: Final = 14
"""Lines of one change that are shown; up to three more if those are the last ones."""
_OWN_LABELS: Final = ("app.kubernetes.io/managed-by", "generate.kyverno.io/")
"""Prefixes of labels that Kyverno adds to generated objects."""


class RenderedChange(NamedTuple):
    """One change, before it is rendered."""

    word: str
    """`edit` or `new`."""
    name: str
    """The object that was changed or created; for the trigger itself, the policy and rules."""
    author: str
    """The policy and its rules; "" if they are the name."""
    before: object
    """The object before the change; None if it is new."""
    after: object
    """The object after the change; if it is new, only the fields that its title does not show."""

    @property
    def differing(self) -> list[Marked]:
        """The added and removed lines."""
        if self.before is None:
            return self.lines
        return changed_yaml(self.before, self.after)

    @property
    def lines(self) -> list[Marked]:
        """All lines of the object, and the removed ones."""
        if self.before is None:
            return [("+", line) for line in yaml_lines(self.after)] if self.after else []
        return marked_yaml(self.before, self.after)


def changes_of(response: EngineResponse) -> Iterator[RenderedChange]:
    """Yield the changes of a resource and the objects created for it; first the resource itself."""
    before = response.trigger
    for answer in mutations(response):
        passed = [result.rule for result in answer.results if result.status is RuleStatus.PASS]
        titles = dict.fromkeys(rule_title(answer.policy.key, rule.name) for rule in passed)
        name = ", ".join(titles) or answer.policy.key
        yield RenderedChange("edit", name, "", before, answer.object)
        before = answer.object
    for change in patched_targets(response):
        author = rule_title(change.policy.key, change.rule)
        old = change.object if change.before is None else change.before
        yield RenderedChange("edit", short_title(change.object), author, old, change.object)
    for change in generated(response):
        author = rule_title(change.policy.key, change.rule)
        # Omit the fields that the title shows, and the labels that Kyverno adds.
        metadata = change.object.get("metadata") or {}
        omitted = {"name", "namespace", "labels"}
        shown = {name: value for name, value in metadata.items() if name not in omitted}
        labels = (metadata.get("labels") or {}).items()
        own = {name: value for name, value in labels if not name.startswith(_OWN_LABELS)}
        shown |= {"labels": own} if own else {}
        content = {"metadata": shown} if shown else {}
        in_title = {"apiVersion", "kind", "metadata"}
        rest = {name: value for name, value in change.object.items() if name not in in_title}
        yield RenderedChange("new", short_title(change.object), author, None, content | rest)


def change_result(
    change: RenderedChange, differing: list[Marked], layout: TextLayout, *, whole: bool
) -> RenderedResult:
    """Return a rendered change: author and changed lines, or only its name unless `whole`."""
    # The number of added and removed lines, as `+2 -1 lines`.
    marks = [mark for mark, _ in differing]
    counts = [(mark, marks.count(mark)) for mark in "+-" if mark in marks]
    lines = "line" if [number for _, number in counts] == [1] else "lines"
    size = " ".join((*(f"{mark}{number}" for mark, number in counts), lines)) if counts else ""
    rendered = RenderedResult(change.word, change.name, size)
    if not whole:
        return rendered
    by = f"by {change.author}" if change.author else ""
    text = "".join(f"{line}\n" for line in wrapped(by, layout.width)) if by else ""
    if not layout.options.objects:
        return rendered._replace(text=text)

    is_diff = layout.options.diff
    shown = [*(hunks(change.lines) if is_diff else _with_parents(change.lines))]
    room = len(shown) if is_diff or len(shown) <= _MOST_LINES + 3 else _MOST_LINES
    places = []
    for mark, line in shown[:room]:
        text_line = safe_line(f"{INDENT}{'...' if mark == '@' else f'{mark} {line}'}")
        cut = truncated(text_line, layout.width)
        places.append(layout.paint(MARK_STYLES[mark], cut) if mark in MARK_STYLES else cut)
    if len(shown) > room:
        left = f"… {counted(len(shown) - room, 'more line')} (--diff, --show objects)"
        places.append(f"{INDENT}{layout.paint('dim', left)}")
    return rendered._replace(text=text, places="".join(f"{line}\n" for line in places))


def _with_parents(lines: list[Marked]) -> Iterator[Marked]:
    """Yield the lines that differ, each group below its parent lines."""
    above: list[tuple[int, Marked]] = []
    shown = 0  # number of lines of `above` that are already shown
    for mark, line in lines:
        # The depth of a line; an item of a list is below its key.
        content = line.lstrip(" ")
        depth = 2 * (len(line) - len(content)) + content.startswith("- ")
        while above and above[-1][0] >= depth:
            above.pop()
        shown = min(shown, len(above))
        if mark == " ":
            above.append((depth, (mark, line)))
            continue
        yield from (parent for _, parent in above[shown:])
        shown = len(above)
        yield mark, line


class ObjectRenderer:
    """Renders a run, response by response: at once, or in groups at the end."""

    def __init__(self, run: Run, layout: TextLayout) -> None:
        self._layout = layout
        self._lists_all = layout.options.lists_all
        self._references = ReferenceIndex()
        self.groups = ResultGroups(layout, self._references)
        self.deferred = DeferredOutput(
            self._references,
            lambda need, resolved, owner: reference_text(need, resolved, layout, owner=owner),
        )
        self._part = ChunkGroups()
        self._blocks = ObjectBlocks(run, layout)
        self._is_part = run.is_part

    def row(self, response: EngineResponse) -> str:
        """Return the text that can be written now; text after a pending reference is deferred.

        For a part of a run, it is lines for `joined`.
        """
        again = self._blocks.known_keys(response)
        if again and (self._part if self._is_part else self.groups).counts(again):
            return ""
        block, needs = self._blocks.of(response)
        if not self._is_part:
            return "".join(self._written(block, needs)) if block.items else ""
        if not (again or needs) and self._part.counts_block(block):
            return ""
        related = f"{_RELATED}{related_line((), needs)}\n" if needs else ""
        return f"{related}{to_line(block)}" if block.items else ""

    def know(self, response: EngineResponse) -> str:
        """Add the targets of references in a response; return their line for a part of a run."""
        targets = [*known_targets(response)]
        if self._is_part and targets:
            return f"{_RELATED}{related_line(targets, ())}\n"
        self._references.add(targets)
        return ""

    def _written(self, block: ObjectBlock, needs: Sequence[PendingReference]) -> Iterator[str]:
        """Yield the text of an object with the references that a mutation added."""
        if not self._lists_all:
            self.groups.add(block, needs)
            return
        self.groups.edited += block.edited
        self.groups.created += block.created
        if not block.items:
            return
        texts = [placed_line(block.title, block.place, self._layout, style="title")]
        for item in block.items:
            # Only distributed runs have no text for a result that is like earlier ones.
            end = None if item.is_whole else "(as above)"
            texts.append(result_text(item.rendered, self._layout, end))
        pieces: tuple[OutputPiece, ...] = ("".join(texts), *needs, "\n")
        yield from (shown for piece in pieces for shown in self.deferred.add(piece))

    def counted(self) -> str:
        """Return the counts of objects that a part adds at its end."""
        return "".join(map(to_line, self._part.taken()))

    def joined(self, pieces: Iterable[str]) -> Iterator[str]:
        """Yield the text of all objects from the lines of all parts."""
        needs: list[PendingReference] = []
        for part in from_lines(pieces):
            if isinstance(part, ObjectBlock):
                yield from self._written(part, needs)
                needs = []
            elif isinstance(part, CountedResults):
                self.groups.take(part)
            else:
                targets, needs = part
                self._references.add(targets)


def begin_text(run: Run, options: RenderOptions) -> StreamingDocument:
    """Begin the view: objects with something to show, then the summary."""
    layout = layout_of(options)
    if options.statistics:
        return StreamingDocument(
            row=lambda _: "",
            tail=lambda _: rule_table(run, layout, every=True),
            joined=lambda _: (),
        )
    if options.show is Show.OBJECTS and not options.quiet:
        return _begin_whole(run, options)
    found = RelatedObjects(run)
    renderer = ObjectRenderer(run, layout)
    quiet = options.quiet

    def row(response: EngineResponse) -> str:
        found.add(response)
        known = renderer.know(response) if run.mutates else ""
        response = _only_failures(response) if quiet else response
        return known if _is_silent(response, options) else known + renderer.row(response)

    def tail(lists: Lists) -> Iterator[str]:
        yield from renderer.deferred.end(layout.paint)
        yield from renderer.groups.lines()
        yield from () if quiet else found.lines(lists, layout.paint)
        yield from () if quiet else rule_table(run, layout, every=False)
        yield from () if quiet else renderer.groups.sizes()

    return StreamingDocument(
        head=lambda: () if quiet else (f"{layout.paint('title', header(run))}\n\n",),
        row=row,
        tail=tail,
        lists=found.lists,
        joined=renderer.joined,
        counted=renderer.counted,
    )


def _is_silent(response: EngineResponse, options: RenderOptions) -> bool:
    """Return whether an object has nothing to show: its rules pass or do not apply."""
    if options.detailed or response.repeated:
        return False
    for answer in response.evaluated:
        if answer.changed or answer.silent:
            return False
        for result in answer.results:
            is_quiet = result.status is RuleStatus.PASS or result.status is RuleStatus.SKIP
            if not (is_quiet and is_plain(result)):
                return False
    return True


def _only_failures(response: EngineResponse) -> EngineResponse:
    failing = frozenset({RuleStatus.FAIL, RuleStatus.ERROR})
    failed = (
        (answer, tuple(result for result in answer.results if result.status in failing))
        for answer in response.evaluated
    )
    answers = tuple(answer._replace(results=results) for answer, results in failed if results)
    return response._replace(answers=answers, repeated=())


def whole_line(
    texts: Sequence[str | None],
    targets: Iterable[KnownTarget] = (),
    needs: Iterable[PendingReference] = (),
) -> str:
    """Return an object of a part of a run as a line for a view with whole objects.

    None stands for the next one of `needs`.
    """
    return f"{related_line(targets, needs)}{_APART}{json.dumps(texts)}\n"


def _begin_whole(run: Run, options: RenderOptions) -> StreamingDocument:
    paint = painter(colours=options.colours)
    found = RelatedObjects(run)
    rows_of = compile_rows(audit_warn=run.audit_warn, hidden=options.hidden)
    block = verdict_block(run, options, paint)
    references = ReferenceIndex()
    order = DeferredOutput(
        references,
        lambda need, resolved, owner: reference_line(need, resolved, paint, owner=owner),
    )

    def pieces_of(response: EngineResponse) -> list[OutputPiece]:
        """Return the text of a response, with the pending references of its object."""
        verdicts = block(response, rows_of(response))
        mutated, others = object_blocks(response, paint, options)
        pieces: list[OutputPiece] = []
        if mutated:
            pieces += [mutated, *pending_references(response), "\n"]
        pieces += [*others, *repeat_blocks(response, paint)]
        return [resource_block(response, paint), *pieces, verdicts] if verdicts or pieces else []

    def row(response: EngineResponse) -> str:
        found.add(response)
        pieces = pieces_of(response)
        if run.is_part:
            needs = [piece for piece in pieces if isinstance(piece, PendingReference)]
            texts = [piece if isinstance(piece, str) else None for piece in pieces]
            return whole_line(texts, known_targets(response), needs)
        references.add(known_targets(response))
        return "".join(text for piece in pieces for text in order.add(piece))

    def joined(pieces: Iterable[str]) -> Iterator[str]:
        for line in complete_lines(pieces):
            related, _, texts = line.partition(_APART)
            targets, needs = read_related(related)
            references.add(targets)
            following = iter(needs)
            for text in json.loads(texts):
                yield from order.add(next(following) if text is None else text)

    def tail(lists: Lists) -> Iterator[str]:
        yield from order.end(paint)
        yield from found.lines(lists, paint)
        yield f"{counts_line(run)}\n"

    return StreamingDocument(
        head=lambda: (f"{paint('title', header(run))}\n\n",),
        row=row,
        tail=tail,
        lists=found.lists,
        joined=joined,
    )
