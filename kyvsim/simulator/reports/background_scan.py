"""Background scans: what policies say of objects that are there.

Source of the rules: upstream pkg/controllers/report (background, resource, utils/scanner.go).
"""

from collections.abc import Iterable, Iterator

from kyvsim.engine.compile import Turn
from kyvsim.engine.evaluate import STAGES, passing, shown_passes
from kyvsim.engine.policy import RuleInput, open_request, run_turn
from kyvsim.engine.world import World, creation_of
from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import (
    Json,
    ObjectKey,
    annotations,
    labels,
    metadata,
    object_key,
    text_field,
)
from kyvsim.model.policy import Policy
from kyvsim.model.result import PolicyResponse, RuleStatus, Stage
from kyvsim.model.simulation import Unevaluated
from kyvsim.schema.kinds import kyverno_groups
from kyvsim.simulator.api_server import Change
from kyvsim.simulator.kyverno.admission_notes import unevaluated
from kyvsim.simulator.kyverno.configuration import REPORTS, Filtered, is_filtered
from kyvsim.simulator.kyverno.events import (
    Event,
    Source,
    applied,
    excepted,
    violation_of_object,
    violation_of_policy,
)
from kyvsim.simulator.kyverno.installed import Kyverno
from kyvsim.simulator.kyverno.match_conditions import concerns
from kyvsim.simulator.kyverno.native_reports import NATIVE_KINDS
from kyvsim.simulator.kyverno.reports import is_reported
from kyvsim.simulator.latency import NOTICE, SCAN_DELAY, SCAN_INTERVAL
from kyvsim.simulator.parts import Parts
from kyvsim.simulator.reports.native_scan import ScanError, is_of_interest, native_responses

_ACTOR = "scan"
_STAGES = tuple(
    one
    for one in STAGES
    if one
    in {
        Stage.VALIDATE,
        Stage.VERIFY_IMAGES,
        Stage.CEL_VALIDATE,
        Stage.CEL_MUTATE,
        Stage.CEL_VERIFY_IMAGES,
    }
)
_QUIET = frozenset({RuleStatus.PASS, RuleStatus.SKIP})


def start_scans(kyverno: Kyverno) -> None:
    """Let objects be scanned some time after they or the policies change, and every hour."""
    scanner = _Scanner(kyverno)
    kyverno.parts.store.watch(scanner.observe)
    kyverno.policies.changed.append(lambda *_: scanner.rescan())
    kyverno.policies.dropped.append(lambda _: scanner.rescan())


class _Scanner:
    def __init__(self, kyverno: Kyverno) -> None:
        self._kyverno = kyverno
        self._parts = kyverno.parts
        self._known: set[tuple[str, str]] = set()
        """Group and kind of what is watched: the kinds that some policy may report on."""
        self._waiting: set[str] = set()
        """The uids of objects that are to be scanned."""
        self._told: set[tuple[str, Unevaluated]] = set()
        """By uid, what the timeline has told of rules that could not be evaluated."""
        self._repeats = False

    def observe(self, change: Change) -> None:
        """Scan an object some time after it changed; everything after exceptions did."""
        key = change.key
        if key.kind == "PolicyException":
            # The policies are compiled anew at the same time, before this.
            self._parts.scheduler.after(NOTICE, _ACTOR, self.rescan)
        elif key.kind in NATIVE_KINDS:
            self._parts.scheduler.after(NOTICE, _ACTOR, lambda: self._rescan_by(change.subject))
        elif change.new is not None and self._is_scanned(key) and _differs(change):
            self._known.add((split_api_version(key.api_version)[0], key.kind))
            self._after(SCAN_DELAY, change.new)

    def rescan(self) -> None:
        """Scan objects of kinds known so far at once, and those of new kinds soon."""
        if not self._repeats:
            self._repeats = True
            self._parts.scheduler.after(SCAN_INTERVAL, _ACTOR, self._repeat, timer=True)
        known = frozenset(self._known)
        for api_version, kind in self._parts.store.kinds():
            group = split_api_version(api_version)[0]
            if not self._is_scanned(ObjectKey(api_version, kind, "", "")):
                continue
            self._known.add((group, kind))
            delay = NOTICE if (group, kind) in known else SCAN_DELAY
            for obj in self._parts.store.list(api_version, kind, ""):
                self._after(delay, obj)

    def _rescan_by(self, native: Json) -> None:
        """Scan anew after an admission policy changed, or a binding, and drop what it said."""
        bound = native["spec"].get("policyName")
        self._kyverno.reports.renew(bound or object_key(native).name)
        self.rescan()

    def _repeat(self) -> None:
        self._repeats = False
        self.rescan()

    def _is_scanned(self, key: ObjectKey) -> bool:
        group = split_api_version(key.api_version)[0]
        if group in kyverno_groups() or key.kind == "Event":
            return False
        asked = any(True for stage in _STAGES for _ in self._turns(stage, key.kind, ""))
        return asked or is_of_interest(key, self._parts)

    def _turns(self, stage: Stage, kind: str, namespace: str) -> Iterator[Turn]:
        """Yield what a stage runs on a kind in the background; "" is any namespace."""
        for turn in self._kyverno.cache.index.turns(stage, kind):
            policy = turn.policy.policy
            placed = not namespace or policy.namespace in {"", namespace}
            left = self._kyverno.cache.is_left_to_the_server(policy)
            if placed and policy.background and is_reported(policy) and not left:
                rules = tuple(one for one in turn.rules if one.kinds is None or kind in one.kinds)
                if rules:
                    yield turn if rules == turn.rules else turn._replace(rules=rules)

    def _after(self, delay: float, obj: Json) -> None:
        key, uid = object_key(obj), text_field(metadata(obj), "uid")
        if delay < SCAN_DELAY:
            self._parts.scheduler.after(delay, _ACTOR, lambda: self._scan(key, uid))
        elif uid not in self._waiting:
            self._waiting.add(uid)
            self._parts.scheduler.follow_up(delay, _ACTOR, lambda: self._scan(key, uid))

    def _scan(self, key: ObjectKey, uid: str) -> None:
        self._waiting.discard(uid)
        obj = self._parts.store.get(*key)
        if obj is None or metadata(obj).get("uid") != uid:
            return
        if is_filtered(Filtered(*key[:2], "", *key[2:]), self._parts.store):
            return
        responses: list[PolicyResponse] = []
        given_up: ScanError | None = None
        try:
            for response in self._responses(obj):
                self._kyverno.events.record(*_events(self._parts, response))
                responses.append(response)
        except ScanError as error:
            given_up = error
        self._tell_errors(obj, "scan", unevaluated(responses))
        if given_up is None:
            self._kyverno.reports.tell(obj, responses)
        else:
            failed = Unevaluated(given_up.policy, str(given_up))
            self._tell_errors(obj, "give up scan", [failed])

    def _tell_errors(self, obj: Json, action: str, found: Iterable[Unevaluated]) -> None:
        """Tell in the timeline of rules that could not be evaluated, once for each object."""
        uid = text_field(metadata(obj), "uid")
        new = [one for one in found if (uid, one) not in self._told]
        if not new:
            return
        self._told.update((uid, one) for one in new)
        timeline = self._parts.timeline
        event = timeline.record("reports", action, object_key(obj), outcome="failed")
        timeline.add_errors(event, tuple(new))

    def _responses(self, obj: Json) -> Iterator[PolicyResponse]:
        """Yield what policies say of an object as if nobody in particular created it now.

        Raises ScanError.
        """
        key = object_key(obj)
        request = creation_of(obj, None, None)
        world = World(self._parts.store, account=REPORTS)
        given: RuleInput | None = None
        of_kind = self._kyverno.cache.index.of_kind(key.kind)
        for stage in _STAGES:
            shown = shown_passes(of_kind, stage, request, world)
            for turn in self._turns(stage, key.kind, key.namespace):
                policy: Policy = turn.policy.policy
                if policy.namespace and policy.namespace != request.namespace:
                    continue
                if not concerns(policy, request, world.outside):
                    continue
                # One opening serves all policies.
                given = given or open_request(request, world, "")
                if given is None:
                    continue
                known = shown(turn)
                if known is not None:
                    yield passing(turn, stage.phase, given.object, known)
                    continue
                response = _unapplied(run_turn(turn, stage.phase, given, world))
                if response.results:
                    yield response
        yield from native_responses(request, self._parts)


def _unapplied(response: PolicyResponse) -> PolicyResponse:
    """Return what a scan says: a mutation that would change the object has not been done."""
    if not response.changed:
        return response
    results = tuple(
        one._replace(status=RuleStatus.FAIL, message="mutation is not applied")
        if one.status is RuleStatus.PASS and not one.exceptions
        else one
        for one in response.results
    )
    return response._replace(results=results)


def _differs(change: Change) -> bool:
    """Return whether a change is more than one of the status."""
    return change.old is None or _scanned(change.old) != _scanned(change.new)


def _scanned(obj: Json) -> Json:
    rest = {name: value for name, value in obj.items() if name not in {"metadata", "status"}}
    return labels(obj), annotations(obj), rest


def _events(parts: Parts, response: PolicyResponse) -> Iterator[Event]:
    told = [one for one in response.results if one.status not in _QUIET]
    for result in told:
        yield violation_of_object(Source.SCAN, response, result)
        yield violation_of_policy(parts, Source.SCAN, response, result, blocked=False)
    for result in response.results:
        if result.exceptions:
            yield from excepted(parts, Source.SCAN, response, result)
    if RuleStatus.FAIL not in {one.status for one in response.results}:
        yield from applied(parts, Source.SCAN, response)
