"""The changes of an upgrade as text, Markdown, HTML and JSON."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.model.comparison import Answer, VerdictDifference
from kyvsim.model.migration import ConversionOutcome
from kyvsim.model.result import Fact, RunEnding, RunVerdict
from kyvsim.model.source import Location
from kyvsim.model.upgrade import (
    ChangedObject,
    ChangedResults,
    Impact,
    LegacyPolicy,
    RejectedPolicy,
    ReleaseChange,
    Removal,
    Upgrade,
)
from kyvsim.report.diagnostics import diagnostic_json, place_json
from kyvsim.report.diff import FAULTS, arrow, author_lines, object_title, rule_name
from kyvsim.report.equal import evidence_json, headline
from kyvsim.report.object_text import changed_yaml, json_document
from kyvsim.report.page import ending_of, page
from kyvsim.report.run import (
    ending_json,
    ending_line,
    error_fact,
    info_fact,
    left_out_fact,
    verdict_fact,
    warning_fact,
)
from kyvsim.report.style import (
    RenderOptions,
    aligned,
    counted,
    markdown_text,
    painter,
    safe_line,
    table_line,
    wrapped,
)

_MOST = 8
"""Maximum number of entries of a section, unless all are requested."""
_MOST_PLACES = 3
_MOST_LINES = 12
_CERTAIN = (Impact.BREAKS, Impact.LESS_STRICT, Impact.STRICTER)
"""The impacts of notes that give the exit status 1; others depend on what is evaluated."""
_STYLES: Mapping[str, str] = MappingProxyType(
    {
        Impact.BREAKS: "bad",
        Impact.LESS_STRICT: "bad",
        Impact.STRICTER: "warn",
        Impact.DIFFERENT: "warn",
        Impact.NONE: "info",
        ConversionOutcome.REFUSED: "bad",
        Answer.COUNTEREXAMPLE: "bad",
        Answer.NOT_COVERED: "warn",
    }
)
_PAINTS: Mapping[str, str] = MappingProxyType({"bad": "fail", "warn": "warn", "info": "dim"})


class _Entry(NamedTuple):
    """One change, as all formats for people show it."""

    tag: str
    title: str
    place: Location | None = None
    lines: tuple[str, ...] = ()
    cause: str = ""
    advice: str = ""


class _Section(NamedTuple):
    title: str
    entries: Sequence[_Entry]
    table: Sequence[tuple[str, ...]] = ()
    """A head and rows, shown before the entries."""
    advice: str = ""
    """What to do about all entries."""


def upgrade_ending(upgrade: Upgrade) -> RunEnding:
    """Return the result: what no longer works as before fails it, harmless changes do not."""
    results = Counter[Impact]()
    for group in upgrade.results:
        results[group.impact] += len(group.results)
    notes = Counter(note.change.impact for note in upgrade.notes)
    changed = results.total() - results[Impact.NONE]
    listed = ", ".join(f"{results[one]} {one.value}" for one in _CERTAIN if results[one])
    noted = sum(notes[one] for one in _CERTAIN)
    removed = len(upgrade.removal.policies) if upgrade.removal else 0
    rejected, objects, rows = map(len, (upgrade.rejected, upgrade.objects, upgrade.rows))
    scenarios = len(upgrade.scenarios)
    counts = (
        ("rejected", rejected, f"{counted(rejected, 'policy')} rejected"),
        ("results", changed, f"{counted(changed, 'result')} changed ({listed})"),
        ("objects", objects, f"{counted(objects, 'object')} changed"),
        ("rows", rows, f"{counted(rows, 'row')} of tests changed"),
        ("scenarios", scenarios, f"{counted(scenarios, 'scenario')} changed"),
        ("notes", noted, f"{counted(noted, 'change')} not shown by manifests"),
        ("removed", removed, f"{counted(removed, 'policy')} without effect"),
    )
    untried = notes[Impact.DIFFERENT]
    differs = any(number for _, number, _ in counts)
    unaffected = max(upgrade.policies - upgrade.affected, 0)
    same = f"{unaffected} of {counted(upgrade.policies, 'policy')} not affected"
    harmless = results[Impact.NONE]
    return RunEnding(
        (
            error_fact(upgrade.diagnostics),
            Fact("notApplied", int(not upgrade.applied), _unapplied(upgrade)),
            *(verdict_fact(key, n, text, RunVerdict.DIFFERENT) for key, n, text in counts),
            Fact("unaffected", unaffected, same, _verdict(upgrade, differs=differs)),
            info_fact("accepted", len(upgrade.accepted), f"{len(upgrade.accepted)} newly accepted"),
            info_fact("harmless", harmless, f"{counted(harmless, 'harmless difference')}"),
            info_fact("uncertainNotes", untried, f"{counted(untried, 'change')} to try"),
            Fact("resources", upgrade.resources, _compared(upgrade)),
            Fact("testRows", upgrade.row_count, ""),
            Fact("scenarioRuns", upgrade.scenario_count, ""),
            left_out_fact(len(frozenset(upgrade.left_out))),
            warning_fact(upgrade.diagnostics),
        )
    )


def _unapplied(upgrade: Upgrade) -> str:
    return "" if upgrade.applied else "nothing was evaluated"


def _verdict(upgrade: Upgrade, *, differs: bool) -> RunVerdict:
    if differs or not upgrade.applied:
        return RunVerdict.PASSED
    # A removal is about the policies alone; results are only the same if some were compared.
    compared = _is_compared(upgrade)
    return RunVerdict.SAME if upgrade.policies and compared else RunVerdict.NOTHING


def _is_compared(upgrade: Upgrade) -> bool:
    counts = (upgrade.resources, upgrade.row_count, upgrade.scenario_count)
    return any(counts) or upgrade.removal is not None


def _compared(upgrade: Upgrade) -> str:
    if _is_compared(upgrade):
        return counted(upgrade.resources, "resource")
    return "no results compared: pass manifests with --resource"


def _heading(upgrade: Upgrade) -> str:
    target = upgrade.removal.release.name if upgrade.removal else upgrade.new
    inputs = [counted(upgrade.policies, "policy"), counted(upgrade.resources, "resource")]
    inputs += [f"{counted(upgrade.row_count, 'row')} of tests"] if upgrade.row_count else []
    inputs += [counted(upgrade.scenario_count, "scenario")] if upgrade.scenario_count else []
    evaluated = f" (evaluated up to {upgrade.new})" if upgrade.removal else ""
    return f"Kyverno {upgrade.old} → {target}: {', '.join(inputs)}{evaluated}"


# What all formats for people show.


def _sections(upgrade: Upgrade) -> Iterator[_Section]:
    """Yield the sections that are not empty, the most important first."""
    for word, releases, rejected in (
        ("Rejected", (upgrade.new, upgrade.old), upgrade.rejected),
        ("Accepted", (upgrade.old, upgrade.new), upgrade.accepted),
    ):
        impact = Impact.BREAKS if word == "Rejected" else Impact.STRICTER
        entries = [_rejected_entry(one, impact, releases[0]) for one in rejected]
        yield _Section(f"{word} policies", entries)
    yield _Section(
        "Changed results",
        [_results_entry(one) for one in upgrade.results if one.impact is not Impact.NONE],
    )
    yield _Section("Changed objects", [*map(_object_entry, upgrade.objects)])
    rows = [
        _Entry(
            Impact.DIFFERENT,
            f"{row.old or 'no row'} → {row.new or 'no row'}: "
            f"{rule_name(row.policy, row.rule)}, {row.resource}",
            row.place or Location(row.file),
            (row.reason,) if row.reason else (),
        )
        for row in upgrade.rows
    ]
    yield _Section("Changed rows of tests", rows)
    courses = [
        _Entry(
            one.impact,
            f"{counted(len(one.events), 'event')} in only one of the releases",
            one.place,
            (*one.ending, *_first(one.events)),
            *_reason(one.cause),
        )
        for one in upgrade.scenarios
    ]
    yield _Section("Changed scenarios", courses)
    notes = [
        _Entry(
            note.change.impact,
            note.change.text,
            None,
            _listed([f"{part.subject} ({part.place})" for part in note.parts]),
            advice=note.change.advice,
        )
        for note in upgrade.notes
    ]
    yield _Section("Not shown by the given manifests", notes)
    yield _Section(
        "Harmless differences",
        [_results_entry(one) for one in upgrade.results if one.impact is Impact.NONE],
    )
    if upgrade.removal:
        yield _removal_section(upgrade, upgrade.removal)


def _first(lines: Sequence[str]) -> tuple[str, ...]:
    return (*lines[:_MOST_LINES], *(("…",) if len(lines) > _MOST_LINES else ()))


def _listed(items: Sequence[str]) -> tuple[str, ...]:
    more = len(items) - _MOST_PLACES
    return (*items[:_MOST_PLACES], *((f"and {more} more",) if more > 0 else ()))


def _rejected_entry(one: RejectedPolicy, impact: Impact, release: str) -> _Entry:
    messages = tuple(f"{problem.code}: {problem.message}" for problem in one.diagnostics)
    title = f"{one.subject}: not accepted by {release}"
    return _Entry(impact, title, one.place, messages, *_reason(one.cause))


def _reason(cause: ReleaseChange | None) -> tuple[str, str]:
    return (cause.text, cause.advice) if cause else ("", "")


def _results_entry(group: ChangedResults) -> _Entry:
    verdict = group.results[0].verdict
    name = f"{arrow(verdict.results)}: {rule_name(verdict.policy, verdict.rule)}"
    shown = [one.resource + (f" ({one.place})" if one.place else "") for one in group.results]
    number = f"{counted(len(shown), 'resource')}: {', '.join(shown[:_MOST_PLACES])}"
    number += ", …" if len(shown) > _MOST_PLACES else ""
    side = verdict.new or verdict.old
    return _Entry(
        group.impact,
        name,
        side.rule_place if side else None,
        (number, *_messages(verdict)),
        *_reason(group.cause),
    )


def _messages(verdict: VerdictDifference) -> tuple[str, ...]:
    """Return the messages of failures; for equal results, those of both releases."""
    is_reworded = verdict.results[0] == verdict.results[1]
    texts = {
        word: side.message
        for word, side in (("old", verdict.old), ("new", verdict.new))
        if side and (is_reworded or side.result in FAULTS)
    }
    if len(texts) > 1:
        return tuple(f"{word}: {text}" for word, text in texts.items())
    return tuple(texts.values())


def _object_entry(one: ChangedObject) -> _Entry:
    old, new = one.difference.old, one.difference.new
    lines = changed_yaml(old.object if old else None, new.object if new else None)
    shown = _first([f"{mark} {line}" for mark, line in lines])
    title = f"{one.resource}: {object_title(one.difference)}"
    lines_of = (*author_lines(one.difference), *shown)
    return _Entry(Impact.DIFFERENT, title, one.place, lines_of, *_reason(one.cause))


def _removal_section(upgrade: Upgrade, removal: Removal) -> _Section:
    name = removal.release.name
    if not removal.policies:
        return _Section(
            f"Removed in {name}", [_Entry(Impact.NONE, "no policy is of a removed kind")]
        )
    number = len(removal.policies)
    title = (
        f"Removed in {name}: {counted(number, 'policy')} "
        f"{'has' if number == 1 else 'have'} no effect any more"
    )
    paths = shlex.join(upgrade.paths)
    check = "" if removal.is_checked else f"kyvsim upgrade {paths} --to {name} --check compares "
    check += "each policy with its conversion; " if check else ""
    advice = f"{check}kyvsim migrate {paths} --output DIR writes the new policies"
    if any(_outcome(one) is ConversionOutcome.CONDITIONAL for one in removal.policies):
        advice += " and lists their conditions"
    return _Section(title, [*_conversion_entries(removal)], [*_inventory_table(removal)], advice)


_OUTCOMES = (ConversionOutcome.CONVERTED, ConversionOutcome.CONDITIONAL, ConversionOutcome.REFUSED)
_ANSWERS = (Answer.EQUAL, Answer.COUNTEREXAMPLE, Answer.NOT_COVERED)
_COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "policies": "policies",
        "converted": "converted",
        "withConditions": "with conditions",
        "notConverted": "not converted",
        "equal": "equal",
        "counterexample": "counterexample",
        "notCovered": "not covered",
    }
)
"""The counts of the inventory: their names in JSON, and in tables."""


class _InventoryRow(NamedTuple):
    folder: str
    kind: str
    numbers: tuple[int, ...]
    """As `_COLUMNS`; without the last three if policies were not compared."""


def _outcome(policy: LegacyPolicy) -> ConversionOutcome:
    return policy.conversion.outcome if policy.conversion else ConversionOutcome.REFUSED


def _inventory(removal: Removal) -> Iterator[_InventoryRow]:
    """Yield the counts of each folder and kind."""
    by_place: dict[tuple[str, str], list[LegacyPolicy]] = {}
    for policy in removal.policies:
        by_place.setdefault((policy.folder, policy.kind), []).append(policy)
    for (folder, kind), policies in sorted(by_place.items()):
        outcomes = Counter(map(_outcome, policies))
        answers = Counter(one.evidence.answer for one in policies if one.evidence)
        compared = (answers[one] for one in _ANSWERS) if removal.is_checked else ()
        numbers = (len(policies), *(outcomes[one] for one in _OUTCOMES), *compared)
        yield _InventoryRow(folder, kind, numbers)


def _inventory_table(removal: Removal) -> Iterator[tuple[str, ...]]:
    """Yield a head, a row for each folder and kind, and the sums if there are several."""
    rows = [*_inventory(removal)]
    if len(rows) > 1:
        sums = map(sum, zip(*(row.numbers for row in rows), strict=True))
        rows.append(_InventoryRow("all", "", tuple(sums)))
    yield ("folder", "kind", *islice(_COLUMNS.values(), len(rows[0].numbers)))
    yield from ((row.folder, row.kind, *map(str, row.numbers)) for row in rows)


def _conversion_entries(removal: Removal) -> Iterator[_Entry]:
    """Yield the rules that cannot be converted, and the comparisons that are not equal."""
    for policy in removal.policies:
        subject = f"{policy.kind} {policy.key}"
        if policy.conversion is None:
            text = "it cannot be converted, since it has errors"
            yield _Entry(ConversionOutcome.REFUSED, subject, policy.place, (text,))
            continue
        for rule in policy.conversion.rules:
            if rule.outcome is ConversionOutcome.REFUSED:
                yield _Entry(
                    rule.outcome, f"{subject} / {rule.rule}", rule.location,
                    (f"{rule.path}: {rule.reason}",), advice=rule.advice,
                )  # fmt: skip
        if policy.evidence and policy.evidence.answer is not Answer.EQUAL:
            answer = policy.evidence.answer
            lines = (headline(policy.evidence), *policy.evidence.reasons)
            advice = f"kyvsim migrate {shlex.quote(policy.place.file)} --check shows the cases"
            yield _Entry(answer, subject, policy.place, lines, advice=advice)


# Formats.


def render_text(upgrade: Upgrade, options: RenderOptions) -> Iterator[str]:
    """Yield the sections, with at most a few entries each unless all are requested."""
    paint = painter(colours=options.colours)
    yield f"{paint('title', safe_line(_heading(upgrade)))}\n"
    for section in filter(_is_shown, _sections(upgrade)):
        yield f"\n{paint('title', safe_line(section.title))}\n"
        yield from _aligned_table(section.table)
        shown = section.entries if options.detailed else section.entries[:_MOST]
        for entry in shown:
            place = f" ({entry.place})" if entry.place else ""
            text = f"{entry.title}{place}"
            first, *rest = wrapped(text, options.width, "    ", f"  {entry.tag}  ")
            style = _PAINTS.get(_STYLES.get(entry.tag, ""), "title")
            yield f"{first.replace(entry.tag, paint(style, entry.tag), 1)}\n"
            yield from (f"{line}\n" for line in rest)
            for line in entry.lines:
                yield from (f"{part}\n" for part in _kept(line, options.width))
            for word, text in (("cause", entry.cause), ("next", entry.advice)):
                if text:
                    lines = wrapped(text, options.width, " " * 11, f"    {word:<5}  ")
                    yield from (f"{line}\n" for line in lines)
        if len(shown) < len(section.entries):
            yield f"  and {len(section.entries) - len(shown)} more (--detailed-results)\n"
        if section.advice:
            yield from (
                f"{line}\n" for line in wrapped(section.advice, options.width, " " * 8, "  next  ")
            )
    yield "\n"


def _is_shown(section: _Section) -> bool:
    return bool(section.entries or section.table)


def _kept(line: str, width: int) -> Iterable[str]:
    """Return a line of an entry; lines of YAML keep their indentation."""
    if line.startswith(("+ ", "- ")):
        return (f"    {safe_line(line)}",)
    return wrapped(line, width, "    ")


def _aligned_table(table: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        yield f"  {aligned(map(safe_line, row), widths)}\n"


def render_markdown(upgrade: Upgrade, _: RenderOptions) -> Iterator[str]:
    """Yield the sections as lists, for comments on pull requests."""
    yield f"**{markdown_text(_heading(upgrade))}**\n\n"
    for section in filter(_is_shown, _sections(upgrade)):
        yield f"### {markdown_text(section.title)}\n\n"
        for number, row in enumerate(section.table):
            yield table_line(tuple(map(markdown_text, row)))
            yield table_line(("---",) * len(row)) if not number else ""
        yield "\n" if section.table else ""
        for entry in section.entries:
            place = f" ({entry.place})" if entry.place else ""
            yield f"- **{markdown_text(entry.tag)}** {markdown_text(entry.title + place)}\n"
            labels = (("cause: ", entry.cause), ("next: ", entry.advice))
            lines = (*entry.lines, *(word + text for word, text in labels if text))
            yield from (f"  <br>{markdown_text(line)}\n" for line in lines)
        yield f"\nnext: {markdown_text(section.advice)}\n" if section.advice else ""
        yield "\n"
    yield f"{markdown_text(ending_line(upgrade_ending(upgrade)))}\n"


def render_html(upgrade: Upgrade, _: RenderOptions) -> Iterator[str]:
    """Yield the page in pieces."""
    return page(
        "upgrade.html",
        heading=_heading(upgrade),
        ending=ending_of(upgrade_ending(upgrade)),
        diagnostics=upgrade.diagnostics,
        sections=[*filter(_is_shown, _sections(upgrade))],
        styles=_STYLES,
    )


def render_json(upgrade: Upgrade, _: RenderOptions) -> Iterator[str]:
    """Yield the document; every change is listed, with its cause."""
    yield from json_document(
        "upgrade",
        {
            "from": upgrade.old,
            "to": upgrade.removal.release.name if upgrade.removal else upgrade.new,
            "evaluated": upgrade.new,
            "rejected": map(_rejected_json, upgrade.rejected),
            "accepted": map(_rejected_json, upgrade.accepted),
            "results": (
                {
                    "impact": group.impact.value,
                    "cause": _cause_json(group.cause),
                    "policy": one.verdict.policy,
                    "rule": one.verdict.rule,
                    "type": one.verdict.type,
                    "resource": one.resource,
                    "location": place_json(one.place),
                    **{
                        word: {
                            "result": side.result,
                            "message": side.message,
                            "ruleLocation": place_json(side.rule_place),
                        }
                        if side
                        else None
                        for word, side in (("old", one.verdict.old), ("new", one.verdict.new))
                    },
                }
                for group in upgrade.results
                for one in group.results
            ),
            "objects": (
                {
                    "effect": one.difference.effect.value,
                    "cause": _cause_json(one.cause),
                    "resource": one.resource,
                    "location": place_json(one.place),
                    "old": one.difference.old and one.difference.old.object,
                    "new": one.difference.new and one.difference.new.object,
                }
                for one in upgrade.objects
            ),
            "rows": ({**row._asdict(), "place": place_json(row.place)} for row in upgrade.rows),
            "scenarios": (
                {
                    "impact": one.impact.value,
                    "cause": _cause_json(one.cause),
                    "file": one.place.file,
                    "events": [*one.events],
                    "ending": [*one.ending],
                }
                for one in upgrade.scenarios
            ),
            "notes": (
                {
                    **(_cause_json(note.change) or {}),
                    "parts": [
                        {"subject": part.subject, "location": place_json(part.place)}
                        for part in note.parts
                    ],
                }
                for note in upgrade.notes
            ),
            "removal": _removal_json(upgrade.removal) if upgrade.removal else None,
            "diagnostics": map(diagnostic_json, upgrade.diagnostics),
            "ending": ending_json(upgrade_ending(upgrade)),
        },
    )


def _rejected_json(one: RejectedPolicy) -> dict[str, object]:
    return {
        "policy": one.subject,
        "location": place_json(one.place),
        "diagnostics": [*map(diagnostic_json, one.diagnostics)],
        "cause": _cause_json(one.cause),
    }


def _cause_json(cause: ReleaseChange | None) -> dict[str, object] | None:
    return cause and {
        "facts": [*cause.facts],
        "impact": cause.impact.value,
        "text": cause.text,
        "advice": cause.advice,
    }


def _removal_json(removal: Removal) -> dict[str, object]:
    return {
        "kinds": sorted(removal.release.removed_kinds),
        "inventory": [
            {
                "folder": row.folder,
                "kind": row.kind,
                **dict(zip(_COLUMNS, row.numbers, strict=False)),
            }
            for row in _inventory(removal)
        ],
        "policies": [
            {
                "kind": one.kind,
                "policy": one.key,
                "folder": one.folder,
                "location": place_json(one.place),
                "outcome": _outcome(one).value,
                "rules": [
                    {
                        "rule": rule.rule,
                        "outcome": rule.outcome.value,
                        "reason": rule.reason,
                        "advice": rule.advice,
                    }
                    for rule in (one.conversion.rules if one.conversion else ())
                ],
                "successors": [
                    {"kind": made.data["kind"], "name": made.data["metadata"]["name"]}
                    for made in (one.conversion.made if one.conversion else ())
                ],
                "evidence": evidence_json(one.evidence) if one.evidence else None,
            }
            for one in removal.policies
        ],
    }
