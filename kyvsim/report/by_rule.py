"""A table of the rules that found fault, with how often each ended how."""

from collections.abc import Iterator, Mapping
from typing import Final

from kyvsim.report.results import Summary
from kyvsim.report.run import Run
from kyvsim.report.style import Sheet, counted, safe_line, wrapped
from kyvsim.report.view_rows import behind

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
