"""Partial reports of fleet runs: counts, rows without their objects, and summaries."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

from kyvsim.kubernetes.objects import ObjectKey, object_key
from kyvsim.model.partial import Count, Head, ReportRow
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.result import (
    EngineResponse,
    PassingPolicies,
    PolicyPasses,
    RuleStatus,
)
from kyvsim.model.source import Location
from kyvsim.report.diagnostics import (
    Explain,
    diagnostic_json,
    location_json,
    reason_lines,
    resource_place,
    rule_place,
)
from kyvsim.report.finding import finding_of
from kyvsim.report.object_text import json_document, to_json
from kyvsim.report.result_groups import (
    GroupedResult,
    ObjectBlock,
    RenderedResult,
    ResultKey,
    SeenResults,
    key_of_result,
    to_line,
    with_message,
    word_of,
)
from kyvsim.report.results import (
    NO_RESULT,
    QUIET,
    Summary,
    cached_by_rule,
    category_of,
    compile_rows,
    identity_of,
    key_title,
    only_warns,
    rule_title,
    severity_of,
    silent_rows,
    title,
    written_title,
)
from kyvsim.report.run import Run, counts_line, ending_json, figures, run_ending
from kyvsim.report.style import (
    Paint,
    RenderOptions,
    Show,
    TextLayout,
    layout_of,
    painter,
    safe_line,
)
from kyvsim.report.text import whole_line
from kyvsim.report.text_blocks import resource_heading, verdict_heading, verdict_lines


class NamespaceCounts:
    """Counts of a part of a run, updated while its responses stream through."""

    def __init__(self, *, audit_warn: bool) -> None:
        self._audit_warn = audit_warn
        self._numbers: dict[tuple[str, str, str, str, str], int] = {}
        self._titles: dict[tuple[str, str], str] = {}
        """Titles of rules that differ from the policy and rule names."""
        # Many objects share the passes of policies, so these are counted together.
        self._passes: dict[tuple[str, tuple[PolicyPasses, ...]], int] = {}
        self.resources = 0

    def add_response(self, response: EngineResponse) -> None:
        """Count the results of a response."""
        self.resources += 1
        namespace = object_key(response.trigger).namespace
        for answer in response.answers:
            if isinstance(answer, PassingPolicies):
                key = namespace, answer.passes
                self._passes[key] = self._passes.get(key, 0) + 1
                continue
            labels = response.namespace_labels or {}
            for result in answer.results:
                status = result.status
                if status is RuleStatus.FAIL and only_warns(
                    answer, labels, audit_warn=self._audit_warn
                ):
                    status = RuleStatus.WARN
                self._add(namespace, (answer.policy, result.rule), status, 1)

    def _add(
        self, namespace: str, rule: tuple[Policy, Rule], status: RuleStatus, number: int
    ) -> None:
        name = rule[0].key, rule[1].name
        if name not in self._titles:
            title = written_title(*rule)
            self._titles[name] = "" if title == rule_title(*name) else title
        key = (namespace, *name, status.value, severity_of(rule[0]))
        self._numbers[key] = self._numbers.get(key, 0) + number

    def counts(self) -> tuple[Count, ...]:
        """Return the counts so far, sorted."""
        for (namespace, passes), number in self._passes.items():
            for policy_passes in passes:
                for result in policy_passes.results:
                    self._add(namespace, (policy_passes.policy, result.rule), result.status, number)
        self._passes.clear()
        return tuple(
            Count(*key[:4], number, self._titles[key[1:3]], key[4])
            for key, number in sorted(self._numbers.items())
        )


def compile_report_rows(
    cluster: str, explain: Explain, *, audit_warn: bool, everything: bool
) -> Callable[[int, EngineResponse], Iterator[ReportRow]]:
    """Return a function that yields the rows of a response, given its number in its file.

    Rows no longer need the object, and formats render them exactly like results. Without
    `everything`, passed and skipped ones are omitted, unless they have a note, and of equal
    failures only the first ones have reasons.
    """
    rows_of = compile_rows(audit_warn=audit_warn, hidden=frozenset() if everything else QUIET)
    place_of = cached_by_rule(rule_place)
    seen = SeenResults()

    def rows(number: int, response: EngineResponse) -> Iterator[ReportRow]:
        all_rows = [*rows_of(response), *silent_rows(response)]
        if not all_rows:
            return
        place = resource_place(response) or Location("")
        own_title = title(response.trigger)
        for row in all_rows:
            key, result, rule_at = object_key(row.resource), row.result, place_of(row)
            shown = ReportRow(
                cluster=cluster,
                file=place.file,
                line=place.line,
                column=place.column,
                number=number,
                apiVersion=key.api_version,
                kind=key.kind,
                namespace=key.namespace,
                name=key.name,
                policy=row.policy.key,
                rule=result.rule.name,
                type=result.phase.value,
                place=(rule_at.file, rule_at.line, rule_at.column),
                result=row.status,
                message=result.message,
                note=result.note,
                path=result.path,
                severity=severity_of(row.policy),
                category=category_of(row.policy),
                unchecked=result.unchecked,
                kind_of_policy=row.policy.kind,
                own=result.own if result.own != result.message else "",
            )
            if own_title != _title(shown):
                shown = shown._replace(title=own_title)
            needs_attention = shown.result not in QUIET
            with_reasons = needs_attention and (everything or seen.takes(alike(shown)))
            if with_reasons or everything:
                finding = finding_of(row, response, explain, with_reasons=with_reasons)
                at = finding.location or place
                shown = shown._replace(at=(at.line, at.column))
                shown = shown._replace(reasons=finding.reasons) if with_reasons else shown
            yield shown

    return rows


def alike(row: ReportRow) -> ResultKey:
    """Return the key by which the text view of `apply` groups equal results."""
    rule = (row.result, row.kind_of_policy, rule_title(row.policy, row.rule))
    return key_of_result(rule, (row.own or row.message, row.note), (row.name, row.namespace))


def _title(row: ReportRow) -> str:
    return row.title or key_title(ObjectKey("", row.kind, row.namespace, row.name))


def text_of(rows: Iterable[ReportRow], options: RenderOptions) -> str:
    """Return rows as lines that the text view joins."""
    paint, layout = painter(colours=options.colours), layout_of(options)
    pieces = []
    for _, group in groupby(rows, attrgetter("number")):
        shown = [row for row in group if options.detailed or row.note or row.result not in QUIET]
        if not shown:
            continue
        about = _title(shown[0]), str(_place(shown[0]))
        if options.show is not Show.OBJECTS:
            pieces.append(to_line(ObjectBlock(*about, [_item(row, layout) for row in shown])))
            continue
        texts = [resource_heading(*about, paint)]
        for row in shown:
            at = _at(row) if options.detailed and _at(row) != _place(row) else None
            rule = row.result, row.policy, row.rule
            texts.append(verdict_heading(rule, str(Location(*row.place)), paint))
            texts.append(verdict_lines((row.message or row.own, row.note), at, paint))
        pieces.append(whole_line([*texts, "\n"]))
    return "".join(pieces)


def _item(row: ReportRow, layout: TextLayout) -> GroupedResult:
    is_quiet = row.result in QUIET
    name, severity = rule_title(row.policy, row.rule), "" if is_quiet else row.severity
    rendered = RenderedResult(word_of(row.result), name, severity)
    if not (is_quiet or row.reasons):
        return GroupedResult(alike(row), rendered, is_whole=False)
    rendered = with_message(rendered, (row.own, row.message, row.note), layout)
    if not is_quiet:
        rendered = rendered._replace(places="".join(reason_lines(row.reasons, layout)))
    kind = ResultKey("") if is_quiet and layout.options.detailed else alike(row)
    return GroupedResult(kind, rendered)


def _place(row: ReportRow) -> Location:
    return Location(row.file, row.line, row.column)


def _at(row: ReportRow) -> Location:
    return Location(row.file, *row.at) if any(row.at) else _place(row)


def json_of(rows: Iterable[ReportRow]) -> tuple[str, list[str]]:
    """Return rows as text of the JSON document, and its entries under `unchecked`."""
    texts, unchecked = [""], []
    for row in rows:
        rule = {"policy": row.policy, "rule": row.rule}
        key = ObjectKey(row.apiVersion, row.kind, row.namespace, row.name)
        resource = identity_of(key)
        if row.result != NO_RESULT:
            # The fields in the order of the document.
            entry = {
                **rule,
                "type": row.type,
                "severity": row.severity,
                "category": row.category,
                "ruleLocation": location_json(Location(*row.place)),
                "resource": resource,
                "location": location_json(_at(row)),
                "result": row.result,
                "message": row.message,
                **({"note": row.note} if row.note else {}),
                "path": row.path,
            }
            texts.append(json.dumps(entry))
        if row.unchecked:
            reasons = {"result": row.result, "reasons": list(row.unchecked)}
            unchecked.append(to_json({**rule, "resource": resource, **reasons}))
    return ",\n  ".join(texts), unchecked


PARTS: Final = ("cluster", "namespace", "policy", "rule")
"""Properties by which results can be counted."""
_STATUSES: Final = tuple(Summary().as_dict())


class SummaryGroup(NamedTuple):
    """Results with the same values of the chosen properties."""

    parts: tuple[str, ...]
    numbers: dict[str, int]
    """Number of results by status."""


def grouped(heads: Iterable[Head], by: Sequence[str]) -> list[SummaryGroup]:
    """Return the counts of pieces by some of `PARTS`, sorted by these."""
    numbers_by_parts: dict[tuple[str, ...], dict[str, int]] = {}
    for head in heads:
        for count in head.counts:
            shown = {"cluster": head.cluster, **count._asdict()}
            parts = tuple(shown[name] for name in by)
            numbers = numbers_by_parts.setdefault(parts, dict.fromkeys(_STATUSES, 0))
            numbers[count.result] += count.number
    return [SummaryGroup(parts, numbers) for parts, numbers in sorted(numbers_by_parts.items())]


def table(
    run: Run, groups: Sequence[SummaryGroup], by: Sequence[str], paint: Paint
) -> Iterator[str]:
    """Yield the table of counts line by line, then the totals."""
    rows = [tuple(map(safe_line, group.parts)) for group in groups]
    names = [part.upper() for part in by]
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    figure = max((len(str(n)) for group in groups for n in group.numbers.values()), default=0)
    figure = max(figure, *map(len, _STATUSES))
    yield paint("title", _line(names, widths, [status.upper() for status in _STATUSES], figure))
    for row, group in zip(rows, groups, strict=True):
        yield _line(row, widths, [str(number) for number in group.numbers.values()], figure)
    yield f"\n{counts_line(run)}\n"


def _line(parts: Iterable[str], widths: list[int], figures: Iterable[str], width: int) -> str:
    shown = [f"{part:<{size}}" for part, size in zip(parts, widths, strict=True)]
    shown += [f"{number:>{width}}" for number in figures]
    return "  ".join(shown).rstrip() + "\n"


def document(run: Run, groups: Iterable[SummaryGroup], by: Sequence[str]) -> Iterator[str]:
    """Yield the counts as a JSON document."""
    counts = ({**dict(zip(by, group.parts, strict=True)), **group.numbers} for group in groups)
    yield from json_document(
        "report",
        {
            "counts": counts,
            "diagnostics": map(diagnostic_json, run.all_diagnostics()),
            "ending": ending_json(run_ending(run)),
            "summary": figures(run),
        },
    )
