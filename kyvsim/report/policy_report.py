"""Results as policy reports of the Kubernetes policy working group, or as OpenReports.

Results of ClusterPolicies are in one report for the cluster named `merged`, those of a namespaced
Policy in a report beside it. Results have a timestamp only where the time of the run was given, so
that the same input gives the same bytes.

upstream: cmd/cli/kubectl-kyverno/report/report.go, which names the kind of reports beside the one
for the cluster `PolicyReport`; their group has none of that kind, so they are `Report` here.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.model.policy import Policy
from kyvsim.model.result import EngineResponse, report_process, report_properties, report_source
from kyvsim.report.object_text import scalar, to_yaml
from kyvsim.report.results import Row, category_of, compile_rows, identity, severity_of, summary_of
from kyvsim.report.run import BeginDocument, Lists, NotStreamable, Run, StreamingDocument
from kyvsim.report.style import RenderOptions

if TYPE_CHECKING:
    from datetime import datetime


class _ReportApi(NamedTuple):
    """An API group that has reports; their results are alike."""

    version: str
    cluster: str
    """The kind of a report for the cluster."""
    own: str
    """The kind of one in a namespace."""
    ending: Mapping[str, str] = MappingProxyType({})
    """What each report ends with, besides its counts."""


_WORKING_GROUP = _ReportApi("wgpolicyk8s.io/v1alpha2", "ClusterPolicyReport", "PolicyReport")
_OPEN_REPORTS = _ReportApi(
    "openreports.io/v1alpha1", "ClusterReport", "Report", MappingProxyType({"source": ""})
)


class _Apart:
    """What is counted of the report for the cluster, and the results that are in others."""

    __slots__ = ("entries", "statuses")

    def __init__(self) -> None:
        self.statuses: Counter[str] = Counter()
        self.entries: list[tuple[Policy, Json]] = []


def _begin_yaml(run: Run, options: RenderOptions, *, group: _ReportApi) -> StreamingDocument:
    """Begin one YAML document a report, the cluster-wide one first and as it comes."""
    del options
    apart = _Apart()
    entry_line = _compile_entry_line()

    def text_of(entries: Iterable[Json]) -> str:
        texts = ("  ".join(entry_line(*field) for field in one.items()) for one in entries)
        return "".join(f"- {text}" for text in texts)

    def report(kind: str, name: str, namespace: str) -> str:
        return to_yaml(
            {"apiVersion": group.version, "kind": kind, "metadata": _meta(name, namespace)}
        )

    def tail(_: Lists) -> Iterator[str]:
        counts = _counted(run, apart)
        yield "" if any(counts.values()) else "results: []\n"
        yield to_yaml({**group.ending, "summary": counts})
        for policy, own in _grouped(apart.entries):
            yield f"---\n{report(group.own, policy.name, policy.namespace)}results:\n{text_of(own)}"
            counts = _counts(entry["result"] for entry in own)
            yield to_yaml({**group.ending, "summary": counts})

    results = _compile_cluster_results(run, apart)
    return StreamingDocument(
        head=lambda: (report(group.cluster, "merged", ""),),
        row=lambda response: text_of(results(response)),
        tail=tail,
        lead="results:\n",
    )


def _begin_json(run: Run, options: RenderOptions, *, group: _ReportApi) -> StreamingDocument:
    """Begin one JSON document: the cluster-wide report, or a List if policies have namespaces."""
    del options
    apart = _Apart()
    listed = any(policy.namespace for policy in run.policies)

    def ending(counts: dict[str, int]) -> str:
        return f"], {json.dumps({**group.ending, 'summary': counts})[1:]}"

    def opening(kind: str, name: str, namespace: str) -> str:
        about = {"apiVersion": group.version, "kind": kind, "metadata": _meta(name, namespace)}
        return f'{json.dumps(about)[:-1]}, "results": ['

    def head() -> Iterator[str]:
        yield '{"apiVersion": "v1", "kind": "List", "items": [\n' if listed else ""
        yield opening(group.cluster, "merged", "")

    def tail(_: Lists) -> Iterator[str]:
        yield ending(_counted(run, apart))
        for policy, own in _grouped(apart.entries):
            yield f",\n{opening(group.own, policy.name, policy.namespace)}\n  "
            yield ",\n  ".join(map(json.dumps, own))
            yield ending(_counts(entry["result"] for entry in own))
        yield "]}\n" if listed else "\n"

    results = _compile_cluster_results(run, apart)
    return StreamingDocument(
        head=head,
        row=lambda response: ",\n  ".join(("", *map(json.dumps, results(response)))),
        tail=tail,
        skipped=1,
    )


begin_yaml: BeginDocument = partial(_begin_yaml, group=_WORKING_GROUP)
begin_json: BeginDocument = partial(_begin_json, group=_WORKING_GROUP)
begin_open_yaml: BeginDocument = partial(_begin_yaml, group=_OPEN_REPORTS)
begin_open_json: BeginDocument = partial(_begin_json, group=_OPEN_REPORTS)


def _meta(name: str, namespace: str) -> Json:
    return {"name": name, "namespace": namespace} if namespace else {"name": name}


def _compile_cluster_results(run: Run, apart: _Apart) -> Callable[[EngineResponse], Iterator[Json]]:
    """Return a function that yields the results of cluster-wide policies; others go `apart`.

    In parts there must be no others, since a report has one summary: it raises NotStreamable.
    """
    rows_of = compile_rows(audit_warn=run.audit_warn)
    result_of = _compile_result(run.now)
    one_for_all = not any(policy.namespace for policy in run.policies)

    def results(response: EngineResponse) -> Iterator[Json]:
        if run.is_part and not one_for_all:
            raise NotStreamable
        for row in rows_of(response):
            if row.policy.namespace:
                apart.entries.append((row.policy, result_of(row)))
            else:
                apart.statuses[row.status] += 1
                yield result_of(row)

    return results


def _compile_result(now: "datetime | None") -> Callable[[Row], Json]:
    """Return a function that makes a report's entry for a row, keys in alphabetical order.

    What is empty is left out, a `scored` that is false too, as the type says upstream
    (openreports.io/v1alpha1, ReportResult).
    """
    about: dict[Policy, Json] = {}
    last: list[Json] = [None, []]
    dated = {"timestamp": {"nanos": 0, "seconds": int(now.timestamp())}} if now else {}

    def result(row: Row) -> Json:
        policy = row.policy
        known = about.get(policy)
        if known is None:
            known = about[policy] = _about(policy)
        if last[0] is not row.resource:
            last[:] = row.resource, [_reference(row.resource)]
        entry = {
            **known,
            "message": row.result.message,
            "policy": policy.key,
            "resources": last[1],
            "result": row.status,
            "rule": row.result.rule.name,
            "scored": policy.scored,
            "source": report_source(policy.kind),
            **dated,
        }
        found = row.result
        if found.note or found.properties or found.exceptions:
            own = {"note": found.note} if found.note else {}
            entry["properties"] = dict(sorted({**own, **report_properties(policy, found)}.items()))
        return {key: value for key, value in sorted(entry.items()) if value}

    return result


def _reference(obj: Json) -> dict[str, str]:
    """Return how a report names an object: as a reference to it, without what is empty."""
    metadata = obj.get("metadata") if obj.__class__ is dict else None
    stored = {
        name: text
        for name in ("resourceVersion", "uid")
        if metadata.__class__ is dict and (text := metadata.get(name)).__class__ is str
    }
    named = {**identity(obj), **stored}
    return {name: text for name, text in sorted(named.items()) if text}


def _about(policy: Policy) -> dict[str, Json]:
    """Return what all entries of a policy say of it."""
    known: dict[str, Json] = {"properties": {"process": report_process(policy)}}
    own = {"category": category_of(policy), "severity": severity_of(policy)}
    return known | {key: text for key, text in own.items() if text}


def _compile_entry_line() -> Callable[[str, Json], str]:
    """Return a function that writes one field; of nested values it keeps the text of the last.

    Entries are flat, so writing them needs no emitter.
    """
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


def _grouped(entries: list[tuple[Policy, Json]]) -> Iterator[tuple[Policy, list[Json]]]:
    """Yield each namespaced policy with its entries, by namespace and name."""
    ordered = sorted(entries, key=lambda pair: pair[0].key)
    for _, pairs in groupby(ordered, key=lambda pair: pair[0].key):
        own = list(pairs)
        yield own[0][0], [entry for _, entry in own]


def _counted(run: Run, apart: _Apart) -> dict[str, int]:
    """Return the counts of cluster-wide policies; there are no others where parts are reported."""
    return run.result_counts.summary().as_dict() if run.rendered else _counts(apart.statuses)


def _counts(statuses: Iterable[str]) -> dict[str, int]:
    return summary_of(statuses).as_dict()
