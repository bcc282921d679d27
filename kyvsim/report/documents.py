"""The run as one JSON or YAML document, and its objects as a stream of manifests."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from kyvsim.model.policy import Policy
from kyvsim.model.result import EngineResponse, Phase
from kyvsim.report.diagnostics import (
    Explain,
    diagnostic_json,
    location_json,
    resource_place,
    rule_place,
)
from kyvsim.report.finding import finding_of
from kyvsim.report.object_text import document_origin, json_entries, to_json, to_yaml
from kyvsim.report.results import (
    QUIET,
    Row,
    category_of,
    compile_rows,
    generated,
    identity,
    identity_of,
    mutations,
    passed_rules,
    patched_targets,
    severity_of,
    silent_rows,
)
from kyvsim.report.run import (
    Lists,
    Run,
    StreamingDocument,
    counts_line,
    ending_json,
    figures,
    run_ending,
)
from kyvsim.report.style import RenderOptions, painter
from kyvsim.report.text_blocks import (
    PlannedDeletions,
    ReferenceIndex,
    RelatedObjects,
    collisions_in,
    known_targets,
    pending_references,
    read_related,
    related_line,
    repeat_entries,
    resource_block,
    schedule_entry,
    verdict_block,
)

# The run as one JSON document, for programs.
# `results` stream; the text of later fields (`mutated`, `generated`, `targets`, `references`) is
# stored until the last result is written. Without a position, lines and columns are 0 and files "".

_OBJECTS: Final = ("mutated", "generated", "targets")
"""Lists of changed or created objects."""
_ASIDES: Final = ("unchecked", "notIdempotent")
"""Lists that are only written if they have entries."""
_RELATED: Final = "targets of references"
_NEEDED: Final = "pending references"
"""Lists from which the references are made."""


def begin_json(run: Run, _: RenderOptions) -> StreamingDocument:
    """Begin the document; lists after its results are stored until these are written."""
    found = RelatedObjects(run)
    lists = found.lists
    lists.update((name, []) for name in (*_OBJECTS, *_ASIDES, _RELATED, _NEEDED))
    rows_of, row_text = compile_rows(audit_warn=run.audit_warn), _compile_row_text(run.explain)

    def row(response: EngineResponse) -> str:
        found.add(response)
        targets, needs = [*known_targets(response)], pending_references(response)
        if targets and run.mutates:
            lists[_RELATED].append(related_line(targets, ()))
        lists[_NEEDED] += (related_line((), (need,)) for need in needs)
        rows = list(rows_of(response))
        texts = [row_text(result_row, response) for result_row in rows]
        lists["unchecked"].extend(map(to_json, _unchecked((*rows, *silent_rows(response)))))
        lists["notIdempotent"].extend(map(to_json, repeat_entries(response)))
        for key, entry in _objects(response):
            lists[key].append(to_json(entry))
        return ",\n  ".join(("", *texts))

    return StreamingDocument(
        head=lambda: ('{"results": [',),
        row=row,
        tail=lambda every: _tail(run, every),
        lists=lists,
        skipped=1,
    )


def _tail(run: Run, every: Lists) -> Iterator[str]:
    """Yield the fields after the results; most lists are only written if they have entries."""
    objects: dict[str, Iterable[str]] = {name: every.get(name, ()) for name in _OBJECTS}
    objects["references"] = map(to_json, _needs(every))
    if run.schedules:
        is_dated = run.now is not None
        objects["deleted"] = map(to_json, PlannedDeletions(every).entries(run.schedules))
        objects["schedules"] = [
            to_json(schedule_entry(one, dated=is_dated)) for one in run.schedules
        ]
    collisions = [*map(to_json, collisions_in(every).entries())]
    if collisions:
        objects["collisions"] = collisions
    for name in _ASIDES:
        if every.get(name) or (name == "notIdempotent" and run.checks_idempotence):
            objects[name] = every.get(name, ())
    objects["diagnostics"] = [to_json(diagnostic_json(entry)) for entry in run.all_diagnostics()]
    yield "]"
    for key, texts in objects.items():
        yield from (f',\n"{key}": [', *json_entries(texts), "]")
    if run.baseline:
        rest = (sum(part.values()) for part in run.rest() or ({}, {}, {}))
        numbers = dict(zip(("met", "stale", "notLookedAt"), rest, strict=True))
        yield f',\n"baseline": {to_json({"file": run.baseline.file, **numbers})}'
    yield f',\n"ending": {json.dumps(ending_json(run_ending(run)))}'
    yield f',\n"kyvsim": {json.dumps(document_origin("apply"))}'
    yield f',\n"summary": {json.dumps(figures(run))}}}\n'


def _needs(every: Lists) -> Iterator[dict[str, object]]:
    """Yield the references that mutations added, with what resolves them."""
    references = ReferenceIndex()
    if every.get(_NEEDED):
        for line in every.get(_RELATED, ()):
            references.add(read_related(line)[0])
    for line in every.get(_NEEDED, ()):
        for need in read_related(line)[1]:
            kind, namespace, name = need.reference.target
            yield {
                "resource": identity_of(need.key),
                "needs": {"apiVersion": "v1", "kind": kind, "namespace": namespace, "name": name},
                "places": list(need.reference.places),
                "optional": need.reference.optional,
                "metBy": references.met_by(need),
                "hint": need.hint,
            }


def _unchecked(rows: Iterable[Row]) -> Iterator[dict[str, object]]:
    for row in rows:
        if row.result.unchecked:
            yield {
                "policy": row.policy.key,
                "rule": row.result.rule.name,
                "resource": identity(row.resource),
                "result": row.status,
                "reasons": list(row.result.unchecked),
            }


def _compile_row_text(explain: Explain) -> Callable[[Row, EngineResponse], str]:
    """Return a function that renders a row; parts that rows share are cached."""
    heads: dict[tuple[Policy, str, Phase], str] = {}
    quote = json.encoder.encode_basestring_ascii
    last: tuple[object, EngineResponse | None] = None, None
    resource = place = ""

    def text(row: Row, response: EngineResponse) -> str:
        nonlocal last, resource, place
        result = row.result
        key = (row.policy, result.rule.name, result.phase)
        head = heads.get(key)
        if head is None:
            about = {
                "policy": row.policy.key,
                "rule": result.rule.name,
                "type": result.phase.value,
                "severity": severity_of(row.policy),
                "category": category_of(row.policy),
                "ruleLocation": location_json(rule_place(row)),
            }
            head = heads[key] = json.dumps(about)[:-1] + ', "resource": '
        note = f', "note": {quote(result.note)}' if result.note else ""
        outcome = f'"result": "{row.status}", "message": {quote(result.message)}{note}'
        state = f', "baseline": "{result.baseline}"' if result.baseline else ""
        if last[0] is not row.resource or last[1] is not response:
            last = row.resource, response
            resource = json.dumps(identity(row.resource))
            place = json.dumps(location_json(resource_place(response)))
        where = place
        if row.status not in QUIET:
            where = json.dumps(location_json(finding_of(row, response, explain).location))
        path = f'"path": {quote(result.path)}'
        return f'{head}{resource}, "location": {where}, {outcome}, {path}{state}}}'

    return text


def _objects(response: EngineResponse) -> Iterator[tuple[str, dict[str, object]]]:
    trigger = identity(response.trigger)
    for answer in mutations(response):
        about = {"policy": answer.policy.key, "rules": passed_rules(answer), "resource": trigger}
        yield "mutated", {**about, "object": answer.object}
    changes = (("generated", generated(response)), ("targets", patched_targets(response)))
    for key, changed in changes:
        for change in changed:
            about = {"policy": change.policy.key, "rule": change.rule, "trigger": trigger}
            yield key, {**about, **change.settings, "object": change.object}


def begin_yaml(run: Run, options: RenderOptions) -> StreamingDocument:
    """Begin the document: first its `results`, then the other fields in alphabetical order."""
    document = begin_json(run, options)

    def row(response: EngineResponse) -> str:
        text = document.row(response)[document.skipped :]
        return to_yaml(json.loads(f"[{text}]")) if text else ""

    def tail(lists: Lists) -> Iterator[str]:
        rest = json.loads('{"results": [' + "".join(document.tail(lists)))
        del rest["results"]
        yield "" if any(run.result_counts.summary()) else "results: []\n"
        yield to_yaml(rest)

    return StreamingDocument(row=row, tail=tail, lists=document.lists, lead="results:\n")


_BETWEEN = "---\n"
_PRINTED: Final = "printed"


def begin_manifests(run: Run, options: RenderOptions) -> StreamingDocument:
    """Begin a stream with every resource, changed or not, as a YAML document.

    Results and counts are printed to standard error, unless it is written to a file.
    """
    paint = painter(colours=options.colours)
    rows_of = compile_rows(audit_warn=run.audit_warn, hidden=options.hidden)
    block = verdict_block(run, options, paint)
    asides: list[str] = []

    def row(response: EngineResponse) -> str:
        shown = "" if options.in_file else block(response, rows_of(response))
        if shown:
            aside = f"{resource_block(response, paint)}{shown}"
            if run.is_part:  # other parts come before it
                asides.append(json.dumps(aside))
            else:
                options.print_aside(aside)
        has_object = options.objects and response.object is not None
        return f"{_BETWEEN}{to_yaml(response.object)}" if has_object else ""

    def tail(lists: Lists) -> Iterator[str]:
        for aside in lists.get(_PRINTED, ()):
            options.print_aside(json.loads(aside))
        if not options.in_file:
            options.print_aside(counts_line(run))
        yield from ()

    return StreamingDocument(row=row, tail=tail, lists={_PRINTED: asides}, skipped=len(_BETWEEN))
