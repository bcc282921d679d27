"""Results as policy reports of the Kubernetes policy working group (wgpolicyk8s.io/v1alpha2).

Results of ClusterPolicies stand in one ClusterPolicyReport named `merged`, those of a namespaced
Policy in a PolicyReport beside it. Nothing in a report depends on the time of the run.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from kyvsim.kube.objects import Json
from kyvsim.model.policy import SEVERITIES, Policy
from kyvsim.model.report_entry import report_process, report_properties, report_source
from kyvsim.report.json_text import without_comma
from kyvsim.report.object_yaml import scalar, to_yaml
from kyvsim.report.run import Run, Telling, Unparted
from kyvsim.report.subject import identity
from kyvsim.report.summary import Row, compile_rows, summary_of

_API_VERSION = "wgpolicyk8s.io/v1alpha2"


def render_yaml(run: Run) -> Iterator[str]:
    """Yield one YAML document a report, the cluster-wide one first and as it comes."""
    apart: list[tuple[Policy, Json]] = []
    statuses: list[str] = []
    yield _opening("ClusterPolicyReport", "merged", "")
    entries = _results_yaml(_cluster_results(run, statuses, apart))
    yield from _listed_yaml(run.told.pieces if run.told else entries)
    yield to_yaml({"summary": _counted(run, statuses)})
    for policy, results in _grouped(apart):
        yield "---\n"
        yield _opening("PolicyReport", policy.name, policy.namespace)
        yield from _listed_yaml(_results_yaml(results))
        yield to_yaml({"summary": _counts(results)})


def render_json(run: Run) -> Iterator[str]:
    """Yield one JSON document: the cluster-wide report, or a List when policies have namespaces."""
    apart: list[tuple[Policy, Json]] = []
    statuses: list[str] = []
    listed = any(policy.namespace for policy in run.policies)
    if listed:
        yield '{"apiVersion": "v1", "kind": "List", "items": [\n'
    entries = _results_json(_cluster_results(run, statuses, apart))
    told = run.told.pieces if run.told else entries
    yield from _report_json("ClusterPolicyReport", {"name": "merged"}, told)
    yield f', "summary": {json.dumps(_counted(run, statuses))}}}'
    for policy, own in _grouped(apart):
        yield ",\n"
        about = {"name": policy.name, "namespace": policy.namespace}
        yield from _report_json("PolicyReport", about, _results_json(own))
        yield f', "summary": {json.dumps(_counts(own))}}}'
    yield "]}\n" if listed else "\n"


def tell_yaml(run: Run) -> Telling:
    """Return the entries of a part of the responses, for the report in YAML."""
    return Telling(_results_yaml(_untied(run)))


def tell_json(run: Run) -> Telling:
    """Return the entries of a part of the responses, for the report in JSON."""
    return Telling(_results_json(_untied(run)))


def _untied(run: Run) -> Iterator[Json]:
    """Yield results where there is one report for all of them; raises Unparted."""
    if any(policy.namespace for policy in run.policies):
        raise Unparted
    yield from _cluster_results(run, [], [])


def _counted(run: Run, statuses: list[str]) -> dict[str, int]:
    """Return the counts of cluster-wide policies; there are no others where parts are told."""
    return (run.course.summary() if run.told else summary_of(statuses)).as_dict()


def _opening(kind: str, name: str, namespace: str) -> str:
    meta = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return to_yaml({"apiVersion": _API_VERSION, "kind": kind, "metadata": meta})


def _cluster_results(
    run: Run, statuses: list[str], apart: list[tuple[Policy, Json]]
) -> Iterator[Json]:
    """Yield the results of cluster-wide policies, noting statuses; others go to `apart`."""
    rows_of = compile_rows(audit_warn=run.audit_warn)
    result_of = _compile_result()
    for response in run.responses:
        for row in rows_of(response):
            if row.policy.namespace:
                apart.append((row.policy, result_of(row)))
            else:
                statuses.append(row.status)
                yield result_of(row)


def _compile_result() -> Callable[[Row], Json]:
    """Return a function that makes a report's entry for a row, keys in alphabetical order.

    What is empty is left out, a `scored` that is false too, as the type says upstream
    (openreports.io/v1alpha1, ReportResult).
    """
    about: dict[int, Json] = {}
    last: list[Json] = [None, []]

    def result(row: Row) -> Json:
        policy = row.policy
        known = about.get(id(policy))
        if known is None:
            known = about[id(policy)] = _about(policy)
        if last[0] is not row.resource:
            known_parts = {key: text for key, text in identity(row.resource).items() if text}
            last[:] = row.resource, [known_parts]
        entry = {
            **known,
            "message": row.result.message,
            "policy": policy.key,
            "resources": last[1],
            "result": row.status,
            "rule": row.result.rule.name,
            "scored": policy.scored,
            "source": report_source(policy.kind),
        }
        found = row.result
        if found.note or found.properties or found.exceptions:
            own = {"note": found.note} if found.note else {}
            entry["properties"] = dict(sorted({**own, **report_properties(policy, found)}.items()))
        return {key: value for key, value in sorted(entry.items()) if value}

    return result


def _about(policy: Policy) -> Json:
    """Return what all entries of a policy say of it."""
    category = policy.annotations.get("policies.kyverno.io/category")
    severity = policy.annotations.get("policies.kyverno.io/severity")
    known: dict[str, Json] = {"properties": {"process": report_process(policy)}}
    if category.__class__ is str and category:
        known["category"] = category
    if severity in SEVERITIES:
        known["severity"] = severity
    return known


def _results_yaml(results: Iterable[Json]) -> Iterator[str]:
    """Yield the entries as YAML; entries are flat, so writing them needs no emitter."""
    entry_line = _compile_entry_line()
    for entry in results:
        lines = [entry_line(key, value) for key, value in entry.items()]
        yield f"- {'  '.join(lines)}"


def _listed_yaml(entries: Iterable[str]) -> Iterator[str]:
    lead = "results:\n"
    for entry in entries:
        yield f"{lead}{entry}"
        lead = ""
    if lead:
        yield "results: []\n"


def _compile_entry_line() -> Callable[[str, Json], str]:
    """Return a function that writes one field; of nested values it keeps the text of the last."""
    nested: dict[str, tuple[Json, str]] = {}

    def line(key: str, value: Json) -> str:
        if value.__class__ is str:
            return f"{key}: {scalar(value)}\n"
        if value.__class__ is bool:
            return f"{key}: {'true' if value else 'false'}\n"
        known = nested.get(key)
        if known is None or known[0] != value:
            text = to_yaml({key: value}).replace("\n", "\n  ").removesuffix("  ")
            known = nested[key] = (value, text)
        return known[1]

    return line


def _results_json(results: Iterable[Json]) -> Iterator[str]:
    """Yield the entries as JSON, a comma before each."""
    return (f",\n  {json.dumps(entry)}" for entry in results)


def _report_json(kind: str, meta: Json, entries: Iterable[str]) -> Iterator[str]:
    opening = {"apiVersion": _API_VERSION, "kind": kind, "metadata": meta}
    yield json.dumps(opening)[:-1] + ', "results": ['
    yield from without_comma(entries)
    yield "]"


def _grouped(apart: list[tuple[Policy, Json]]) -> Iterator[tuple[Policy, list[Json]]]:
    """Yield each namespaced policy with its entries, by namespace and name."""
    ordered = sorted(apart, key=lambda pair: pair[0].key)
    for _, pairs in groupby(ordered, key=lambda pair: pair[0].key):
        own = list(pairs)
        yield own[0][0], [entry for _, entry in own]


def _counts(results: list[Json]) -> dict[str, int]:
    return summary_of(entry["result"] for entry in results).as_dict()
