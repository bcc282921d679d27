"""What the view of `apply` tells of each object: its results, its changes, what they refer to."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json, object_key
from kyvsim.model.policy import Rule
from kyvsim.model.result import EngineResponse, RuleResult, RuleStatus
from kyvsim.report.idempotence import repeat_blocks
from kyvsim.report.ledger import Need, needs_of
from kyvsim.report.object_text import Marked, changed_yaml, hunks, marked_yaml, yaml_lines
from kyvsim.report.results import (
    QUIET,
    Change,
    Row,
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
from kyvsim.report.run import Run
from kyvsim.report.style import INDENT, MARK_LOOKS, Sheet, Show, clipped, counted, wrapped
from kyvsim.report.text_blocks import OPTIONAL, UNMET, need_subject
from kyvsim.report.view_fold import Block, Item, Kind, Seen, kind_of, kind_of_result
from kyvsim.report.view_rows import Said, behind, compile_rows_told, row_title

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
        changes = [*_changes(response)]
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


def _changes(response: EngineResponse) -> Iterable["Changed"]:
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
