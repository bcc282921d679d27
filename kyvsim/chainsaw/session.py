"""The session of a test: its cluster, bindings and clock, shared by its operations."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from kyvsim.chainsaw.errors import FailedError, HardError, UnsupportedError, Usage
from kyvsim.chainsaw.expressions import (
    Bindings,
    Evaluate,
    TreeMismatch,
    check_tree,
    compile_evaluate,
    fill,
)
from kyvsim.chainsaw.unsupported import (
    watch_aggregated,
    watch_own_pods,
    watch_pods,
    watch_policies,
    watch_responses,
)
from kyvsim.jmespath import System
from kyvsim.kubernetes.objects import (
    Json,
    KubernetesObject,
    ObjectKey,
    metadata,
    object_key,
    text_field,
)
from kyvsim.kubernetes.quantities import SECOND, parse_duration
from kyvsim.model.chainsaw import (
    ApplyCall,
    ChainsawBinding,
    ChainsawOperation,
    ChainsawTest,
    Timeouts,
)
from kyvsim.model.ports import SIMULATED, Meter
from kyvsim.simulator.api_server import Client
from kyvsim.simulator.api_server.server import ADMIN
from kyvsim.simulator.cluster import SimulatedCluster
from kyvsim.simulator.context import ReplicaLimit, SimulationContext, StallDetector


class AssertedObjects(NamedTuple):
    """The objects that an assertion matched."""

    name: str
    objects: tuple[tuple[ObjectKey, object], ...]
    """The matching objects, with their uids."""
    until: float
    """When its timeout ends, in virtual seconds."""
    unmet: Callable[[], str]
    """Returns why no object matches, "" if one does."""

    def deletion(self, sim: SimulationContext) -> str:
        """Return that all of the objects were deleted, and by which actor, "" if one still exists.

        Only deletions count: objects may change, such as a Pod that runs and then ends.
        """
        uids = ((metadata(sim.store.get(*key) or {}).get("uid"), uid) for key, uid in self.objects)
        if any(now == uid for now, uid in uids) or not self.unmet():
            return ""
        key = self.objects[0][0]
        # The kubelet only ends the deletion of a Pod.
        by = (
            event
            for event in reversed(sim.timeline.events)
            if event.action == "delete" and event.actor != "kubelet"
        )
        actor = next((event.actor for event in by if event.object == key), "")
        who, when = f" by {actor}" if actor else "", f"{sim.clock.elapsed:.3f} s"
        return f"{self.name}: was deleted before the timeout of the assertion{who} at {when}"


POLL = 0.05
"""Seconds from the start of an operation to its first attempt."""
REQUEST = 0.01
"""Seconds that a request takes if it follows immediately."""
_LONGEST_WAIT = 1.0
_MOST_TRIES = 2_000
"""The approximate maximum number of attempts; with a timeout of hours the waits are longer."""
_LONGEST_TEST = 366 * 86400.0
"""The maximum duration of a test in virtual seconds."""
_MOST_EVENTS = 20_000
_EXPRESSIONS_OF_A_TEST = SIMULATED._replace(run=2_000_000)
_UNSAID = (
    "an object contains text in parentheses that is not a valid expression, and no suite "
    "configuration says whether it is one: pass `.chainsaw.yaml` with --config FILE"
)
_EXPRESSIONS = "text in parentheses is an expression unless `template: false` is set"

Objects = tuple[tuple[object, ...], str]
"""The objects of a file, and why there are none."""


class Files(Protocol):
    """File access of a test; paths are as written in the test.

    Every method raises UnreachableError for a path that the test must not use.
    """

    def of_operation(self, name: str) -> Objects:
        """Return the objects of the `file` of an operation."""

    def of_script(self, name: str) -> Objects:
        """Return the objects of a file or folder that kubectl reads."""

    def text(self, name: str) -> str | None:
        """Return the text of a file in a script, None if it does not exist."""

    def parsed(self, text: str) -> Objects:
        """Return the objects in a text."""

    def key(self, name: str) -> str:
        """Return a canonical key for a path in a script."""

    def is_there(self, name: str) -> bool:
        """Return whether a file or folder in a script exists."""

    def is_folder(self, name: str) -> bool:
        """Return whether a path in a script is that of a folder."""

    def matching(self, pattern: str) -> tuple[str, ...]:
        """Return the names that a glob pattern in a script matches."""


ApplyPolicies = Callable[[ApplyCall, SimulatedCluster], tuple[int, str, str]]
"""Runs `kyverno apply` of a script; returns exit status, standard output and standard error.

Raises UnsupportedError if they depend on something that is not available.
"""


class TestSession:
    """The state of one running test."""

    def __init__(
        self,
        test: ChainsawTest,
        cluster: SimulatedCluster,
        files: Files,
        apply_policies: ApplyPolicies,
    ) -> None:
        self.test = test
        self.apply_policies = apply_policies
        self.cluster = cluster
        self.sim = cluster.sim
        self.files = files
        self.client: Client = self.sim.client(ADMIN)
        self.evaluate: Evaluate = compile_evaluate(
            System(self.sim.clock, self.sim.identities, Meter(_EXPRESSIONS_OF_A_TEST))
        )
        self.kyverno = cluster.kyverno
        self.namespace = test.namespace
        self.finished = 0.0
        self.created: list[ObjectKey] = []

        self.written: dict[str, list[str]] = {}
        """Files that scripts have written, in pieces, by canonical path."""
        self.proxy = ""
        """The port of the running `kubectl proxy`, "" if there is none."""
        self.usage = Usage()
        self.exhausted = ""
        """Why the simulation was stopped, "" while it was not."""
        self._replica_limit = ReplicaLimit(self.sim.timeline)
        self._stall_detector = StallDetector(self.sim.timeline, self.sim.scheduler)
        self.unanswered: list[str] = []
        """Queries and checks that are not simulated: the result would be meaningless."""
        self.asserted: list[AssertedObjects] = []
        """The objects of the assertions since the last other operation."""
        record = watch_responses(self.unanswered)
        listeners = cluster.kyverno.admission.listeners
        listeners.append(lambda admission: record((*admission.responses, *admission.dropped)))
        cluster.kyverno.reports.listeners.append(record)
        self.sim.server.observers += [
            watch_policies(self.unanswered),
            watch_pods(self.sim.store, self.unanswered),
            watch_own_pods(self.unanswered),
            watch_aggregated(self.sim.store, self.unanswered),
        ]

    def placed(self, obj: KubernetesObject, namespace: str) -> KubernetesObject:
        """Return an object of a namespaced kind in a namespace, unless it has another."""
        key, store = object_key(obj), self.sim.store
        if key.namespace or not key.kind or not store.is_namespaced(key.api_version, key.kind):
            return obj
        return {**obj, "metadata": {**metadata(obj), "namespace": namespace}}

    def wait(self, seconds: float) -> None:
        """Advance virtual time."""
        self.advance_until(lambda: False, seconds)

    def advance_until(self, done: Callable[[], bool], seconds: float) -> bool:
        """Advance virtual time until `done` returns True; return whether it did.

        Raises UnsupportedError if a limit of the simulation is exceeded.
        """
        reached = False

        def stops() -> bool:
            nonlocal reached
            reached = done()
            return reached or self._is_exhausted()

        if seconds > _LONGEST_TEST - self.sim.clock.elapsed:
            raise UnsupportedError(f"more than {_LONGEST_TEST / 86400:g} days of virtual time")
        self.sim.scheduler.run_until(stops, seconds)
        if not reached:
            self.require_bounded()
        return reached or done()

    def require_bounded(self) -> None:
        """Raise UnsupportedError if a limit of the simulation is exceeded."""
        if self._is_exhausted():
            raise UnsupportedError(self.exhausted)

    def _is_exhausted(self) -> bool:
        if len(self.sim.timeline.events) > _MOST_EVENTS:
            self.exhausted = f"more than {_MOST_EVENTS:,} events in the cluster"
        elif self._replica_limit.is_exceeded():
            self.exhausted = self._replica_limit.excess
        elif self._stall_detector.is_stalled():
            self.exhausted = "an endless wait without changes"
        return bool(self.exhausted)

    def wait_until(self, done: Callable[[], bool], seconds: float) -> bool:
        """Wait until `done` returns True, for at most `seconds`; return whether it did.

        `done` is called again after each write, and at the end.
        """
        store = self.sim.store
        seen = -1

        def reached() -> bool:
            nonlocal seen
            if seen == store.revision:
                return False
            seen = store.revision
            return done()

        return self.advance_until(reached, seconds) or done()

    def require_lasting(self) -> None:
        """Raise FailedError if an asserted object is deleted before its assertion's timeout.

        Chainsaw polls a real cluster until an assertion matches, which proves nothing if it matched
        from the start: an object that a cleanup is about to delete exists at the first poll. Here
        the end of a test is simulated until the timeout, so that a test that passes here also
        passes there, however late chainsaw polls.
        """
        store, clock = self.sim.store, self.sim.clock
        reason, revision = "", store.revision

        def lost() -> bool:
            nonlocal reason, revision
            if store.revision != revision:
                revision = store.revision
                due = [one for one in self.asserted if clock.elapsed <= one.until]
                reason = next(filter(None, (one.deletion(self.sim) for one in due)), "")
            return bool(reason)

        last = max((one.until for one in self.asserted), default=0.0)
        self.advance_until(lost, max(last - clock.elapsed, 0.0))
        self.asserted = []
        if reason:
            raise FailedError(f"assert: {reason}")

    def wait_until_gone(
        self, client: Client, key: ObjectKey, before: KubernetesObject, seconds: float
    ) -> bool:
        """Wait until an object is deleted, for at most `seconds`; return whether it was."""

        def gone() -> bool:
            now = client.get(*key)
            return now is None or metadata(now).get("uid") != metadata(before).get("uid")

        return self.wait_until(gone, seconds)

    def retry(self, attempt: Callable[[], bool], seconds: float) -> bool:
        """Call `attempt` until it returns True, for at most `seconds`; return whether it did.

        The first attempt is after `POLL`, the last one at the end; the waits between attempts grow,
        since more attempts would not change the result of a failing one.
        """
        end = self.sim.clock.elapsed + seconds
        wait = POLL
        while (left := end - self.sim.clock.elapsed) > 0:
            self.wait(min(wait, left))
            if attempt():
                return True
            wait = min(wait * 1.5, max(_LONGEST_WAIT, seconds / _MOST_TRIES))
        return False


class Situation(NamedTuple):
    """The state in which an operation runs."""

    session: TestSession
    bindings: Bindings
    timeouts: Timeouts
    template: bool | None
    propagation: str = "Background"
    """The propagation policy of deletions."""

    def bind(self, name: str, value: object) -> "Situation":
        """Return the situation with one more binding."""
        return self._replace(bindings={**self.bindings, name: value})

    def bind_all(self, bindings: tuple[ChainsawBinding, ...]) -> "Situation":
        """Return the situation with more bindings; each can use those before it."""
        situation = self
        for one in bindings:
            if one.compiler not in {"", "jp"}:
                raise UnsupportedError(f"expressions in the language `{one.compiler}`")
            situation = situation.bind(str(situation.filled(one.name)), situation.filled(one.value))
        return situation

    def filled(self, value: object) -> Json:
        """Return a value with its expressions evaluated."""
        return fill(value, self.bindings, self.session.evaluate)

    def check(self, tree: object, value: object) -> tuple[TreeMismatch, ...]:
        """Return where a value does not match a tree."""
        return check_tree(tree, value, self.bindings, self.session.evaluate)

    def _chosen(self, operation: ChainsawOperation) -> bool | None:
        template: bool | None = operation.spec.get("template")
        return self.template if template is None else template

    def require_explicit(self, operation: ChainsawOperation) -> None:
        """Raise UnsupportedError if it is undefined whether text in parentheses is an expression.

        An error in such an object is meaningless then.
        """
        if self._chosen(operation) is None:
            raise UnsupportedError(_UNSAID)

    def templated(self, operation: ChainsawOperation, value: object) -> Json:
        """Return a value with its expressions evaluated, unless that is disabled."""
        if self._chosen(operation) is False:
            return value
        try:
            return self.filled(value)
        except HardError as error:
            self.require_explicit(operation)
            raise HardError(f"{error} ({_EXPRESSIONS})") from None


def seconds_of(text: object) -> float:
    """Return the seconds of a duration; raise HardError if it is invalid."""
    nanoseconds = parse_duration(str(text))
    if nanoseconds is None:
        raise HardError(f"`{text}` is not a duration")
    return nanoseconds / SECOND


def timeout_of(situation: Situation, operation: ChainsawOperation, default: float) -> float:
    """Return the timeout of an operation in seconds."""
    given = operation.spec.get("timeout")
    return default if given is None else seconds_of(situation.filled(given))


def failure_of(
    situation: Situation, operation: ChainsawOperation, obj: object, error: str | None
) -> str | None:
    """Return why an operation failed, or None: by `expect`, or by its own error."""
    checked = situation.bind("error", error)
    matched = False
    problems: list[TreeMismatch] = []
    for one in operation.spec.get("expect") or ():
        match = one.get("match")
        if match is not None and situation.check(match, obj):
            continue
        matched = True
        problems += checked.check(one.get("check"), obj)
    if not matched:
        return error
    return "; ".join(map(str, problems)) or None


def outputs(situation: Situation, operation: ChainsawOperation, value: object) -> Bindings:
    """Return the bindings that an operation sets for later ones."""
    bindings: dict[str, object] = {}
    inner = situation
    for one in operation.spec.get("outputs") or ():
        match = one.get("match")
        if match is not None and inner.check(match, value):
            continue
        name = text_field(one, "name")
        bindings[name] = fill(
            one.get("value"), inner.bindings, situation.session.evaluate, data=value
        )
        inner = inner.bind(name, bindings[name])
    return bindings
