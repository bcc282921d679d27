"""Traces of evaluations for `simulate --explain`."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, ParamSpec, TypeVar

from kyvsim.engine.compile import CompiledRule, PolicySet
from kyvsim.engine.explain import Recorder
from kyvsim.kubernetes.objects import KubernetesObject, ObjectKey, object_key
from kyvsim.model.explanation import RuleRun, Step, StepKind, TracedRule
from kyvsim.model.policy import Policy
from kyvsim.model.result import PolicyResponse
from kyvsim.model.tracing import PointKind, PolicyPlace, TracedConstruct, with_steps
from kyvsim.simulator.api_server import ApiRequest, ApiResponse, ApiServer, ObjectStore
from kyvsim.simulator.scheduler import Scheduler
from kyvsim.simulator.timeline import Timeline

# The tracer records evaluations, as for `explain`. Controllers report decisions before the
# evaluation of a rule themselves: requests that are filtered, webhooks that are not called.

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


class TracedEvaluation(NamedTuple):
    """An occasion on which policies could be evaluated on an object; see `Inquiry`."""

    time: float
    actor: str
    occasion: str
    subject: ObjectKey
    object: KubernetesObject | None
    """The object after the request, or as it was sent; None if it is deleted."""
    event: int | None
    rules: tuple[TracedRule, ...]
    responses: tuple[PolicyResponse, ...] = ()
    policies: PolicySet | None = None
    """All policies that were active then; None if only some were called."""
    unheard: str = ""
    waiting: tuple[str, ...] = ()


class TracedCluster(NamedTuple):
    """The parts of a cluster that the tracer reads."""

    scheduler: Scheduler
    timeline: Timeline
    store: ObjectStore
    acting: Callable[[], PolicySet]
    waiting: Callable[[], tuple[str, ...]]


class _OpenRequest:
    """A request that is not answered yet."""

    def __init__(self, step: int, events: int) -> None:
        self.step = step
        self.events = events
        self.rules: tuple[TracedRule, ...] = ()
        self.responses: tuple[PolicyResponse, ...] = ()
        self.unheard = "it was rejected before any webhook was called"


class SimulationTracer:
    """Records the evaluations of one cluster that are about the traced objects."""

    takes_steps = True

    def __init__(self, is_traced: Callable[[ObjectKey], bool]) -> None:
        self.evaluations: list[TracedEvaluation] = []
        self._is_traced = is_traced
        self._recorder = Recorder()
        self._cluster: TracedCluster | None = None
        self._moment: tuple[int, float, str, int | None, ObjectKey | None] | None = None
        """The current step number, time, actor, cause and object."""
        self._open: dict[ApiRequest, _OpenRequest] = {}
        self._current: _OpenRequest | None = None

    def attach(self, cluster: TracedCluster, server: ApiServer) -> None:
        """Start to record the requests and evaluations of a cluster."""
        self._cluster = cluster
        server.authorizers.insert(0, self._begin)
        server.observers.append(self._answer)

    def finish(self) -> None:
        """Record the open evaluation, and stop recording."""
        self._store_rules()
        self._cluster = None

    def declare(self, place: PolicyPlace, kind: PointKind, outcomes: tuple[str, ...]) -> None:
        """Ignore coverage points."""

    def evaluate(self, run: RuleRun) -> None:
        """Start to trace a rule."""
        if self._switch_to(run.subject):
            self._recorder.evaluate(run)

    def resume(self, run: RuleRun) -> None:
        """Continue to trace a rule."""
        if self._switch_to(run.subject):
            self._recorder.resume(run)

    def enter(self) -> int:
        """Open a step."""
        return self._recorder.enter()

    def leave(self, mark: int, step: Step | None) -> None:
        """Close a step."""
        self._recorder.leave(mark, step)

    def wrap(
        self, run: Callable[_Given, _Found], construct: TracedConstruct[_Given, _Found]
    ) -> Callable[_Given, _Found]:
        """Return a closure that records a step for each call."""
        return with_steps(self._recorder, run, construct)

    def add_responses(self, request: ApiRequest, responses: Iterable[PolicyResponse]) -> None:
        """Add responses of policies to a request."""
        known = self._open.get(request)
        if known is not None:
            known.responses = (*known.responses, *responses)

    def note_webhooks(self, request: ApiRequest, unheard: str = "") -> None:
        """Record that Kyverno's webhooks were called for a request, or why they were not."""
        known = self._open.get(request)
        if known is not None:
            known.unheard = unheard

    def skip(
        self,
        policy: Policy,
        rules: Iterable[CompiledRule],
        subject: ObjectKey,
        why: str,
        *,
        record: Callable[[], None] = lambda: None,
    ) -> None:
        """Record why the rules of a policy for an object's kind were not evaluated.

        `record` adds the steps that led to this decision.
        """
        step = Step(StepKind.NOT_EVALUATED, answer=False, note=why)
        self._record(policy, rules, subject, step, record)

    def defer(
        self,
        policy: Policy,
        rules: Iterable[CompiledRule],
        subject: ObjectKey,
        record: Callable[[], None],
    ) -> None:
        """Record that rules match an object, although they are evaluated later."""
        self._record(policy, rules, subject, Step(StepKind.MATCH, answer=True), record)

    def _record(
        self,
        policy: Policy,
        rules: Iterable[CompiledRule],
        subject: ObjectKey,
        step: Step,
        record: Callable[[], None],
    ) -> None:
        for rule in rules:
            if rule.kinds is not None and subject.kind not in rule.kinds:
                continue
            self.evaluate(RuleRun(policy, rule.rule, rule.stage, subject))
            mark = self._recorder.enter()
            record()
            place = policy.document.locate(rule.rule.path)
            self._recorder.leave(mark, step._replace(place=place))

    def _switch_to(self, subject: ObjectKey | None) -> bool:
        """Store the collected rules when another step begins; return whether rules are traced."""
        if self._cluster is None:
            return False
        scheduler, timeline = self._cluster.scheduler, self._cluster.timeline
        if self._current is not None and self._current.step == scheduler.running:
            return True
        now = (
            scheduler.running,
            scheduler.clock.elapsed,
            scheduler.actor.removesuffix("-controller"),
            timeline.cause,
            subject,
        )
        if now != self._moment or self._current is not None:
            self._store_rules()
            self._moment = now
        return True

    def _store_rules(self) -> None:
        """Assign the collected rules to the open request, or to the current step."""
        rules = self._recorder.taken()
        current, moment, cluster = self._current, self._moment, self._cluster
        self._current = self._moment = None
        if current is not None:
            current.rules = (*current.rules, *rules)
        elif rules and moment is not None and cluster is not None:
            _, time, actor, cause, subject = moment
            if subject is not None and self._is_traced(subject):
                obj = cluster.store.get(*subject)
                self.evaluations.append(
                    TracedEvaluation(time, actor, "", subject, obj, cause, rules)
                )

    def _begin(self, request: ApiRequest) -> None:
        """Start a request; as an authorizer it permits every request."""
        self._store_rules()
        cluster = self._cluster
        if cluster is not None:
            self._current = self._open[request] = _OpenRequest(
                cluster.scheduler.running, len(cluster.timeline.events)
            )

    def _answer(
        self, request: ApiRequest, response: ApiResponse, old: KubernetesObject | None
    ) -> None:
        self._store_rules()
        done, cluster = self._open.pop(request, None), self._cluster
        if done is None or cluster is None:
            return
        obj = response.object if response.object is not None else request.object
        if obj is None:
            obj = old
        subject = object_key(obj) if obj is not None and not request.key.name else request.key
        if not self._is_traced(subject):
            return
        events = cluster.timeline.events[done.events :]
        self.evaluations.append(
            TracedEvaluation(
                time=cluster.scheduler.clock.elapsed,
                actor="admission",
                occasion=" ".join(filter(None, (request.operation.value, request.subresource))),
                subject=subject,
                object=obj,
                event=events[-1].number if events else None,
                rules=done.rules,
                responses=done.responses,
                policies=None if done.unheard else cluster.acting(),
                unheard=done.unheard,
                waiting=() if done.unheard else cluster.waiting(),
            )
        )
