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

from kyvsim.kubernetes.objects import Json, metadata, text_field
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

    def report(self, kind: str, name: str, namespace: str) -> dict[str, Json]:
        """Return the beginning of a report."""
        meta = {"name": name, "namespace": namespace} if namespace else {"name": name}
        return {"apiVersion": self.version, "kind": kind, "metadata": meta}


_WORKING_GROUP = _ReportApi("wgpolicyk8s.io/v1alpha2", "ClusterPolicyReport", "PolicyReport")
_OPEN_REPORTS = _ReportApi(
    "openreports.io/v1alpha1", "ClusterReport", "Report", MappingProxyType({"source": ""})
)


class _Results:
    """The results of a run: those of the report for the cluster as they come, others at the end."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._rows_of = compile_rows(audit_warn=run.audit_warn)
        self._entry = _compile_entry(run.now)
        self._statuses: Counter[str] = Counter()
        self._apart: list[tuple[Policy, Json]] = []
        self._has_others = any(policy.namespace for policy in run.policies)

    def of(self, response: EngineResponse) -> Iterator[Json]:
        """Yield the results of cluster-wide policies.

        In parts there must be no others, since a report has one summary: it raises NotStreamable.
        """
        if self._run.is_part and self._has_others:
            raise NotStreamable
        for row in self._rows_of(response):
            if row.policy.namespace:
                self._apart.append((row.policy, self._entry(row)))
            else:
                self._statuses[row.status] += 1
                yield self._entry(row)

    def counts(self) -> dict[str, int]:
        """Return the counts of cluster-wide policies; parts have no others."""
        rendered = self._run.rendered
        summary = self._run.result_counts.summary() if rendered else summary_of(self._statuses)
        return summary.as_dict()

    def others(self) -> Iterator[tuple[Policy, list[Json], dict[str, int]]]:
        """Yield each namespaced policy with its entries and their counts, by namespace and name."""
        ordered = sorted(self._apart, key=lambda pair: pair[0].key)
        for _, pairs in groupby(ordered, key=lambda pair: pair[0].key):
            own = list(pairs)
            entries = [entry for _, entry in own]
            yield own[0][0], entries, summary_of(one["result"] for one in entries).as_dict()


def _begin_yaml(run: Run, options: RenderOptions, *, group: _ReportApi) -> StreamingDocument:
    """Begin one YAML document a report, the cluster-wide one first and as it comes."""
    del options
    results = _Results(run)
    nested: dict[str, tuple[Json, str]] = {}

    def line(key: str, value: Json) -> str:
        """Return one field. Entries are flat; of a nested value the text of the last is kept."""
        if value.__class__ is str:
            return f"{key}: {scalar(value)}\n"
        if value.__class__ is bool:
            return f"{key}: {'true' if value else 'false'}\n"
        known = nested.get(key)
        if known is None or known[0] != value:
            text = to_yaml({key: value}).replace("\n", "\n  ").removesuffix("  ")
            known = nested[key] = (value, text)
        return known[1]

    def text_of(entries: Iterable[Json]) -> str:
        texts = ("  ".join(line(*field) for field in one.items()) for one in entries)
        return "".join(f"- {text}" for text in texts)

    def tail(_: Lists) -> Iterator[str]:
        counts = results.counts()
        yield "" if any(counts.values()) else "results: []\n"
        yield to_yaml({**group.ending, "summary": counts})
        for policy, own, counts in results.others():
            head = to_yaml(group.report(group.own, policy.name, policy.namespace))
            yield f"---\n{head}results:\n{text_of(own)}"
            yield to_yaml({**group.ending, "summary": counts})

    return StreamingDocument(
        head=lambda: (to_yaml(group.report(group.cluster, "merged", "")),),
        row=lambda response: text_of(results.of(response)),
        tail=tail,
        lead="results:\n",
    )


def _begin_json(run: Run, options: RenderOptions, *, group: _ReportApi) -> StreamingDocument:
    """Begin one JSON document: the cluster-wide report, or a List if policies have namespaces."""
    del options
    results = _Results(run)
    listed = any(policy.namespace for policy in run.policies)

    def ending(counts: dict[str, int]) -> str:
        return f"], {json.dumps({**group.ending, 'summary': counts})[1:]}"

    def opening(kind: str, name: str, namespace: str) -> str:
        return f'{json.dumps(group.report(kind, name, namespace))[:-1]}, "results": ['

    def head() -> Iterator[str]:
        yield '{"apiVersion": "v1", "kind": "List", "items": [\n' if listed else ""
        yield opening(group.cluster, "merged", "")

    def tail(_: Lists) -> Iterator[str]:
        yield ending(results.counts())
        for policy, own, counts in results.others():
            yield f",\n{opening(group.own, policy.name, policy.namespace)}\n  "
            yield ",\n  ".join(map(json.dumps, own))
            yield ending(counts)
        yield "]}\n" if listed else "\n"

    return StreamingDocument(
        head=head,
        row=lambda response: ",\n  ".join(("", *map(json.dumps, results.of(response)))),
        tail=tail,
        skipped=1,
    )


begin_yaml: BeginDocument = partial(_begin_yaml, group=_WORKING_GROUP)
begin_json: BeginDocument = partial(_begin_json, group=_WORKING_GROUP)
begin_open_yaml: BeginDocument = partial(_begin_yaml, group=_OPEN_REPORTS)
begin_open_json: BeginDocument = partial(_begin_json, group=_OPEN_REPORTS)


def _compile_entry(now: "datetime | None") -> Callable[[Row], Json]:
    """Return a function that makes a report's entry for a row, keys in alphabetical order.

    What is empty is left out, a `scored` that is false too, as the type says upstream
    (openreports.io/v1alpha1, ReportResult).
    """
    about: dict[Policy, Json] = {}
    last: list[Json] = [None, []]
    dated = {"timestamp": {"nanos": 0, "seconds": int(now.timestamp())}} if now else {}

    def entry(row: Row) -> Json:
        policy, found = row.policy, row.result
        known = about.get(policy)
        if known is None:
            known = about[policy] = {
                "properties": {"process": report_process(policy)},
                "category": category_of(policy),
                "severity": severity_of(policy),
            }
        if last[0] is not row.resource:
            # A reference to the object.
            meta = metadata(row.resource)
            named = identity(row.resource)
            for name in ("resourceVersion", "uid"):
                named[name] = text_field(meta, name)
            last[:] = row.resource, [{name: text for name, text in sorted(named.items()) if text}]
        shown = {
            **known,
            "message": found.message,
            "policy": policy.key,
            "resources": last[1],
            "result": row.status,
            "rule": found.rule.name,
            "scored": policy.scored,
            "source": report_source(policy.kind),
            **dated,
        }
        if found.note or found.properties or found.exceptions:
            own = {"note": found.note} if found.note else {}
            shown["properties"] = dict(sorted({**own, **report_properties(policy, found)}.items()))
        return {key: value for key, value in sorted(shown.items()) if value}

    return entry
