"""Background scans, and the reports and events about admission."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from kyvsim.engine.compile import PolicyRules
from kyvsim.engine.evaluate import STAGES, passing, shown_passes
from kyvsim.engine.match import match_facts
from kyvsim.engine.policy import RuleInput, open_request, run_policy_rules
from kyvsim.engine.world import World, creation_of
from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import (
    KubernetesObject,
    ObjectKey,
    annotations,
    labels,
    metadata,
    object_key,
    text_field,
)
from kyvsim.languages.constraints import compile_constraints
from kyvsim.languages.native import LANGUAGE
from kyvsim.languages.native.compile import compile_invocation
from kyvsim.model.policy import Policy
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import Phase, PolicyResponse, RuleStatus, Stage
from kyvsim.model.simulation import Unevaluated
from kyvsim.model.source import Document, Location
from kyvsim.patch.nodes import same
from kyvsim.policy.cel_policy import ParamKind, ParamRef, read_binding, read_cel_policy
from kyvsim.schema.kinds import kyverno_groups
from kyvsim.simulator.admission.admission_policies import (
    ParameterError,
    PolicyRequest,
    matches_request,
    parameters_of,
    unknown_kind,
)
from kyvsim.simulator.admission.classic import Admission, unevaluated
from kyvsim.simulator.admission.review import concerns, enforces
from kyvsim.simulator.api_server import ObjectStore, StoreChange
from kyvsim.simulator.api_server.authorizer import may
from kyvsim.simulator.configuration import REPORTS, is_filtered
from kyvsim.simulator.context import NOTICE, SCAN_DELAY, SCAN_INTERVAL, SimulationContext
from kyvsim.simulator.events import (
    Event,
    EventSource,
    applied,
    excepted,
    of_response,
    violation_of_object,
    violation_of_policy,
)
from kyvsim.simulator.kyverno import Kyverno
from kyvsim.simulator.native_policies import NATIVE_KINDS, bindings_of, reported_policies
from kyvsim.simulator.reports import EPHEMERAL, is_reported, write_report

# Reports of results at admission.
# Source of the rules: upstream pkg/webhooks/resource/validation (validation.go, utils.go),
# pkg/webhooks/resource/mutation.


def start_admission_reports(kyverno: Kyverno) -> None:
    """Write reports about results for requests that were not blocked.

    Reports are merged from then on, and updated when policies change.
    """
    sim, reports = kyverno.sim, kyverno.reports
    like_twins = sim.settings.release.labels_namespaced_kinds
    sim.store.watch(reports.observe, EPHEMERAL)
    kyverno.policies.changed.append(lambda policy: reports.renew(policy.key))
    kyverno.policies.dropped.append(lambda policy: reports.renew(policy.key))

    def record(admission: Admission) -> None:
        request, subject = admission.review.request, admission.request.object or {}
        if admission.blocked or admission.unreported or request.dry_run or not admission.responses:
            return
        # A mutated object without a uid is new; a validated one is not a stored object.
        named = bool(text_field(metadata(subject), "uid")) or admission.mutating
        if request.operation is Operation.DELETE or request.key.kind == "Event" or not named:
            return
        write = partial(
            write_report,
            sim,
            subject,
            admission.responses,
            admission.review.uid,
            like_twins=like_twins,
        )
        sim.scheduler.after(NOTICE, "admission-reports", write)

    kyverno.admission.listeners.append(record)


# Events on results at admission.
# Source of the rules: upstream pkg/webhooks/utils/event.go, pkg/webhooks/resource/handlers.go.


def start_admission_events(kyverno: Kyverno) -> None:
    """Write events about the results of policies at admission."""

    def record(admission: Admission) -> None:
        if not admission.responses:
            return
        for response in _reported(kyverno.sim, admission):
            if response.results and object_key(response.object).name:
                source, blocked = EventSource.ADMISSION, admission.blocked
                events = of_response(kyverno.sim, source, response, blocked=blocked)
                kyverno.events.record(*events)

    kyverno.admission.listeners.append(record)


def _reported(sim: SimulationContext, admission: Admission) -> Iterable[PolicyResponse]:
    """Return the reported responses: for a denied request only those that could deny it."""
    if not admission.blocked:
        return admission.responses
    if admission.mutating:
        return [one for one in admission.responses if one.phase is Phase.VERIFY_IMAGES]
    namespace = sim.store.get("v1", "Namespace", "", admission.request.namespace)
    return [
        response
        for response in admission.responses
        if any(enforces(response.policy, one.rule, namespace) for one in response.results)
    ]


# The results of Kubernetes' admission policies for existing objects.
#
# If several bindings match, the last one counts; the parameters that a selector matches form a
# list. A mutating policy fails for an object that it would change.
# Source of the rules: upstream pkg/admissionpolicy (validate.go, mutate.go, utils.go
# `CollectParams`).


class ScanError(Exception):
    """A policy aborted the scan of an object: no report is written."""

    def __init__(self, policy: str, why: str) -> None:
        super().__init__(why)
        self.policy = policy


def native_responses(request: AdmissionRequest, sim: SimulationContext) -> Iterator[PolicyResponse]:
    """Yield the results of the policies for an object; raises ScanError."""
    evaluated = PolicyRequest(request, World(sim.store, account=REPORTS).external, sim.store)
    for stored in reported_policies(sim):
        policy, _ = LANGUAGE.read(stored, Document(stored, "", 0, lambda _: Location("")))
        bindings = tuple(bindings_of(stored, sim))
        if bindings:
            yield from _bound(policy, bindings, evaluated)
            continue
        # For a policy without bindings, Namespaces have no labels.
        facts = match_facts(request, request.subject, {})
        constraints = compile_constraints(policy.cel.match_constraints, "", sim.store.defined)
        if facts is None or not constraints.matches(facts):
            continue
        world, params = World(ObjectStore()), _no_params(policy)
        for response in _evaluated(policy, evaluated, world, params=params):
            why = _unchecked(response)
            if why:
                raise ScanError(policy.name, why)
            yield _unapplied(response, request.subject)


def _bound(
    policy: Policy, bindings: Sequence[KubernetesObject], evaluated: PolicyRequest
) -> Iterator[PolicyResponse]:
    if not matches_request(policy.cel.match_constraints, evaluated, everything=False):
        return
    nodes = ((binding, read_binding(binding["spec"])) for binding in bindings)
    parametrized = [
        (binding, _parameters(policy, node.param_ref, evaluated))
        for binding, node in nodes
        if matches_request(node.match_resources, evaluated, everything=True)
    ]
    world, before = World(evaluated.store, account=REPORTS), evaluated.request.subject
    last: PolicyResponse | None = None
    for binding, params in parametrized if _changes(policy) else parametrized[-1:]:
        name = object_key(binding).name
        for response in _evaluated(policy, evaluated, world, params=params, binding=name):
            if not _unchecked(response):
                # Each mutates the stored object, with the changes of the previous ones.
                last = _unapplied(response, before)
                before = response.object if response.results else before
    if last is not None:
        yield last


def _changes(policy: Policy) -> bool:
    return policy.kind == "MutatingAdmissionPolicy"


def _unchecked(response: PolicyResponse) -> str:
    """Return why a policy could not be matched with an object, "" if it could."""
    silent = (one for one in response.silent if one.status is RuleStatus.ERROR)
    return "; ".join(text for one in silent for text in one.unchecked)


def _evaluated(
    policy: Policy,
    evaluated: PolicyRequest,
    world: World,
    *,
    params: Sequence[KubernetesObject | None],
    binding: str = "",
) -> Iterator[PolicyResponse]:
    compiled = compile_invocation(policy, evaluated.store.defined, params, binding)
    given = open_request(evaluated.request, world, policy.name)
    if given is not None:
        phase = compiled.rules[0].stage.phase
        yield run_policy_rules(PolicyRules(compiled, compiled.rules), phase, given, world)


def _no_params(policy: Policy) -> tuple[KubernetesObject | None, ...]:
    """Return the value of `params` without a reference: none for mutating policies."""
    return (None,) if policy.cel.param_kind and not _changes(policy) else ()


def _parameters(
    policy: Policy, reference: ParamRef | None, evaluated: PolicyRequest
) -> tuple[KubernetesObject | None, ...]:
    """Return the value of `params`, or () if there is no such variable.

    Raises ScanError if the parameters of a binding do not exist or must not be read.
    """
    if reference is None:
        return _no_params(policy)
    kind = policy.cel.param_kind or ParamKind((), "", "")
    namespace = reference.namespace or evaluated.request.namespace
    key = ObjectKey(kind.api_version, kind.kind, namespace, reference.name)
    verb = "get" if key.name else "list"
    problem = unknown_kind(kind, evaluated.store)
    if not problem and not may(REPORTS, verb, key, evaluated.store):
        problem = f"Kyverno may not {verb} {key.kind} objects"
    try:
        params = [] if problem else parameters_of(kind, reference, evaluated)
    except ParameterError as error:
        raise ScanError(policy.name, str(error)) from None
    if problem or not params:
        raise ScanError(policy.name, problem or "no params found")
    return ({"items": params} if len(params) > 1 else params[0],)


# Background scans: the results of policies for existing objects.
# Source of the rules: upstream pkg/controllers/report (background, resource, utils/scanner.go).

_SCAN_ACTOR = "scan"
_STAGES = tuple(
    one
    for one in STAGES
    if one in {Stage.VALIDATE, Stage.VERIFY_IMAGES}
    or one in {Stage.CEL_VALIDATE, Stage.CEL_MUTATE, Stage.CEL_VERIFY_IMAGES}
)
_QUIET = frozenset({RuleStatus.PASS, RuleStatus.SKIP})


class Scanner:
    """Scans objects some time after they or the policies change, and every hour."""

    def __init__(self, kyverno: Kyverno) -> None:
        self._kyverno = kyverno
        self._sim = kyverno.sim
        self._known: set[tuple[str, str]] = set()
        """Group and kind of the scanned kinds: those on which a policy may report."""
        self._waiting: set[str] = set()
        """The uids of objects waiting for a scan."""
        self._reported: set[tuple[str, Unevaluated]] = set()
        """Uids and errors of rules that are in the timeline."""
        self._repeats = False
        self._scans_image_variants = kyverno.sim.settings.release.scans_image_variants
        kyverno.sim.store.watch(self._observe)
        kyverno.policies.changed.append(lambda _: self._rescan())
        kyverno.policies.dropped.append(lambda _: self._rescan())

    def _observe(self, change: StoreChange) -> None:
        """Scan an object some time after it changed, and all objects after exceptions changed."""

        def rescan_natively() -> None:
            # The results of an admission policy are dropped if it or a binding changes.
            bound = change.subject["spec"].get("policyName")
            self._kyverno.reports.renew(bound or change.key.name)
            self._rescan()

        key = change.key
        if key.kind == "PolicyException":
            # At the same time, but earlier, the policies are compiled again.
            self._sim.scheduler.after(NOTICE, _SCAN_ACTOR, self._rescan)
        elif key.kind in NATIVE_KINDS:
            self._sim.scheduler.after(NOTICE, _SCAN_ACTOR, rescan_natively)
        elif change.new is None or not self._is_scanned(key):
            return
        elif change.old is None or _scanned(change.old) != _scanned(change.new):
            self._known.add((key.group, key.kind))
            self._after(SCAN_DELAY, change.new)

    def _rescan(self) -> None:
        """Scan objects of known kinds immediately, and those of new kinds after a delay."""
        if not self._repeats:
            self._repeats = True

            def repeat() -> None:
                self._repeats = False
                self._rescan()

            self._sim.scheduler.after(SCAN_INTERVAL, _SCAN_ACTOR, repeat, timer=True)
        known = frozenset(self._known)
        for api_version, kind in self._sim.store.kinds():
            group = split_api_version(api_version)[0]
            if not self._is_scanned(ObjectKey(api_version, kind, "", "")):
                continue
            self._known.add((group, kind))
            delay = NOTICE if (group, kind) in known else SCAN_DELAY
            for obj in self._sim.store.list(api_version, kind, ""):
                self._after(delay, obj)

    def _is_scanned(self, key: ObjectKey) -> bool:
        if key.group in kyverno_groups() or key.kind == "Event":
            return False
        found = (one for stage in _STAGES for one in self._stage_rules(stage, key.kind, ""))
        has_rules = any(map(self._decides_kinds, found))
        specs = (read_cel_policy(policy["spec"]) for policy in reported_policies(self._sim))
        constraints = (spec.match_constraints for spec in specs)
        compiled = (compile_constraints(one, "", self._sim.store.defined) for one in constraints)
        return has_rules or any(one.kinds is None or key.kind in one.kinds for one in compiled)

    def _decides_kinds(self, found: PolicyRules) -> bool:
        """Return whether the kinds of some rules are scanned even if no other policy has them."""
        of_images = found.policy.policy.kind.endswith("ImageValidatingPolicy")
        if of_images and not self._scans_image_variants:
            return any(not one.rule.variant for one in found.rules)
        return True

    def _stage_rules(self, stage: Stage, kind: str, namespace: str) -> Iterator[PolicyRules]:
        """Yield the rules of a stage for a kind in the background; "" is any namespace."""
        for policy_rules in self._kyverno.cache.index.stage_rules(stage, kind):
            policy = policy_rules.policy.policy
            placed = not namespace or policy.namespace in {"", namespace}
            left = self._kyverno.cache.is_left_to_the_server(policy)
            if placed and policy.background and is_reported(policy) and not left:
                rules = tuple(
                    one for one in policy_rules.rules if one.kinds is None or kind in one.kinds
                )
                if rules:
                    yield (
                        policy_rules
                        if rules == policy_rules.rules
                        else policy_rules._replace(rules=rules)
                    )

    def _after(self, delay: float, obj: KubernetesObject) -> None:
        key, uid = object_key(obj), text_field(metadata(obj), "uid")
        if delay < SCAN_DELAY:
            self._sim.scheduler.after(delay, _SCAN_ACTOR, lambda: self._scan(key, uid))
        elif uid not in self._waiting:
            self._waiting.add(uid)
            self._sim.scheduler.follow_up(delay, _SCAN_ACTOR, lambda: self._scan(key, uid))

    def _scan(self, key: ObjectKey, uid: str) -> None:
        self._waiting.discard(uid)
        obj = self._sim.store.get(*key)
        if obj is None or metadata(obj).get("uid") != uid or is_filtered(key, self._sim.store):
            return
        responses: list[PolicyResponse] = []
        given_up: list[Unevaluated] = []
        try:
            for response in self._responses(obj):
                self._kyverno.events.record(*_scan_events(self._sim, response))
                responses.append(response)
        except ScanError as error:
            given_up.append(Unevaluated(error.policy, str(error)))
        self._record_errors(obj, "scan", unevaluated(responses))
        self._record_errors(obj, "give up scan", given_up)
        if not given_up:
            self._kyverno.reports.add_results(obj, responses)

    def _record_errors(
        self, obj: KubernetesObject, action: str, errors: Iterable[Unevaluated]
    ) -> None:
        """Record rules that ended in an error in the timeline, once for each object."""
        key, uid = object_key(obj), text_field(metadata(obj), "uid")
        new = tuple(dict.fromkeys(one for one in errors if (uid, one) not in self._reported))
        if new:
            self._reported.update((uid, one) for one in new)
            self._sim.timeline.record("reports", action, key, outcome="failed", unevaluated=new)

    def _responses(self, obj: KubernetesObject) -> Iterator[PolicyResponse]:
        """Yield the results of policies for the creation of an object, without user information.

        Raises ScanError.
        """
        key = object_key(obj)
        request = creation_of(obj, None, None)
        world = World(self._sim.store, account=REPORTS)
        given: RuleInput | None = None
        of_kind = self._kyverno.cache.index.of_kind(key.kind)
        for stage in _STAGES:
            shown = shown_passes(of_kind, stage, request, world)
            for policy_rules in self._stage_rules(stage, key.kind, key.namespace):
                policy: Policy = policy_rules.policy.policy
                if policy.namespace and policy.namespace != request.namespace:
                    continue
                if not concerns(policy, request, world.external):
                    continue
                # All policies share one rule input.
                given = given or open_request(request, world, "")
                if given is None:
                    continue
                known = shown(policy_rules)
                if known is not None:
                    yield passing(policy_rules, stage.phase, given.object, known)
                    continue
                response = _unapplied(run_policy_rules(policy_rules, stage.phase, given, world))
                if response.results:
                    yield response
        yield from native_responses(request, self._sim)


def _unapplied(response: PolicyResponse, before: KubernetesObject | None = None) -> PolicyResponse:
    """Return the response of a scan: a mutation that would change the object fails."""
    if not response.changed or same(response.object, before):
        return response
    results = tuple(
        one._replace(status=RuleStatus.FAIL, message="mutation is not applied")
        if one.status is RuleStatus.PASS and not one.exceptions
        else one
        for one in response.results
    )
    return response._replace(results=results)


def _scanned(obj: KubernetesObject) -> object:
    """Return the part of an object that is scanned: other changes cause no scan."""
    rest = {name: value for name, value in obj.items() if name not in {"metadata", "status"}}
    return labels(obj), annotations(obj), rest


def _scan_events(sim: SimulationContext, response: PolicyResponse) -> Iterator[Event]:
    for result in (one for one in response.results if one.status not in _QUIET):
        yield violation_of_object(EventSource.SCAN, response, result)
        yield violation_of_policy(sim, EventSource.SCAN, response, result, blocked=False)
    for result in response.results:
        if result.exceptions:
            yield from excepted(sim, EventSource.SCAN, response, result)
    if RuleStatus.FAIL not in {one.status for one in response.results}:
        yield from applied(sim, EventSource.SCAN, response)
