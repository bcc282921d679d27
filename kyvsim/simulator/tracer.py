"""Which policies were evaluated on an object, when, with which results: `simulate --explain`."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from kyvsim.engine.compile import CompiledRule, PolicySet
from kyvsim.kubernetes.objects import Json, ObjectKey, object_key
from kyvsim.model.explanation import RuleRun, Step, StepKind, TracedRule
from kyvsim.model.policy import Policy
from kyvsim.model.result import PolicyResponse
from kyvsim.model.tracing import Tracer
from kyvsim.simulator.api_server import ApiRequest, ApiResponse, ApiServer, Store
from kyvsim.simulator.scheduler import Scheduler
from kyvsim.simulator.timeline import Timeline

# Who asks policies about an object, when, and what they answer: what `simulate --explain` tells.
#
# It follows evaluations, as `explain` does. What controllers decide before they ask a rule they
# tell it themselves: that a request is left out, that a policy does not hear of it.


class Asked(NamedTuple):
    """One time that policies were to be asked about an object; see `Inquiry`."""

    time: float
    actor: str
    occasion: str
    subject: ObjectKey
    object: Json
    """The object as it came of it, or as it was sent; None where it is gone."""
    event: int | None
    told: tuple[TracedRule, ...]
    responses: tuple[PolicyResponse, ...] = ()
    policies: PolicySet | None = None
    """All that acted then; None where only some were to be asked."""
    unheard: str = ""
    waiting: tuple[str, ...] = ()


class Surroundings(NamedTuple):
    """What of a cluster is to be known of a moment."""

    scheduler: Scheduler
    timeline: Timeline
    store: Store
    acting: Callable[[], PolicySet]
    waiting: Callable[[], tuple[str, ...]]


class _Moment(NamedTuple):
    """One step of one actor, and what of it evaluations are about."""

    step: int
    time: float
    actor: str
    cause: int | None
    subject: ObjectKey | None


class _Open:
    """A request that is not answered yet."""

    def __init__(self, step: int, events: int) -> None:
        self.step = step
        self.events = events
        """How many events there were before it."""
        self.told: tuple[TracedRule, ...] = ()
        self.responses: tuple[PolicyResponse, ...] = ()
        self.unheard = "it was refused before any webhook was asked"


def _nothing() -> None:
    return None


class Inquirer:
    """Follows the evaluations of one cluster, and keeps those about the objects that are wanted."""

    def __init__(
        self,
        wanted: Callable[[ObjectKey], bool],
        recording: Tracer,
        taken: Callable[[], tuple[TracedRule, ...]],
    ) -> None:
        """Let `recording` keep what is told as trees until they are `taken`."""
        self.asked: list[Asked] = []
        self._wanted = wanted
        self._recording = recording
        self._taken = taken
        self._around: Surroundings | None = None
        self._moment: _Moment | None = None
        self._open: dict[ApiRequest, _Open] = {}
        self._current: _Open | None = None

    def attend(self, around: Surroundings, server: ApiServer) -> None:
        """Listen to what happens in a cluster from now on."""
        self._around = around
        server.authorizers.insert(0, self._begin)
        server.observers.append(self._answer)

    def finish(self) -> None:
        """Take what is still open, and listen no more."""
        self._leave()
        self._around = None

    def evaluate(self, run: RuleRun) -> None:
        """Take notice of a rule that begins to be evaluated."""
        if self._around is not None:
            self._turn_to(self._around, run.subject)
            self._recording.evaluate(run)

    def resume(self, run: RuleRun) -> None:
        """Take notice that what is told next belongs to a rule."""
        if self._around is not None:
            self._turn_to(self._around, run.subject)
            self._recording.resume(run)

    def begin(self) -> int:
        """Take notice of a step that begins."""
        return self._recording.begin()

    def end(self, mark: int, step: Step | None) -> None:
        """Take a step that has ended."""
        self._recording.end(mark, step)

    def hear(self, request: ApiRequest, responses: Iterable[PolicyResponse]) -> None:
        """Take what policies answered to a request."""
        known = self._open.get(request)
        if known is not None:
            known.responses = (*known.responses, *responses)

    def heed(self, request: ApiRequest, unheard: str = "") -> None:
        """Take that Kyverno's webhooks were asked about a request, or why they were not."""
        known = self._open.get(request)
        if known is not None:
            known.unheard = unheard

    def pass_by(
        self,
        policy: Policy,
        rules: Iterable[CompiledRule],
        subject: ObjectKey,
        why: str,
        *,
        tell: Callable[[], None] = _nothing,
    ) -> None:
        """Take why those rules of a policy that are for the kind of an object were not asked.

        `tell` tells what was asked instead.
        """
        step = Step(StepKind.UNASKED, answer=False, note=why)
        self._decided(policy, rules, subject, step, tell=tell)

    def take_up(
        self,
        policy: Policy,
        rules: Iterable[CompiledRule],
        subject: ObjectKey,
        tell: Callable[[], None],
    ) -> None:
        """Take that rules are for an object, though nobody evaluates them yet."""
        self._decided(policy, rules, subject, Step(StepKind.MATCH, answer=True), tell=tell)

    def _decided(
        self,
        policy: Policy,
        rules: Iterable[CompiledRule],
        subject: ObjectKey,
        step: Step,
        *,
        tell: Callable[[], None],
    ) -> None:
        for rule in rules:
            if rule.kinds is not None and subject.kind not in rule.kinds:
                continue
            self.evaluate(RuleRun(policy, rule.rule, rule.stage, subject))
            mark = self._recording.begin()
            tell()
            place = policy.document.locate(rule.rule.path)
            self._recording.end(mark, step._replace(place=place))

    def _turn_to(self, around: Surroundings, subject: ObjectKey | None) -> None:
        """Keep what was told apart from what comes, where that is another moment's."""
        scheduler, timeline = around.scheduler, around.timeline
        if self._current is not None and self._current.step == scheduler.running:
            return
        now = _Moment(
            scheduler.running,
            scheduler.clock.elapsed,
            scheduler.actor.removesuffix("-controller"),
            timeline.cause,
            subject,
        )
        if now != self._moment or self._current is not None:
            self._leave()
            self._moment = now

    def _leave(self) -> None:
        """Put what was told where it belongs: to a request, or to a moment of its own."""
        told = self._taken()
        current, moment, around = self._current, self._moment, self._around
        self._current = self._moment = None
        if current is not None:
            current.told = (*current.told, *told)
        elif told and moment is not None and moment.subject is not None and around is not None:
            subject = moment.subject
            if self._wanted(subject):
                obj = around.store.get(*subject)
                self.asked.append(
                    Asked(
                        time=moment.time,
                        actor=moment.actor,
                        occasion="",
                        subject=subject,
                        object=obj,
                        event=moment.cause,
                        told=told,
                    )
                )

    def _begin(self, request: ApiRequest) -> None:
        """Take notice of a request, as one who refuses none."""
        self._leave()
        around = self._around
        if around is not None:
            self._current = self._open[request] = _Open(
                around.scheduler.running, len(around.timeline.events)
            )

    def _answer(self, request: ApiRequest, response: ApiResponse, old: Json) -> None:
        self._leave()
        done, around = self._open.pop(request, None), self._around
        if done is None or around is None:
            return
        obj = response.object if response.object is not None else request.object
        if obj is None:
            obj = old
        subject = object_key(obj) if obj is not None and not request.key.name else request.key
        if not self._wanted(subject):
            return
        events = around.timeline.events[done.events :]
        self.asked.append(
            Asked(
                time=around.scheduler.clock.elapsed,
                actor="admission",
                occasion=" ".join(filter(None, (request.operation.value, request.subresource))),
                subject=subject,
                object=obj,
                event=events[-1].number if events else None,
                told=done.told,
                responses=done.responses,
                policies=None if done.unheard else around.acting(),
                unheard=done.unheard,
                waiting=() if done.unheard else around.waiting(),
            )
        )
