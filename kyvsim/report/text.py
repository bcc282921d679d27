"""The text view of `apply`: what failed and why, what changed, which rules failed how often."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json, object_key
from kyvsim.model.policy import Rule
from kyvsim.model.result import EngineResponse, PolicyResponse, RuleResult, RuleStatus
from kyvsim.report.ending import counts_line
from kyvsim.report.finding import compile_field_places
from kyvsim.report.object_text import Marked, changed_yaml, hunks, marked_yaml, yaml_lines
from kyvsim.report.related_objects import (
    Collisions,
    Ledger,
    Need,
    NeedOrder,
    Piece,
    collision_lines,
    needs_of,
)
from kyvsim.report.result_groups import (
    Block,
    Fold,
    Item,
    Kind,
    PartFold,
    Said,
    Seen,
    behind,
    compile_rows_told,
    from_lines,
    kind_of,
    kind_of_result,
    row_title,
    to_line,
)
from kyvsim.report.results import (
    QUIET,
    Change,
    Row,
    Summary,
    compile_rows,
    generated,
    has_changes,
    mutations,
    once_a_rule,
    patched_targets,
    short_title,
    silent_rows,
    title,
)
from kyvsim.report.run import Lists, Run, Unparted, Writing
from kyvsim.report.style import (
    INDENT,
    MARK_LOOKS,
    Look,
    Paint,
    Sheet,
    Show,
    clipped,
    counted,
    painter,
    safe_line,
    sheet_of,
    wrapped,
)
from kyvsim.report.text_blocks import (
    OPTIONAL,
    UNMET,
    deletions_of,
    header,
    need_line,
    need_subject,
    object_blocks,
    repeat_blocks,
    resource_block,
    verdict_block,
)

# A table of the rules that found fault, with how often each ended how.

_COLUMN: Final = 7
_SHOWN: Final = ("fail", "warn", "error", "pass", "skip")


def by_rule_lines(run: Run, sheet: Sheet) -> Iterator[str]:
    """Yield the table, and the counts of all rules below it; nothing where no rule found fault."""
    rules = _by_title(run)
    bad = {name: one for name, one in rules.items() if one.failed or one.warned or one.errors}
    if bad:
        room = sheet.width - _COLUMN * len(_SHOWN)
        head = "".join(f"{name:>{_COLUMN}}" for name in _SHOWN)
        yield sheet.paint("title", f"{'By rule':<{room}}{head}") + "\n"
        for name, summary in sorted(bad.items(), key=_weight):
            yield from _line(name, summary, room, sheet)
        if len(rules) > 1:
            name = f"all {counted(len(rules), 'rule')} that applied"
            yield from _line(name, run.course.summary(), room, sheet)
        yield "\n"


def every_rule_lines(run: Run, sheet: Sheet) -> Iterator[str]:
    """Yield the table of all rules that have results, those that found most fault first."""
    rules = _by_title(run)
    room = sheet.width - _COLUMN * len(_SHOWN)
    head = "".join(f"{name:>{_COLUMN}}" for name in _SHOWN)
    yield sheet.paint("title", f"{'By rule':<{room}}{head}") + "\n"
    for name, summary in sorted(rules.items(), key=_weight):
        yield from _line(name, summary, room, sheet)
    yield "\n"


def _by_title(run: Run) -> dict[str, Summary]:
    """Return the counts by the name of a rule; those derived from it count with it."""
    titles = _titles(run)
    found: dict[str, Summary] = {}
    for key, summary in run.course.by_rule().items():
        kind, policy, rule, path = key
        name = titles.get((kind, policy, path)) or behind(policy, rule)
        before = found.get(name, Summary())
        found[name] = Summary(*map(sum, zip(before, summary, strict=True)))
    return found


def _titles(run: Run) -> Mapping[tuple[object, ...], str]:
    return {
        (policy.kind, policy.key, rule.path): behind(policy.key, rule.name)
        for policy in run.policies
        for rule in policy.rules
    }


def _weight(entry: tuple[str, Summary]) -> tuple[int, int, int, str]:
    name, summary = entry
    return -summary.errors, -summary.failed, -summary.warned, name


def _line(name: str, summary: Summary, room: int, sheet: Sheet) -> Iterator[str]:
    counts = summary.as_dict()
    cells = ((shown, f"{counts[shown] or '-':>{_COLUMN}}") for shown in _SHOWN)
    numbers = "".join(
        sheet.paint(shown, cell) if counts[shown] and shown in {"fail", "warn", "error"} else cell
        for shown, cell in cells
    )
    *lines, last = wrapped(name, room, "    ", "  ")
    yield from (f"{line}\n" for line in lines)
    if len(last) > room:
        yield f"{safe_line(last)}\n{' ' * room}{numbers}\n"
    else:
        yield f"{last:<{room}}{numbers}\n"


# What the view of `apply` tells of each object: its results, its changes, what they refer to.


class Blocks:
    """What is to be told of each object, as it comes."""

    __slots__ = ("_again", "_known", "_rows_of", "_seen", "_sheet", "_title", "_told", "_untold")

    def __init__(self, run: Run, sheet: Sheet) -> None:
        self._sheet = sheet
        self._untold = sheet.look.hidden
        self._rows_of = compile_rows(audit_warn=run.audit_warn, untold=self._untold)
        self._told = compile_rows_told(run, sheet)
        self._seen = Seen()
        self._title = once_a_rule(row_title)
        self._again: dict[Kind, Item] = {}
        """What is told of results that are like others; as many as there are wordings."""
        # Many objects share a result. Where its status depends on more none is known, and where
        # passes are told of each object there is always more to tell.
        is_alone = self._untold and not run.audit_warn
        self._known: dict[_Words, Kind] | None = {} if is_alone else None

    def told_before(self, response: EngineResponse) -> list[Kind] | None:
        """Return the kinds of what would be told, where the same was told of other objects.

        None where there may be something else to tell, or nothing.
        """
        if not self._known or response.repeated:
            return None
        kinds: list[Kind] = []
        name, namespace = _names(response.trigger)
        for answer in response.evaluated:
            if answer.changed or answer.silent:
                return None
            for result in answer.results:
                known = self._known.get(_words_of(result))
                if known is not None and not _says(_text(result), name, namespace):
                    kinds.append(known)
                elif result.status._value_ not in self._untold or not is_plain(result):
                    return None
        return kinds or None

    def of(self, response: EngineResponse) -> tuple[Block, list[Need]]:
        """Return what is to be told of an object, and the references that wait for others."""
        rows = [*self._rows_of(response), *silent_rows(response)]
        changes = [*_changes_of_object(response)]
        needs = needs_of(response) if changes else []
        names = _names(response.trigger)
        items = [self._row(row, response, names) for row in rows]
        items += [self._change(one, alone=bool(needs)) for one in changes]
        again = _repeated(response, self._sheet)
        items += [Item(Kind(""), Said("", "", text=text)) for text in again]
        if not items:
            return _NOTHING, []
        document = response.document
        place = str(document.locate(())) if document else ""
        created = sum(one.word == "new" for one in changes)
        edited = len(changes) - created
        return Block(title(response.trigger), place, items, edited, created), needs

    def _row(self, row: Row, response: EngineResponse, names: tuple[str, str]) -> Item:
        look = self._sheet.look
        if look.show is Show.ALL or (look.detailed and row.status in QUIET):
            return Item(Kind(""), self._told(row, response, whole=True))
        kind = self._kind(row, names)
        again = self._again.get(kind)
        if again is not None:
            self._know(row.result, kind, names)
            return again
        whole = self._seen.is_new(kind)
        if whole:
            self._again[kind] = Item(kind, self._told(row, response, whole=False), is_whole=False)
        return Item(kind, self._told(row, response, whole=whole), whole)

    def _kind(self, row: Row, names: tuple[str, str]) -> Kind:
        rule = (row.status, row.policy.kind, self._title(row))
        return kind_of_result(rule, _texts(row.result), names)

    def _know(self, result: RuleResult, kind: Kind, names: tuple[str, str]) -> None:
        """Remember the kind of a result that says nothing of the object that has it."""
        if self._known is None or result.generated or result.targets:
            return
        if _says(_text(result), *names):
            return
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[_words_of(result)] = kind

    def _change(self, change: "Changed", *, alone: bool) -> Item:
        kind = Kind("")
        differing = change.differing
        if not (alone or self._sheet.look.diff or self._sheet.look.show is Show.ALL):
            lines = "\n".join(f"{mark}{line}" for mark, line in differing)
            kind = kind_of(f"{change.word} {change.by}", lines)
        whole = self._seen.is_new(kind)
        return Item(kind, told_change(change, differing, self._sheet, whole=whole), whole)


_NOTHING = Block("", "", ())
_MOST_KNOWN: Final = 4096


_Words: TypeAlias = tuple[Rule, str, str, str]
"""What makes the kind of a result: its rule, its status and what it says."""


def _words_of(result: RuleResult) -> _Words:
    return (result.rule, result.status._value_, result.own or result.message, result.note)


def _text(result: RuleResult) -> str:
    return "\n".join(_texts(result))


def _texts(result: RuleResult) -> tuple[str, str]:
    """Return what a result says."""
    return result.own or result.message, result.note


def _says(text: str, name: str, namespace: str) -> bool:
    """Return whether a text has the name of an object in it, or its namespace."""
    return bool((name and name in text) or (namespace and namespace in text))


def is_plain(result: RuleResult) -> bool:
    """Return whether there is nothing to tell of a result but its message."""
    return not (result.note or result.generated or result.targets)


def _changes_of_object(response: EngineResponse) -> Iterable["Changed"]:
    if not has_changes(response):
        return ()
    return changes_of(response)


def _names(obj: Json) -> tuple[str, str]:
    """Return what makes messages on objects differ that are alike."""
    key = object_key(obj)
    return key.name, key.namespace


def _repeated(response: EngineResponse, sheet: Sheet) -> Iterable[str]:
    if not response.repeated:
        return ()
    return repeat_blocks(response, sheet.paint)


def need_text(need: Need, met: str | None, sheet: Sheet, *, owner: bool = False) -> str:
    """Return the lines about an injected reference."""
    word, what = need_subject(need, met)
    of = f"{title(need.resource)}: " if owner else ""
    said = met or (OPTIONAL if need.reference.optional else UNMET)
    lines = [*wrapped(f"{of}{what}: {said}", sheet.width, first="  needs ")]
    if need.hint and not met:
        lines += wrapped(need.hint, sheet.width)
    told = "".join(f"{line}\n" for line in lines)
    return told.replace("needs", sheet.paint(word, "needs"), 1)


# Changed and created objects in the view of `apply`: what is new in them, not the whole.


_MOST_LINES: Final = 14
"""Lines of one change that are shown; some more where that is the rest."""
_REST: Final = 3
_OWN_LABELS: Final = ("app.kubernetes.io/managed-by", "generate.kyverno.io/")
"""How labels begin that Kyverno adds to what it generates."""


class Changed(NamedTuple):
    """One change, before it is told."""

    word: str
    """`edit` or `new`."""
    name: str
    """What was changed or created, or for the trigger itself, who did it."""
    author: str
    """The policy and its rules; "" where the name says it."""
    before: Json
    """The object as it was; None for what is new."""
    after: Json
    """The object as it is; of what is new only what its title does not say."""

    @property
    def by(self) -> str:
        """What tells who did it from others."""
        return self.author or self.name

    @property
    def differing(self) -> list[Marked]:
        """The lines that came or went."""
        if self.before is None:
            return self.lines
        return changed_yaml(self.before, self.after)

    @property
    def lines(self) -> list[Marked]:
        """The lines of the object, and those that went."""
        if self.before is None:
            return [("+", line) for line in yaml_lines(self.after)] if self.after else []
        return marked_yaml(self.before, self.after)


def changes_of(response: EngineResponse) -> Iterator[Changed]:
    """Yield what was changed and created for a resource: first the resource itself."""
    before = response.trigger
    for answer in mutations(response):
        passed = [one.rule for one in answer.results if one.status is RuleStatus.PASS]
        titles = dict.fromkeys(behind(answer.policy.key, one.name) for one in passed)
        name = ", ".join(titles) or answer.policy.key
        yield Changed("edit", name, "", before, answer.object)
        before = answer.object
    for change in patched_targets(response):
        old = change.object if change.before is None else change.before
        yield _of_other("edit", change, old, change.object)
    for change in generated(response):
        yield _of_other("new", change, None, _content(change.object))


def _of_other(word: str, change: Change, before: Json, after: Json) -> Changed:
    author = " / ".join(filter(None, (change.policy.key, change.rule)))
    return Changed(word, short_title(change.object), author, before, after)


def told_change(change: Changed, differing: list[Marked], sheet: Sheet, *, whole: bool) -> Said:
    """Return a change in words: who did it, and the lines that are new or gone.

    If it is not to be told as a whole, only what names it is there.
    """
    said = Said(change.word, change.name, _size(differing))
    if not whole:
        return said
    by = f"by {change.author}" if change.author else ""
    text = "".join(f"{line}\n" for line in wrapped(by, sheet.width)) if by else ""
    if not sheet.look.objects:
        return said._replace(text=text)
    shown = [*(hunks(change.lines) if sheet.look.diff else _with_parents(change.lines))]
    return said._replace(text=text, places="".join(_lines(shown, sheet)))


def _lines(lines: list[Marked], sheet: Sheet) -> Iterator[str]:
    room = len(lines) if sheet.look.diff or len(lines) <= _MOST_LINES + _REST else _MOST_LINES
    for mark, line in lines[:room]:
        text = "..." if mark == "@" else f"{mark} {line}"
        shown = clipped(f"{INDENT}{text}", sheet.width)
        yield f"{sheet.paint(MARK_LOOKS[mark], shown) if mark in MARK_LOOKS else shown}\n"
    left = len(lines) - room
    if left:
        said = f"… {counted(left, 'more line')} (--diff, --show objects)"
        yield f"{INDENT}{sheet.paint('dim', said)}\n"


def _size(lines: list[Marked]) -> str:
    """Return how many lines came and went, as `+2 -1 lines`."""
    marks = [mark for mark, _ in lines]
    counts = [(mark, marks.count(mark)) for mark in "+-" if mark in marks]
    if not counts:
        return ""
    only = len(counts) == 1 and counts[0][1] == 1
    return f"{' '.join(f'{mark}{count}' for mark, count in counts)} line{'s' * (not only)}"


def _with_parents(lines: list[Marked]) -> Iterator[Marked]:
    """Yield the lines that differ, each run of them below the lines that it stands under."""
    above: list[tuple[int, Marked]] = []
    shown = 0  # so many of `above` are shown already
    for mark, line in lines:
        depth = _depth(line)
        while above and above[-1][0] >= depth:
            above.pop()
        shown = min(shown, len(above))
        if mark == " ":
            above.append((depth, (mark, line)))
            continue
        yield from (one for _, one in above[shown:])
        shown = len(above)
        yield mark, line


def _depth(line: str) -> int:
    """Return how deep a line stands; an item of a list stands below its key."""
    content = line.lstrip(" ")
    return 2 * (len(line) - len(content)) + content.startswith("- ")


def _content(obj: Mapping[str, Json]) -> Json:
    """Return an object without what its title says, and without the labels that Kyverno adds."""
    metadata = {
        name: value
        for name, value in (obj.get("metadata") or {}).items()
        if name not in {"name", "namespace", "labels"}
    }
    labels = (obj.get("metadata") or {}).get("labels") or {}
    own = {name: value for name, value in labels.items() if not name.startswith(_OWN_LABELS)}
    if own:
        metadata["labels"] = own
    rest = {name: obj[name] for name in obj if name not in {"apiVersion", "kind", "metadata"}}
    return {**({"metadata": metadata} if metadata else {}), **rest}


# The objects of a run as the view of `apply` tells them, and what sums them up.


class Told:
    """What is told of a run, response by response."""

    __slots__ = ("_blocks", "_fold", "_ledger", "_order", "_part", "_run", "_sheet")

    def __init__(self, run: Run, look: Look, ledger: Ledger) -> None:
        self._run = run
        self._sheet = sheet_of(look)
        self._ledger = ledger
        self._fold = Fold(self._sheet)
        self._part = PartFold()
        self._order = NeedOrder(ledger, self._need)
        self._blocks = Blocks(run, self._sheet)

    def row(self, response: EngineResponse) -> str:
        """Return what is told now; what stands behind an open reference waits."""
        again = self._blocks.told_before(response)
        if again and self._fold.counts(again):
            return ""
        block, needs = self._blocks.of(response)
        if not block.items:
            return ""
        text = self._fold.add(block)
        pieces: tuple[Piece, ...] = (text.removesuffix("\n"), *needs, "\n") if needs else (text,)
        return "".join(one for piece in pieces if piece for one in self._order.add(piece))

    def line(self, response: EngineResponse) -> str:
        """Return what a part tells of a response; raises Unparted where other objects matter."""
        again = self._blocks.told_before(response)
        if again and self._part.counts(again):
            return ""
        block, needs = self._blocks.of(response)
        if needs:
            raise Unparted
        return to_line(block) if block.items else ""

    def counted(self) -> str:
        """Return what a part tells at its end, of those of which it told nothing."""
        return "".join(map(to_line, self._part.taken()))

    def joined(self, pieces: Iterable[str]) -> Iterator[str]:
        """Yield the text of all objects, of the lines of all parts."""
        return map(self._fold.take, from_lines(pieces))

    def open_needs(self) -> Iterator[str]:
        """Yield what has waited to the end."""
        yield from self._order.rest()
        if self._order.late:
            yield self._sheet.paint("title", "Injected references that stood open above") + "\n"
            for one in self._order.late:
                yield self._need(one, self._ledger.met_by(one), owner=True)
            yield "\n"

    def summary(self) -> Iterator[str]:
        """Yield what was only counted, the rules that found fault, and how much was changed."""
        yield from self._fold.lines()
        yield from by_rule_lines(self._run, self._sheet)
        yield from self._fold.sizes()

    def folded(self) -> Iterator[str]:
        """Yield what was only counted, because it is alike."""
        yield from self._fold.lines()

    def _need(self, need: Need, met: str | None, *, owner: bool = False) -> str:
        return need_text(need, met, self._sheet, owner=owner)


# The view of `apply` for people: what failed and why, what changed, which rules are broken.
#
# `--show objects` asks for another one, with whole objects (`text.py`). What tells is loaded when
# there is something to tell.


def begin_text(run: Run, look: Look) -> Writing:
    """Begin the view: objects of which there is something to tell, then what sums them up."""
    other = _other_view(run, look)
    if other is not None:
        return other
    paint = painter(colours=look.colours)
    ledger, collisions, deletions = Ledger(), Collisions(), deletions_of(run)
    made: list[Told] = []  # when there is something to tell

    def told() -> "Told":
        if not made:
            made.append(Told(run, look, ledger))
        return made[0]

    def row(response: EngineResponse) -> str:
        ledger.add(response)
        collisions.add(response)
        if deletions:
            deletions.add(response)
        return "" if _is_silent(response, look) else told().row(response)

    def part_row(response: EngineResponse) -> str:
        return "" if _is_silent(response, look) else told().line(response)

    def tail(_: Lists) -> Iterator[str]:
        if made:
            yield from made[0].open_needs()
        yield from deletions.lines(run.schedules, paint) if deletions else ()
        yield from collision_lines(collisions, paint)
        if made:
            yield from made[0].summary()

    return Writing(
        head=lambda: (f"{paint('title', header(run))}\n\n",),
        row=part_row if run.is_part else row,
        tail=tail,
        joined=lambda pieces: told().joined(pieces),
        counted=lambda: made[0].counted() if made else "",
    )


def _other_view(run: Run, look: Look) -> Writing | None:
    """Return the view that options ask for in place of this one."""
    if look.quiet or look.statistics:
        return _begin_short(run, look)
    if look.show is Show.OBJECTS:
        return _begin_whole(run, look)
    return None


def _is_silent(response: EngineResponse, look: Look) -> bool:
    """Return whether there is nothing to tell of an object: its rules pass, or do not apply."""
    return not (look.detailed or response.repeated) and not any(
        answer.changed or answer.silent or any(map(_tells, answer.results))
        for answer in response.evaluated
    )


def _tells(result: RuleResult) -> bool:
    is_quiet = result.status is RuleStatus.PASS or result.status is RuleStatus.SKIP
    return not is_quiet or bool(result.note or result.generated or result.targets)


# Two short views of `apply`: what failed, and how often each rule ended how.


_FAULTS = frozenset({RuleStatus.FAIL, RuleStatus.ERROR})


def _begin_short(run: Run, look: Look) -> Writing:
    """Begin the view of failures alone, or that of counts alone."""
    told = Told(run, look, Ledger())

    def tail(_: Lists) -> Iterator[str]:
        if look.statistics:
            yield from every_rule_lines(run, sheet_of(look))
        else:
            yield from told.folded()

    def failures(response: EngineResponse) -> EngineResponse:
        """Return a response with nothing in it but failures."""
        return response._replace(answers=tuple(_failed(response)), repeated=())

    if look.statistics:
        return Writing(lambda: (), lambda _: "", tail, joined=lambda _: iter(()))
    return Writing(
        head=lambda: (),
        row=lambda response: (told.line if run.is_part else told.row)(failures(response)),
        tail=tail,
        joined=told.joined,
        counted=told.counted,
    )


def _failed(response: EngineResponse) -> Iterator[PolicyResponse]:
    for answer in response.evaluated:
        results = tuple(one for one in answer.results if one.status in _FAULTS)
        if results:
            yield answer._replace(results=results)


# The view with whole objects: what changed, what was generated, what failed; then the counts.


def _begin_whole(run: Run, look: Look) -> Writing:
    """Begin the view; the last line counts."""
    paint = painter(colours=look.colours)
    ledger, collisions, deletions = Ledger(), Collisions(), deletions_of(run)
    pieces_of = _compile_pieces(run, look)
    order = NeedOrder(ledger, lambda need, met: need_line(need, met, paint))

    def row(response: EngineResponse) -> str:
        ledger.add(response)
        collisions.add(response)
        if deletions:
            deletions.add(response)
        return "".join(text for piece in pieces_of(response) for text in order.add(piece))

    def tail(_: Lists) -> Iterator[str]:
        yield from order.rest()
        if order.late:
            yield paint("title", "Injected references that stood open above") + "\n"
            yield from (need_line(one, ledger.met_by(one), paint, owner=True) for one in order.late)
            yield "\n"
        yield from deletions.lines(run.schedules, paint) if deletions else ()
        yield from collision_lines(collisions, paint)
        yield f"{counts_line(run)}\n"

    return Writing(
        head=lambda: (f"{paint('title', header(run))}\n\n",),
        row=_compile_alone(pieces_of) if run.is_part else row,
        tail=tail,
    )


def _compile_alone(
    pieces_of: Callable[[EngineResponse], Iterator[Piece]],
) -> Callable[[EngineResponse], str]:
    """Return what writes a response that has nothing to do with others; it raises Unparted."""

    def row(response: EngineResponse) -> str:
        found = [*pieces_of(response)]
        texts = [piece for piece in found if isinstance(piece, str)]
        if len(texts) < len(found):
            raise Unparted
        return "".join(texts)

    return row


def _compile_pieces(run: Run, look: Look) -> Callable[[EngineResponse], Iterator[Piece]]:
    """Return what yields the text of a response, with the needs of its object in their place."""
    paint = painter(colours=look.colours)
    rows_of = compile_rows(audit_warn=run.audit_warn, untold=look.hidden)
    block = verdict_block(paint, compile_field_places(run, look))

    def pieces(response: EngineResponse) -> Iterator[Piece]:
        verdicts = block(response, rows_of(response))
        changes = list(_change_pieces(response, paint, look))
        if verdicts or changes:
            yield resource_block(response, paint)
            yield from changes
            yield verdicts

    return pieces


def _change_pieces(response: EngineResponse, paint: Paint, look: Look) -> Iterator[Piece]:
    mutated, others = object_blocks(response, paint, look)
    if mutated:
        yield mutated
        yield from needs_of(response)
        yield "\n"
    yield from others
    if response.repeated:
        yield from repeat_blocks(response, paint)
