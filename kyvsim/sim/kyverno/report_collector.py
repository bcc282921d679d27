"""One report for each object, gathered from what is said of it now and then.

Source of the rules: upstream pkg/controllers/report/aggregate.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from kyvsim.compile import CompiledPolicy
from kyvsim.kube.objects import Json, ObjectKey, labels, metadata, object_key, text_field
from kyvsim.model.report_entry import report_source
from kyvsim.model.result import PolicyResponse
from kyvsim.sim.kyverno.ephemeral_reports import (
    API_VERSION,
    MANAGED,
    OWNED_NAME,
    OWNED_NAMESPACE,
    UID_LABEL,
    adopted,
    kind_of_report,
    owner_reference,
)
from kyvsim.sim.kyverno.native_reports import reported_policies
from kyvsim.sim.kyverno.policy_cache import CEL_KINDS, PolicyCache
from kyvsim.sim.kyverno.report_results import (
    entries,
    in_order,
    is_reported,
    rule_of,
    summary,
)
from kyvsim.sim.kyverno.users import REPORTS
from kyvsim.sim.latency import REPORT_DELAY, REPORT_GIVEN_UP
from kyvsim.sim.parts import Parts
from kyvsim.sim.server import Change

_ACTOR = "reports"
EPHEMERAL = frozenset((API_VERSION, kind_of_report(namespace)) for namespace in ("", "any"))
"""What the collector watches, by apiVersion and kind."""
_REPORT = "wgpolicyk8s.io/v1alpha2"


class _Told(NamedTuple):
    """What was said of one object, until its report says it."""

    owner: Json
    """A reference to the object."""
    results: list[Json]


class ReportCollector:
    """Gathers what is said of objects.

    What admission says stays in ephemeral reports meanwhile. What is found in the background would
    too; here it waits in memory, for nothing but the collector looks at it.
    """

    def __init__(self, parts: Parts, cache: PolicyCache) -> None:
        self._parts = parts
        self._cache = cache
        self._client = parts.client(REPORTS)
        self._told: dict[tuple[str, str], list[_Told]] = {}
        """By namespace and uid of the object."""
        self._known: tuple[Sequence[CompiledPolicy], frozenset[tuple[str, str]]] | None = None
        """The policies that act, and their rules."""
        self.listeners: list[Callable[[Iterable[PolicyResponse]], None]] = []
        """Who hears of what was found in the background."""

    def tell(self, subject: Json, responses: Iterable[PolicyResponse]) -> None:
        """Put into the report of an object soon what was found in the background.

        Results tell of downstreams (`generated`) and of changed objects (`targets`).
        """
        found = tuple(responses)
        for listener in self.listeners:
            listener(found)
        results = entries(found, self._parts)
        owner = owner_reference(subject)
        if results and owner["uid"]:
            place = object_key(subject).namespace, owner["uid"]
            self._told.setdefault(place, []).append(_Told(owner, results))
            self._gather_later(place)

    def observe(self, change: Change) -> None:
        """Look at an ephemeral report some time after it was written."""
        key = change.key
        if change.new is not None and key[:2] in EPHEMERAL:
            self._later(key)

    def renew(self, policy: str) -> None:
        """Gather again what tells of the policy of a key that changed or is gone."""
        for report in self._reports():
            if any(one["policy"] == policy for one in report.get("results") or ()):
                key = object_key(report)
                self._gather_later((key.namespace, key.name))

    def _later(self, key: ObjectKey) -> None:
        self._parts.scheduler.follow_up(REPORT_DELAY, _ACTOR, lambda: self._look(key))

    def _gather_later(self, place: tuple[str, str]) -> None:
        self._parts.scheduler.follow_up(REPORT_DELAY, _ACTOR, lambda: self._gather(place))

    def _reports(self) -> Iterable[Json]:
        for kind in ("ClusterPolicyReport", "PolicyReport"):
            yield from self._parts.store.list(_REPORT, kind, "")

    def _look(self, key: ObjectKey) -> None:
        """Find out whose an ephemeral report is, then gather it."""
        report = self._parts.store.get(*key)
        if report is None:
            return
        owners = metadata(report).get("ownerReferences")
        if owners:
            self._gather((key.namespace, owners[0]["uid"]))
            return
        owner = self._owner(report)
        if owner is not None:
            self._client.update(adopted(report, owner))
        elif self._age(report) > REPORT_GIVEN_UP:
            self._client.delete(key)
        else:
            self._later(key)

    def _owner(self, report: Json) -> Json | None:
        told = report["spec"]["owner"]
        notes = metadata(report)["annotations"]
        place = notes[OWNED_NAMESPACE], notes[OWNED_NAME]
        return self._parts.store.get(told["apiVersion"], told["kind"], *place)

    def _age(self, report: Json) -> float:
        created = datetime.fromisoformat(text_field(metadata(report), "creationTimestamp"))
        return (self._parts.clock.now() - created).total_seconds()

    def _gather(self, place: tuple[str, str]) -> None:
        """Put what was said of one object, by namespace and uid, into its report."""
        namespace, uid = place
        some = self._parts.store.list(API_VERSION, kind_of_report(namespace), namespace)
        ephemeral = [one for one in some if _is_of(one, uid)]
        told = [one for one in self._told.pop(place, ()) if self._is_there(namespace, one.owner)]
        told += [
            _Told(metadata(one)["ownerReferences"][0], one["spec"]["results"]) for one in ephemeral
        ]
        self._write(place, told)
        for one in ephemeral:
            self._client.delete(object_key(one))

    def _is_there(self, namespace: str, owner: Json) -> bool:
        place = owner["apiVersion"], owner["kind"], namespace, owner["name"]
        uid = text_field(metadata(self._parts.store.get(*place)), "uid")
        return uid == text_field(owner, "uid")

    def _write(self, place: tuple[str, str], told: list[_Told]) -> None:
        namespace, uid = place
        kind = "PolicyReport" if namespace else "ClusterPolicyReport"
        old = self._parts.store.get(_REPORT, kind, namespace, uid)
        sources = [one.results for one in told]
        results = in_order(self._merged([old["results"], *sources] if old else sources).values())
        if old is None and results:
            report = _new_report(kind, namespace, told[0].owner)
            self._client.create(_with_results(report, results))
        elif old is not None and not results:
            self._client.delete(object_key(old))
        elif old is not None and _with_results(old, results) != old:
            self._client.update(_with_results(old, results))

    def _merged(self, sources: Iterable[Iterable[Json]]) -> dict[tuple[str, ...], Json]:
        """Return the newest entry of each rule there is; of two of one time the first.

        What is said of a policy without rules has one place, whatever stands for its rule.
        """
        rules, policies = self._rules(), self._cel_policies()
        policies |= {
            (report_source(object_key(one).kind), object_key(one).name)
            for one in reported_policies(self._parts)
        }
        found: dict[tuple[str, ...], Json] = {}
        for entry in (one for source in sources for one in source):
            policy, source, rule = entry["policy"], entry["source"], rule_of(entry)
            whole = (source, policy) in policies
            key = (source, policy) if whole else (source, policy, rule)
            known = found.get(key)
            newer = known is None or known["timestamp"]["seconds"] < entry["timestamp"]["seconds"]
            if newer and (whole or (policy, rule) in rules):
                found[key] = entry
        return found

    def _cel_policies(self) -> set[tuple[str, str]]:
        """Return source and key of the policies in CEL that act and may be told of."""
        return {
            (report_source(one.policy.kind), one.policy.key)
            for one in self._cache.every()
            if one.policy.kind in CEL_KINDS
            and is_reported(one.policy)
            and not self._cache.is_left_to_the_server(one.policy)
        }

    def _rules(self) -> frozenset[tuple[str, str]]:
        """Return policy and rule of all that may be told, by the policies that act."""
        every = self._cache.every()
        if self._known is None or self._known[0] is not every:
            found = {
                (one.policy.key, rule.rule.name)
                for one in every
                if one.policy.kind not in CEL_KINDS and is_reported(one.policy)
                for rule in one.every
            }
            self._known = every, frozenset(found)
        return self._known[1]


def _is_of(report: Json, uid: str) -> bool:
    return labels(report).get(UID_LABEL) == uid and bool(metadata(report).get("ownerReferences"))


def _new_report(kind: str, namespace: str, owner: Json) -> Json:
    meta = {"name": owner["uid"], "labels": dict(MANAGED), "ownerReferences": [owner]}
    scope = {name: owner[name] for name in ("apiVersion", "kind", "name", "uid")}
    if namespace:
        meta["namespace"] = scope["namespace"] = namespace
    return {"apiVersion": _REPORT, "kind": kind, "metadata": meta, "scope": scope}


def _with_results(report: Json, results: list[Json]) -> Json:
    return {**report, "results": results, "summary": summary(results)}
