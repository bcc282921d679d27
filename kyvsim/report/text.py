"""The text view of `apply`: what failed and why, what changed, which rules failed how often."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from kyvsim.kubernetes.objects import object_key
from kyvsim.model.policy import Rule
from kyvsim.model.result import BaselineState, EngineResponse, RuleResult, RuleStatus
from kyvsim.report.diagnostics import reason_lines, resource_place
from kyvsim.report.finding import finding_of
from kyvsim.report.object_text import Marked, changed_yaml, hunks, marked_yaml, yaml_lines
from kyvsim.report.result_groups import (
    ITEM_SEPARATOR,
    RELATED_LINE,
    ChunkGroups,
    CountedResults,
    GroupedResult,
    ObjectBlock,
    RenderedResult,
    ResultGroups,
    ResultKey,
    SeenResults,
    from_lines,
    key_of_result,
    result_text,
    to_line,
    with_message,
    word_of,
)
from kyvsim.report.results import (
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
    layout_of,
    painter,
    placed_line,
    safe_line,
    truncated,
    wrapped,
)
from kyvsim.report.text_blocks import (
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
    reference_text,
    related_line,
    repeat_blocks,
    resource_block,
    verdict_block,
)

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
                texts = _texts(result)
                known = self._known.get((result.rule, result.status._value_, *texts))
                if known is not None and not _mentions(texts, key.name, key.namespace):
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
        texts = _texts(result)
        if self._known is None or result.generated or result.targets or _mentions(texts, *names):
            return
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[result.rule, result.status._value_, *texts] = kind

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


def _mentions(texts: tuple[str, str], name: str, namespace: str) -> bool:
    """Return whether texts contain the name or the namespace of an object."""
    text = "\n".join(texts)
    return bool((name and name in text) or (namespace and namespace in text))


def is_plain(result: RuleResult) -> bool:
    """Return whether a result only has a message to show."""
    return not (result.note or result.generated or result.targets)


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
        related = f"{RELATED_LINE}{related_line((), needs)}\n" if needs else ""
        return f"{related}{to_line(block)}" if block.items else ""

    def know(self, response: EngineResponse) -> str:
        """Add the targets of references in a response; return their line for a part of a run."""
        targets = [*known_targets(response)]
        if self._is_part and targets:
            return f"{RELATED_LINE}{related_line(targets, ())}\n"
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
    return f"{related_line(targets, needs)}{ITEM_SEPARATOR}{json.dumps(texts)}\n"


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
            related, _, texts = line.partition(ITEM_SEPARATOR)
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
