"""Reports: their entries, ephemeral reports of admission, and one report for each object."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache

from kyvsim.engine.compile import CompiledPolicy
from kyvsim.kubernetes.discovery import plural, split_api_version
from kyvsim.kubernetes.objects import (
    Json,
    KubernetesObject,
    ObjectKey,
    labels,
    metadata,
    object_key,
    text_field,
)
from kyvsim.model.policy import SEVERITIES, Policy
from kyvsim.model.result import (
    PolicyResponse,
    RuleResult,
    RuleStatus,
    report_message,
    report_properties,
    report_source,
)
from kyvsim.simulator.api_server import StoreChange
from kyvsim.simulator.api_server.metadata import reference_to, with_metadata
from kyvsim.simulator.configuration import ADMISSION, MANAGED, REPORTS
from kyvsim.simulator.context import REPORT_DELAY, REPORT_GIVEN_UP, SimulationContext
from kyvsim.simulator.native_policies import reported_policies
from kyvsim.simulator.policies import CEL_KINDS, PolicyCache

# The entries of reports: the result of one rule for one object.
# Source of the rules: upstream pkg/utils/report/results.go.

_EXCLUDED = "reports.kyverno.io/disabled"


def is_reported(policy: Policy) -> bool:
    """Return whether reports include a policy; a label excludes it."""
    meta = policy.document.data.get("metadata") or {}
    return _EXCLUDED not in (meta.get("labels") or {})


def entries(responses: Iterable[PolicyResponse], sim: SimulationContext) -> list[Json]:
    """Return the entries for the reported results, in the order of reports.

    Their timestamp is now; the installation decides which statuses are reported.
    """
    reported, seconds = sim.settings.installation.reported, int(sim.clock.now().timestamp())
    return in_order(
        _entry(one.policy, result, seconds)
        for one in responses
        if is_reported(one.policy)
        for result in one.results
        if reported is None or result.status.value in reported
    )


def in_order(results: Iterable[Json]) -> list[Json]:
    """Return entries sorted by policy and rule; entries of policies without rules have no rule."""
    return sorted(results, key=lambda one: (one["policy"], text_field(one, "rule")))


def summary(results: Iterable[Json]) -> dict[str, int]:
    """Return the number of entries with each status."""
    counts = dict.fromkeys(sorted(status.value for status in RuleStatus), 0)
    for one in results:
        counts[one["result"]] += 1
    return counts


def _entry(policy: Policy, result: RuleResult, seconds: int) -> Json:
    status = result.status.value
    unscored = result.status is RuleStatus.FAIL and not policy.scored
    severity = policy.annotations.get("policies.kyverno.io/severity")
    properties = dict(report_properties(policy, result))
    if result.generated:
        properties["generated-resources"] = "; ".join(map(_named, result.generated))
    if result.targets:
        properties["patched-target"] = _named(result.targets[0].object)
    fields = {
        "source": report_source(policy.kind),
        "policy": policy.key,
        "rule": result.rule.name,
        "message": report_message(result, status),
        "result": "warn" if unscored else status,
        "scored": policy.scored,
        "timestamp": seconds,
        "properties": tuple(properties.items()),
        "category": policy.annotations.get("policies.kyverno.io/category"),
        "severity": severity if severity in SEVERITIES else None,
    }
    return _written(tuple(fields.items()))


@lru_cache(maxsize=4096)
def _written(fields: tuple[tuple[str, Json], ...]) -> Json:
    """Return an entry; entries of many objects in the same second are shared.

    As the server serialises them, entries have no empty fields and no `scored: false`.
    upstream: api/policyreport/v1alpha2/common.go `PolicyReportResult`
    """
    entry = dict(fields)
    entry["timestamp"] = {"seconds": entry["timestamp"], "nanos": 0}
    entry["properties"] = dict(entry["properties"])
    return {name: value for name, value in entry.items() if value}


def _named(obj: KubernetesObject) -> str:
    """Return the name of an object in properties: `/v1, Kind=Secret Name=s Namespace=n`."""
    key = object_key(obj)
    group, version = split_api_version(key.api_version)
    named = f"{group}/{version}, Kind={key.kind} Name={key.name}"
    return f"{named} Namespace={key.namespace}" if key.namespace else named


# Ephemeral reports: admission results until they are merged into the object's report.
# Source of the rules: upstream pkg/utils/report (new.go, metadata.go).

API_VERSION = "reports.kyverno.io/v1"
UID_LABEL = "audit.kyverno.io/resource.uid"
_LABELS: Mapping[str, str] = {
    "ClusterPolicy": "cpol.kyverno.io",
    "Policy": "pol.kyverno.io",
    "GeneratingPolicy": "gpol.kyverno.io",
    "ImageValidatingPolicy": "ivpol.kyverno.io",
    "MutatingPolicy": "mpol.kyverno.io",
    "NamespacedMutatingPolicy": "mpol.kyverno.io",
    "ValidatingPolicy": "vpol.kyverno.io",
}
_OTHERS = "validatingadmissionpolicy.apiserver.io"
"""The label prefix for other kinds; in some releases also for other namespaced kinds in CEL."""
OWNED_NAMESPACE = "audit.kyverno.io/resource.namespace"
OWNED_NAME = "audit.kyverno.io/resource.name"
_RESOURCE = "audit.kyverno.io/resource.gvr"
_GROUP, _VERSION, _KIND = (
    f"audit.kyverno.io/resource.{one}" for one in ("group", "version", "kind")
)
_LONGEST_LABEL = 63
_OWNER = ("apiVersion", "kind", "name", "uid")


def write_report(
    sim: SimulationContext,
    subject: KubernetesObject,
    responses: Iterable[PolicyResponse],
    base: str,
    *,
    like_twins: bool,
) -> None:
    """Create a report about results at admission, if there are any to report.

    `base`, the uid of the request, is the prefix of its name. With `like_twins`, labels name
    namespaced kinds in CEL like their cluster-wide twins.
    """
    results = entries(responses, sim)
    if not results:
        return
    key = object_key(subject)
    group, version = split_api_version(key.api_version)
    place = plural(group, key.kind, sim.store.defined), version, group
    whole = ".".join(filter(None, place))
    # upstream: pkg/utils/report/metadata.go `SetResourceGVR` splits what is too long for a label.
    named = {OWNED_NAME: place[0]} if len(whole) > _LONGEST_LABEL else {_RESOURCE: whole}
    marks = {
        **MANAGED,
        **named,
        _GROUP: group,
        _VERSION: version,
        _KIND: key.kind,
        "audit.kyverno.io/source": "admission",
        UID_LABEL: text_field(metadata(subject), "uid"),
    }
    # A label for each reported policy, with its resourceVersion.
    for policy in (one.policy for one in responses if is_reported(one.policy)):
        stored = sim.store.get(policy.facts.api_version, policy.kind, policy.namespace, policy.name)
        kind = policy.kind
        if like_twins:
            kind = kind.removeprefix("Namespaced")
        label = f"{_LABELS.get(kind, _OTHERS)}/{policy.name}"
        marks[label] = text_field(metadata(stored), "resourceVersion")
    meta: dict[str, Json] = {
        "generateName": f"{base}-",
        "labels": marks,
        "annotations": {OWNED_NAMESPACE: key.namespace, OWNED_NAME: key.name},
        **({"namespace": key.namespace} if key.namespace else {}),
    }
    # upstream: pkg/utils/report/new.go sets no owner: labels and annotations name the object.
    spec = {"owner": dict.fromkeys(_OWNER, ""), "summary": summary(results), "results": results}
    kind = "EphemeralReport" if key.namespace else "ClusterEphemeralReport"
    report = {"apiVersion": API_VERSION, "kind": kind}
    sim.client(ADMISSION).create({**report, "metadata": meta, "spec": spec})


# One report for each object, merged from results of admission and scans.
# Source of the rules: upstream pkg/controllers/report/aggregate.

EPHEMERAL = frozenset({(API_VERSION, "EphemeralReport"), (API_VERSION, "ClusterEphemeralReport")})
"""The kinds that the collector watches, by apiVersion."""
_REPORT = "wgpolicyk8s.io/v1alpha2"


class ReportCollector:
    """Merges results into the reports of objects.

    Until then, results of admission are stored in ephemeral reports. Those of the background would
    be, too; here they are in memory, since only the collector reads them.
    """

    def __init__(self, sim: SimulationContext, cache: PolicyCache) -> None:
        self._sim = sim
        self._cache = cache
        self._client = sim.client(REPORTS)
        self._pending: dict[tuple[str, str], list[tuple[Json, list[Json]]]] = {}
        """By namespace and uid of an object: references to it and the new entries of its report."""
        self._known: tuple[Sequence[CompiledPolicy], frozenset[tuple[str, str]]] | None = None
        """The active policies, and their rules."""
        self.listeners: list[Callable[[Iterable[PolicyResponse]], None]] = []

    def add_results(self, subject: KubernetesObject, responses: Iterable[PolicyResponse]) -> None:
        """Add background results to the report of an object soon.

        Results name downstreams (`generated`) and changed objects (`targets`).
        """
        evaluated = tuple(responses)
        for listener in self.listeners:
            listener(evaluated)
        results = entries(evaluated, self._sim)
        owner = reference_to(subject)
        if results and owner["uid"]:
            place = object_key(subject).namespace, owner["uid"]
            self._pending.setdefault(place, []).append((owner, results))
            self._gather_later(place)

    def observe(self, change: StoreChange) -> None:
        """Process an ephemeral report some time after it was written."""
        key = change.key
        if change.new is not None and key[:2] in EPHEMERAL:
            self._later(key)

    def renew(self, policy: str) -> None:
        """Update the reports about a policy that changed or was deleted."""
        kinds = ("ClusterPolicyReport", "PolicyReport")
        for report in (one for kind in kinds for one in self._sim.store.list(_REPORT, kind, "")):
            if any(one["policy"] == policy for one in report.get("results") or ()):
                key = object_key(report)
                self._gather_later((key.namespace, key.name))

    def _later(self, key: ObjectKey) -> None:
        self._sim.scheduler.follow_up(REPORT_DELAY, "reports", lambda: self._find_owner(key))

    def _gather_later(self, place: tuple[str, str]) -> None:
        self._sim.scheduler.follow_up(REPORT_DELAY, "reports", lambda: self._gather(place))

    def _find_owner(self, key: ObjectKey) -> None:
        """Find the object of an ephemeral report, and merge the report."""
        report = self._sim.store.get(*key)
        if report is None:
            return
        owners = metadata(report).get("ownerReferences")
        if owners:
            self._gather((key.namespace, owners[0]["uid"]))
            return
        named = labels(report)
        api_version = "/".join(filter(None, (named.get(_GROUP), named.get(_VERSION, ""))))
        notes = metadata(report)["annotations"]
        place = notes[OWNED_NAMESPACE], notes[OWNED_NAME]
        owner = self._sim.store.get(api_version, named.get(_KIND, ""), *place)
        created = datetime.fromisoformat(text_field(metadata(report), "creationTimestamp"))
        if owner is not None:
            reference = reference_to(owner)
            marks = {**metadata(report)["labels"], UID_LABEL: reference["uid"]}
            fields = {"ownerReferences": [reference], "labels": marks}
            self._client.update(with_metadata(report, fields))
        elif (self._sim.clock.now() - created).total_seconds() > REPORT_GIVEN_UP:
            self._client.delete(key)
        else:
            self._later(key)

    def _gather(self, place: tuple[str, str]) -> None:
        """Merge the results of an object, by namespace and uid, into its report."""
        namespace, uid = place
        kind = "EphemeralReport" if namespace else "ClusterEphemeralReport"
        ephemeral = [
            one
            for one in self._sim.store.list(API_VERSION, kind, namespace)
            if labels(one).get(UID_LABEL) == uid and metadata(one).get("ownerReferences")
        ]
        reported = []
        for owner, results in self._pending.pop(place, ()):
            named = owner["apiVersion"], owner["kind"], namespace, owner["name"]
            stored = self._sim.store.get(*named)
            if text_field(metadata(stored), "uid") == owner["uid"]:
                reported.append((owner, results))
        reported += [
            (metadata(one)["ownerReferences"][0], one["spec"]["results"]) for one in ephemeral
        ]
        self._write(place, reported)
        for one in ephemeral:
            self._client.delete(object_key(one))

    def _write(self, place: tuple[str, str], reported: list[tuple[Json, list[Json]]]) -> None:
        namespace, uid = place
        kind = "PolicyReport" if namespace else "ClusterPolicyReport"
        old = self._sim.store.get(_REPORT, kind, namespace, uid)
        sources = [results for _, results in reported]
        results = in_order(self._merged([old["results"], *sources] if old else sources).values())
        if old is None and results:
            owner, _ = reported[0]
            meta = {"name": owner["uid"], "labels": dict(MANAGED), "ownerReferences": [owner]}
            scope = {name: owner[name] for name in ("apiVersion", "kind", "name", "uid")}
            if namespace:
                meta["namespace"] = scope["namespace"] = namespace
            report = {"apiVersion": _REPORT, "kind": kind, "metadata": meta, "scope": scope}
            self._client.create(_with_results(report, results))
        elif old is not None and not results:
            self._client.delete(object_key(old))
        elif old is not None and _with_results(old, results) != old:
            self._client.update(_with_results(old, results))

    def _merged(self, sources: Iterable[Iterable[Json]]) -> dict[tuple[str, ...], Json]:
        """Return the newest entry of each existing rule; at the same time the first one.

        Results of a policy without rules have one entry, whatever their rule name.
        """
        every = self._cache.every()
        if self._known is None or self._known[0] is not every:
            rules = (
                (one.policy.key, rule.rule.name)
                for one in every
                if one.policy.kind not in CEL_KINDS and is_reported(one.policy)
                for rule in one.every
            )
            self._known = every, frozenset(rules)
        names = self._known[1]
        policies = {
            (report_source(one.policy.kind), one.policy.key)
            for one in every
            if one.policy.kind in CEL_KINDS
            and is_reported(one.policy)
            and not self._cache.is_left_to_the_server(one.policy)
        }
        policies |= {
            (report_source(object_key(one).kind), object_key(one).name)
            for one in reported_policies(self._sim)
        }
        newest: dict[tuple[str, ...], Json] = {}
        for entry in (one for source in sources for one in source):
            policy, source, rule = entry["policy"], entry["source"], text_field(entry, "rule")
            whole = (source, policy) in policies
            key = (source, policy) if whole else (source, policy, rule)
            known = newest.get(key)
            newer = known is None or known["timestamp"]["seconds"] < entry["timestamp"]["seconds"]
            if newer and (whole or (policy, rule) in names):
                newest[key] = entry
        return newest


def _with_results(report: KubernetesObject, results: list[Json]) -> Json:
    return {**report, "results": results, "summary": summary(results)}
