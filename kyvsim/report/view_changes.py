"""Changed and created objects in the view of `apply`: what is new in them, not the whole."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from kyvsim.kube.objects import Json
from kyvsim.model.result import EngineResponse, RuleStatus
from kyvsim.report.changes import Change, generated, mutations, patched_targets
from kyvsim.report.diff import Marked, hunks
from kyvsim.report.object_diff import changed_yaml, marked_yaml
from kyvsim.report.object_yaml import yaml_lines
from kyvsim.report.style import MARK_LOOKS, counted
from kyvsim.report.subject import short_title
from kyvsim.report.view_rows import Said, behind
from kyvsim.report.wrapped import INDENT, Sheet, clipped, wrapped

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
