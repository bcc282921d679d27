"""Run a test, from the creation of its namespace to its clean-up.

Source of the order: chainsaw's documentation, "Test execution" and "Cleanup".
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple, TypeAlias, TypeVar

from kyvsim.chainsaw.errors import FailedError, UnsupportedError
from kyvsim.chainsaw.expressions import Bindings
from kyvsim.chainsaw.operations import OPERATIONS, delete_one
from kyvsim.chainsaw.session import ApplyPolicies, Files, Situation, TestSession
from kyvsim.kubernetes.objects import ObjectKey, object_key
from kyvsim.model.chainsaw import ChainsawOperation, ChainsawOutcome, ChainsawStep, ChainsawTest
from kyvsim.model.source import Location
from kyvsim.patch.json_patch import merge_patch
from kyvsim.simulator.cluster import SimulatedCluster

_LONGEST_REASON = 4_000
_NAMESPACE = ("v1", "Namespace", "")


class _Ending(NamedTuple):
    result: str
    reason: str
    location: Location | None


_StepRun: TypeAlias = tuple[ChainsawStep, Situation, tuple[ObjectKey, ...]]
"""A step that was run, and the objects that it created, for the clean-up."""


def run_test(
    test: ChainsawTest, cluster: SimulatedCluster, files: Files, apply_policies: ApplyPolicies
) -> ChainsawOutcome:
    """Run a test on a new cluster and return its outcome."""
    session = TestSession(test, cluster, files, apply_policies)
    name = f"{test.name} (scenario {test.scenario})" if test.scenario else test.name
    outcome = ChainsawOutcome(name, test.location.file, "pass")
    if test.skip:
        reason = "skipped by the test (`skip: true`)"
        return outcome._replace(result="unsupported", reason=reason, skipped=True)
    ending, notes = _run(session)
    outcome = outcome._replace(
        seconds=session.finished, notes=notes, events=tuple(session.sim.timeline.events)
    )
    if ending is None:
        return outcome
    return outcome._replace(result=ending.result, reason=ending.reason, location=ending.location)


def _run(session: TestSession) -> tuple[_Ending | None, tuple[str, ...]]:
    """Run a test and its clean-up; return the first error, and errors of the clean-up."""
    test = session.test
    session.namespace = test.namespace or session.sim.identities.generated_name("chainsaw-")
    about = {"id": 1, "scenarioId": test.scenario, "metadata": dict(test.metadata)}
    given: dict[str, object] = {"namespace": session.namespace, "test": about}
    bindings = {**given, "values": {}, "client": None, "config": None}
    situation = Situation(session, bindings, test.timeouts, test.template, test.propagation)
    opened: list[ObjectKey] = []

    def begin() -> Situation:
        bound = situation.bind_all(test.bindings)
        if session.client.get(*_NAMESPACE, session.namespace) is None:
            meta = {"name": session.namespace}
            plain = {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}
            namespace = merge_patch(plain, bound.filled(test.namespace_template or {}))
            response = session.client.create(namespace)
            if response.error is not None:
                raise FailedError(f"namespace `{session.namespace}`: {response.error.message}")
            opened.append(object_key(response.object))
        return bound

    ending, bound = _attempt(begin, "the start of the test", test.location)
    done: list[_StepRun] = []
    if bound is not None:
        ending = _run_steps(bound, done)
    session.finished = session.sim.clock.elapsed
    if ending is None:
        ending, _ = _attempt(session.require_lasting, "the end of the test", test.location)
    problems = [] if session.exhausted else _clean_up(session, done, opened)
    if ending is None and problems:
        ending, *problems = problems
    return ending, tuple(one.reason for one in problems)


_Made = TypeVar("_Made")


def _attempt(
    make: Callable[[], _Made], name: str, location: Location
) -> tuple[_Ending | None, _Made | None]:
    """Return the error of a call, or its result."""
    try:
        return None, make()
    except UnsupportedError as problem:
        return _Ending("unsupported", f"{name}: {_shortened(str(problem))}", location), None
    except FailedError as problem:
        return _Ending("fail", f"{name}: {_shortened(str(problem))}", location), None


def _shortened(message: str) -> str:
    """Return a long message without its middle."""
    left_out = len(message) - _LONGEST_REASON
    if left_out <= 0:
        return message
    half = _LONGEST_REASON // 2
    return f"{message[:half]} … ({left_out:,} characters omitted) … {message[-half:]}"


def _run_steps(situation: Situation, done: list[_StepRun]) -> _Ending | None:
    """Run the steps until one fails, and add those that were run to `done`."""
    for number, step in enumerate(situation.session.test.steps, 1):
        situation.session.created = []
        name = step.name or f"step {number}"
        begin = partial(_step_scope, situation, step, number)
        ending, inner = _attempt(begin, name, situation.session.test.location)
        if inner is not None:
            ending = _run_block(inner, step.attempts, name)
            if ending is not None and ending.result == "fail":
                _run_block(inner, (*inner.session.test.catch, *step.catch), name)
            last = _run_block(inner, step.final, name)
            ending = ending or last
            done.append((step, inner, tuple(situation.session.created)))
        if ending is not None:
            return ending
    return None


def _step_scope(situation: Situation, step: ChainsawStep, number: int) -> Situation:
    inner = situation._replace(
        timeouts=situation.timeouts._replace(**step.timeouts),
        template=situation.template if step.template is None else step.template,
        propagation=step.propagation or situation.propagation,
    )
    return inner.bind("step", {"id": number}).bind_all(step.bindings)


def _run_block(
    situation: Situation, operations: Iterable[ChainsawOperation], name: str
) -> _Ending | None:
    """Run operations in order; return the first error."""
    first: _Ending | None = None
    for number, operation in enumerate(operations, 1):
        inner = situation.bind("operation", {"id": number})
        title = f"{name}: {operation.kind}"
        ending, bindings = _attempt(partial(_answered, inner, operation), title, operation.location)
        for bound, value in (bindings or {}).items():
            situation = situation.bind(bound, value)
        first = first or ending
        if ending is not None and (ending.result == "unsupported" or not operation.continues):
            return first
    return first


def _answered(situation: Situation, operation: ChainsawOperation) -> Bindings:
    """Run an operation; raise UnsupportedError if policies needed data that is not available.

    The operation's own result is meaningless then.
    """
    try:
        if operation.foreign:
            raise UnsupportedError(operation.foreign)
        if operation.kind != "assert":
            situation.session.asserted = []
        run = OPERATIONS.get(operation.kind)
        if run is None:
            raise UnsupportedError("this operation is not simulated")
        return run(situation.bind_all(operation.bindings), operation)
    finally:
        unanswered = situation.session.unanswered
        if unanswered:
            raise UnsupportedError(unanswered[0])


def _clean_up(session: TestSession, done: list[_StepRun], opened: list[ObjectKey]) -> list[_Ending]:
    """Undo the steps, the last one first; return the errors.

    A test whose clean-up fails has failed. Its namespace is deleted last, without waiting.
    Source of the rules: chainsaw's documentation, "Cleanup".
    """
    test = session.test
    problems: list[_Ending] = []
    ending, _ = _attempt(partial(session.wait, test.delay), "clean-up", test.location)
    if ending is not None:
        return [ending]
    for step, situation, created in reversed(done):
        keeps = test.keeps if step.keeps is None else step.keeps
        for key in () if keeps else reversed(dict.fromkeys(created)):
            delete = partial(
                delete_one, situation, key, situation.propagation, situation.timeouts.cleanup
            )
            ending, error = _attempt(delete, "clean-up", test.location)
            if error is not None:
                ending = _Ending("fail", f"cleanup: {error}", test.location)
            problems += [ending] if ending else []
        if session.exhausted:
            break
        session.created = []
        ending = _run_block(situation, step.cleanup, "clean-up")
        problems += [ending] if ending else []
    if not test.keeps:
        for key in opened:
            session.client.delete(key)
    return problems
