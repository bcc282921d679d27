"""A test from its namespace to its clean-up.

Source of the order: chainsaw's documentation, "Test execution" and "Cleanup".
"""

from collections.abc import Iterable
from typing import NamedTuple

from kyvsim.chainsaw.ending import FailedError, UnsupportedError
from kyvsim.chainsaw.operations import OPERATIONS
from kyvsim.chainsaw.operations.delete import delete_one
from kyvsim.chainsaw.session import Files, Scope, Session
from kyvsim.kube.objects import Json, ObjectKey
from kyvsim.model.chainsaw import ChainsawOperation, ChainsawOutcome, ChainsawStep, ChainsawTest
from kyvsim.model.source import Location
from kyvsim.sim.cluster import Cluster

_NAMESPACE = ("v1", "Namespace", "")


class _Ending(NamedTuple):
    """What settled a test before its end."""

    result: str
    reason: str
    location: Location | None


class _Done(NamedTuple):
    """A step that ran, for its clean-up."""

    step: ChainsawStep
    scope: Scope
    created: tuple[ObjectKey, ...]


def run_test(test: ChainsawTest, cluster: Cluster, files: Files) -> ChainsawOutcome:
    """Return what comes of a test on a fresh cluster."""
    session = Session(test, cluster, files)
    outcome = ChainsawOutcome(test.name, test.location.file, "pass")
    if test.skip:
        return outcome._replace(result="unsupported", reason="the test says `skip: true`")
    own = _open_namespace(session)
    scope = _scope(session)
    ending, done = _run_steps(scope)
    seconds = session.parts.clock.elapsed
    notes = _clean_up(scope, done, own=own)
    events = tuple(session.parts.timeline.events)
    outcome = outcome._replace(seconds=seconds, notes=notes, events=events)
    if ending is None:
        return outcome
    return outcome._replace(result=ending.result, reason=ending.reason, location=ending.location)


def _open_namespace(session: Session) -> bool:
    """Make the namespace of a test; return whether it was not there."""
    name = session.namespace or session.parts.identities.generated_name("chainsaw-")
    session.namespace = name
    if session.client.get(*_NAMESPACE, name) is not None:
        return False
    session.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return True


def _scope(session: Session) -> Scope:
    test = session.test
    bindings: dict[str, Json] = {
        "namespace": session.namespace,
        "test": {"id": 1, "metadata": dict(test.metadata)},
        "values": {},
        "client": None,
        "config": None,
    }
    scope = Scope(session, bindings, test.timeouts, test.template)
    return scope.bind_all(test.bindings)


def _run_steps(scope: Scope) -> tuple[_Ending | None, list[_Done]]:
    done: list[_Done] = []
    for number, step in enumerate(scope.session.test.steps, 1):
        inner = _step_scope(scope, step, number)
        scope.session.created = []
        ending = _run_step(inner, step, number)
        done.append(_Done(step, inner, tuple(scope.session.created)))
        if ending is not None:
            return ending, done
    return None, done


def _step_scope(scope: Scope, step: ChainsawStep, number: int) -> Scope:
    timeouts = scope.timeouts._replace(**step.timeouts)
    template = scope.template if step.template is None else step.template
    inner = scope._replace(timeouts=timeouts, template=template).bind("step", {"id": number})
    return inner.bind_all(step.bindings)


def _run_step(scope: Scope, step: ChainsawStep, number: int) -> _Ending | None:
    name = step.name or f"step {number}"
    ending = _run_block(scope, step.attempts, name)
    if ending is not None and ending.result == "fail":
        _run_block(scope, (*scope.session.test.catch, *step.catch), name)
    last = _run_block(scope, step.final, name)
    return ending or last


def _run_block(scope: Scope, operations: Iterable[ChainsawOperation], name: str) -> _Ending | None:
    """Run operations one after another; return the first that did not succeed."""
    first: _Ending | None = None
    for number, operation in enumerate(operations, 1):
        inner = scope.bind("operation", {"id": number})
        try:
            for bound, value in _answered(inner, operation).items():
                scope = scope.bind(bound, value)
        except UnsupportedError as problem:
            told = f"{name}: {operation.kind}: {problem.message}"
            return first or _Ending("unsupported", told, operation.location)
        except FailedError as problem:
            told = f"{name}: {operation.kind}: {problem.message}"
            first = first or _Ending("fail", told, operation.location)
            if not operation.continues:
                return first
    return first


def _answered(scope: Scope, operation: ChainsawOperation) -> dict[str, Json]:
    """Run an operation; raise UnsupportedError where policies asked what nobody can answer.

    Its end says nothing then, whether it succeeded or not.
    """
    try:
        return _run_operation(scope, operation)
    finally:
        unanswered = scope.session.unanswered
        if unanswered:
            raise UnsupportedError(unanswered[0])


def _run_operation(scope: Scope, operation: ChainsawOperation) -> dict[str, Json]:
    for known in OPERATIONS:
        if known.name == operation.kind:
            inner = scope.bind_all(operation.bindings)
            return dict(known.run(inner, operation.spec))
    raise UnsupportedError("this operation is not simulated")


def _clean_up(scope: Scope, done: list[_Done], *, own: bool) -> tuple[str, ...]:
    """Undo the steps, the last one first; return what could not be undone."""
    notes: list[str] = []
    session = scope.session
    for one in reversed(done):
        for key in reversed(one.created):
            limit = one.scope.timeouts.cleanup
            error = delete_one(one.scope, key, "Background", limit)
            notes += [f"clean-up: {error}"] if error else []
        session.created = []
        ending = _run_block(one.scope, one.step.cleanup, "clean-up")
        notes += [ending.reason] if ending else []
    if own:
        session.client.delete(ObjectKey(*_NAMESPACE, session.namespace))
    return tuple(notes)
