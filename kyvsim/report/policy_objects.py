"""Results as policy reports of the Kubernetes policy working group, OpenReports, or exceptions.

Results of ClusterPolicies are in one report for the cluster named `merged`, those of a namespaced
Policy in a separate report. Results have a timestamp only if the time of the run was given, so that
the output for the same input is identical.

upstream: cmd/cli/kubectl-kyverno/report/report.go, which uses the kind `PolicyReport` for
namespaced OpenReports; their group does not have it, so they are `Report` here.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import Json, ObjectKey, metadata, object_key, text_field
from kyvsim.model.policy import Policy
from kyvsim.model.result import (
    EngineResponse,
    Phase,
    RuleStatus,
    report_process,
    report_properties,
    report_source,
)
from kyvsim.report.object_text import scalar, to_yaml
from kyvsim.report.results import (
    Row,
    category_of,
    compile_rows,
    identity,
    severity_of,
    short_title,
    summary_of,
)
from kyvsim.report.run import BeginDocument, Lists, NotStreamable, Run, StreamingDocument
from kyvsim.report.style import RenderOptions

if TYPE_CHECKING:
    from datetime import datetime


class _ReportApi(NamedTuple):
    """An API group with reports; both have the same fields in results."""

    version: str
    cluster: str
    """The kind of the report for the cluster."""
    own: str
    """The kind of reports in namespaces."""
    ending: Mapping[str, str] = MappingProxyType({})
    """Last fields of each report, besides its counts."""

    def report(self, kind: str, name: str, namespace: str, release: str) -> dict[str, object]:
        """Return the beginning of a report."""
        meta: dict[str, object] = {"annotations": {"kyvsim/kyverno": release}, "name": name}
        if namespace:
            meta["namespace"] = namespace
        return {"apiVersion": self.version, "kind": kind, "metadata": meta}


_WORKING_GROUP = _ReportApi("wgpolicyk8s.io/v1alpha2", "ClusterPolicyReport", "PolicyReport")
_OPEN_REPORTS = _ReportApi(
    "openreports.io/v1alpha1", "ClusterReport", "Report", MappingProxyType({"source": ""})
)


class _Results:
    """The results of a run: those of the cluster-wide report stream, others follow at the end."""

    def __init__(self, run: Run) -> None:
        self.has_others = any(policy.namespace for policy in run.policies)
        self._run = run
        self._rows_of = compile_rows(audit_warn=run.audit_warn)
        self._entry = _compile_entry(run.now)
        self._statuses: Counter[str] = Counter()
        self._apart: list[tuple[Policy, dict[str, object]]] = []

    def of(self, response: EngineResponse) -> Iterator[dict[str, object]]:
        """Yield the results of cluster-wide policies; parts raise NotStreamable for others."""
        if self._run.is_part and self.has_others:
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

    def others(self) -> Iterator[tuple[Policy, list[dict[str, object]], dict[str, int]]]:
        """Yield each namespaced policy with its entries and their counts, by namespace and name."""
        ordered = sorted(self._apart, key=lambda pair: pair[0].key)
        for _, pairs in groupby(ordered, key=lambda pair: pair[0].key):
            policies, entries = zip(*pairs, strict=True)
            counts = summary_of(str(entry["result"]) for entry in entries)
            yield policies[0], [*entries], counts.as_dict()


def _begin_yaml(run: Run, _: RenderOptions, *, group: _ReportApi) -> StreamingDocument:
    """Begin one YAML document for each report; the cluster-wide one is first and streams."""
    results = _Results(run)
    nested: dict[str, tuple[object, str]] = {}

    def line(key: str, value: object) -> str:
        """Return one field. Entries are flat; the text of the last nested value is cached."""
        if isinstance(value, str):
            return f"{key}: {scalar(value)}\n"
        if isinstance(value, bool):
            return f"{key}: {'true' if value else 'false'}\n"
        known = nested.get(key)
        if known is None or known[0] != value:
            text = to_yaml({key: value}).replace("\n", "\n  ").removesuffix("  ")
            known = nested[key] = (value, text)
        return known[1]

    def text_of(entries: Iterable[Mapping[str, object]]) -> str:
        texts = ("  ".join(line(*field) for field in entry.items()) for entry in entries)
        return "".join(f"- {text}" for text in texts)

    def tail(_: Lists) -> Iterator[str]:
        counts = results.counts()
        yield "" if any(counts.values()) else "results: []\n"
        yield to_yaml({**group.ending, "summary": counts})
        for policy, own, counts in results.others():
            head = to_yaml(group.report(group.own, policy.name, policy.namespace, run.release))
            yield f"---\n{head}results:\n{text_of(own)}"
            yield to_yaml({**group.ending, "summary": counts})

    return StreamingDocument(
        head=lambda: (to_yaml(group.report(group.cluster, "merged", "", run.release)),),
        row=lambda response: text_of(results.of(response)),
        tail=tail,
        lead="results:\n",
    )


def _begin_json(run: Run, _: RenderOptions, *, group: _ReportApi) -> StreamingDocument:
    """Begin one JSON document: the cluster-wide report, or a List if policies have namespaces."""
    results = _Results(run)
    listed = results.has_others

    def ending(counts: dict[str, int]) -> str:
        return f"], {json.dumps({**group.ending, 'summary': counts})[1:]}"

    def opening(kind: str, name: str, namespace: str) -> str:
        return f'{json.dumps(group.report(kind, name, namespace, run.release))[:-1]}, "results": ['

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


begin_report_yaml: BeginDocument = partial(_begin_yaml, group=_WORKING_GROUP)
begin_report_json: BeginDocument = partial(_begin_json, group=_WORKING_GROUP)
begin_open_yaml: BeginDocument = partial(_begin_yaml, group=_OPEN_REPORTS)
begin_open_json: BeginDocument = partial(_begin_json, group=_OPEN_REPORTS)


def _compile_entry(now: "datetime | None") -> Callable[[Row], dict[str, object]]:
    """Return a function that returns a report's entry for a row, with sorted keys.

    Empty fields are omitted, also a false `scored`, as in the type upstream
    (openreports.io/v1alpha1, ReportResult).
    """
    about: dict[Policy, dict[str, object]] = {}
    last: object = None
    resources: list[dict[str, str]] = []
    dated = {"timestamp": {"nanos": 0, "seconds": int(now.timestamp())}} if now else {}

    def entry(row: Row) -> dict[str, object]:
        nonlocal last, resources
        policy, result = row.policy, row.result
        known = about.get(policy)
        if known is None:
            known = about[policy] = {
                "properties": {"process": report_process(policy)},
                "category": category_of(policy),
                "severity": severity_of(policy),
            }
        if last is not row.resource:
            # A reference to the object.
            meta = metadata(row.resource)
            named = identity(row.resource)
            for name in ("resourceVersion", "uid"):
                named[name] = text_field(meta, name)
            last = row.resource
            resources = [{name: text for name, text in sorted(named.items()) if text}]
        shown = {
            **known,
            "message": result.message,
            "policy": policy.key,
            "resources": resources,
            "result": row.status,
            "rule": result.rule.name,
            "scored": policy.scored,
            "source": report_source(policy.kind),
            **dated,
        }
        if result.note or result.properties or result.exceptions:
            own = {"note": result.note} if result.note else {}
            shown["properties"] = dict(sorted({**own, **report_properties(policy, result)}.items()))
        return {key: value for key, value in sorted(shown.items()) if value}

    return entry


_REMAINING: Final = "remaining"


def _begin_exceptions(run: Run, options: RenderOptions, *, as_yaml: bool) -> StreamingDocument:
    """Begin PolicyExceptions that exempt all failures, one for each.

    Policies with rules are exempted by exceptions of `kyverno.io`, CEL policies by those of
    `policies.kyverno.io`. Failures that cannot be exempted are counted separately: Kubernetes' own
    policies have no exceptions, and an object needs a name. upstream:
    cmd/cli/kubectl-kyverno/commands/apply/print.go (printExceptions). Kyverno only supports the
    former, and restricts those of Pod security to controls and images, with names that often do not
    match.
    """
    rows_of = compile_rows(audit_warn=run.audit_warn)
    remaining: list[str] = []

    def row(response: EngineResponse) -> str:
        texts: list[str] = []
        for failure in rows_of(response):
            if failure.status != RuleStatus.FAIL.value or failure.result.phase is Phase.DELETE:
                continue
            make = _MAKERS.get(split_api_version(failure.policy.facts.api_version)[0])
            key = object_key(failure.resource)
            if make is None or not key.name:
                policy = failure.policy
                remaining.append(f"{policy.kind} {policy.key}, {short_title(failure.resource)}")
                continue
            exception = make(failure, key)
            if options.lifetime:
                labels = {"labels": {"cleanup.kyverno.io/ttl": options.lifetime}}
                exception["metadata"] = labels | exception["metadata"]
            text = f"---\n{to_yaml(exception)}" if as_yaml else f",\n  {json.dumps(exception)}"
            texts.append(text)
        return "".join(texts)

    def tail(lists: Lists) -> Iterator[str]:
        failures = iter(lists.get(_REMAINING, ()))
        first = next(failures, None)
        if first is not None:
            which = f"{1 + sum(1 for _ in failures)} of the failures (first: {first})"
            options.print_aside(f"no exception can exempt {which}")
        yield "" if as_yaml else "]}\n"

    head = "" if as_yaml else '{"apiVersion": "v1", "kind": "List", "items": ['
    # The first one has no separator.
    skipped = len("---\n" if as_yaml else ",")
    return StreamingDocument(
        head=lambda: (head,), row=row, tail=tail, lists={_REMAINING: remaining}, skipped=skipped
    )


begin_exceptions_yaml: BeginDocument = partial(_begin_exceptions, as_yaml=True)
begin_exceptions_json: BeginDocument = partial(_begin_exceptions, as_yaml=False)


def _for_rules(row: Row, key: ObjectKey) -> dict[str, Json]:
    rule, policy = row.result.rule, row.policy
    kinds, names, rules = [key.kind], [key.name], [rule.name]
    if rule.autogen_prefix:
        own = next(written.name for written in policy.rules if written.path == rule.path)
        if key.kind == "CronJob":
            kinds.append("Job")
            rules.append(f"autogen-{own}")
        kinds.append("Pod")
        names.append(f"{key.name}-*")
        rules.append(own)
    where = {"namespaces": [key.namespace]} if key.namespace else {}
    return {
        "apiVersion": "kyverno.io/v2beta1",
        "kind": "PolicyException",
        "metadata": {"name": _name(policy.name, rule.name, key)},
        "spec": {
            "exceptions": [{"policyName": policy.key, "ruleNames": rules}],
            "match": {"all": [{"resources": {"kinds": kinds, "names": names, **where}}]},
        },
    }


def _for_policy(row: Row, key: ObjectKey) -> dict[str, Json]:
    policy = row.policy
    tests = [f"object.kind == {_quoted(key.kind)}", f"object.metadata.name == {_quoted(key.name)}"]
    test = " && ".join(tests)
    if row.result.rule.variant:
        below = "in ['Job', 'Pod']" if key.kind == "CronJob" else "== 'Pod'"
        prefix = _quoted(f"{key.name}-")
        test += f" || object.kind {below} && object.metadata.name.startsWith({prefix})"
    conditions = [{"name": "object", "expression": test}]
    if key.namespace:
        inside = f"object.metadata.namespace == {_quoted(key.namespace)}"
        conditions.append({"name": "namespace", "expression": inside})
    where = {"namespace": policy.namespace} if policy.namespace else {}
    return {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "PolicyException",
        "metadata": {"name": _name(policy.name, "", key), **where},
        "spec": {
            "matchConditions": conditions,
            "policyRefs": [{"kind": policy.kind, "name": policy.name}],
        },
    }


_MAKERS: Final = MappingProxyType({"kyverno.io": _for_rules, "policies.kyverno.io": _for_policy})
"""Functions that return an exception, by the group of the policy."""


def _quoted(text: str) -> str:
    return json.dumps(text) if "'" in text or "\\" in text else f"'{text}'"


def _name(policy: str, rule: str, key: ObjectKey) -> str:
    """Return a name that an API server accepts.

    upstream omits the kind, so the exception of a second object with the same name replaces the
    first.
    """
    text = "-".join(filter(None, (policy, rule, key.kind, key.namespace, key.name))).lower()
    return re.sub(r"[^a-z0-9.-]", "-", text)[:253].rstrip("-.")
