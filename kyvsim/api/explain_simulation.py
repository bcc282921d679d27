"""`simulate --explain`: who asked policies about an object, when, and how they came to answers."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from kyvsim.api.explain import NotFoundError, explanation_of, object_names
from kyvsim.api.explain_places import with_places
from kyvsim.api.explain_record import Recorder
from kyvsim.engine.compile import PolicySet, index_policies
from kyvsim.kubernetes.objects import Json, ObjectKey, object_key
from kyvsim.model.diagnostic import likely
from kyvsim.model.explanation import StepKind, TracedRule
from kyvsim.model.policy import Rule
from kyvsim.model.result import EngineResponse, Stage
from kyvsim.model.simulation import EvaluationRecord, Scenario, Simulation
from kyvsim.model.source import Document
from kyvsim.simulator.tracer import SimulationTracer, TracedEvaluation

_Written = Mapping[tuple[str, str, str], tuple[Document, ...]]


def tracer_for(name: str) -> SimulationTracer:
    """Return who follows what policies are asked about objects with a name; see `Wanted`."""
    recorder = Recorder()
    return SimulationTracer(lambda key: name in object_names(key), recorder, recorder.taken)


def with_inquiries(
    simulation: Simulation, tracer: SimulationTracer, name: str, scenario: Scenario
) -> Simulation:
    """Return a simulation with what policies were asked about the object of a name.

    Raises NotFoundError where no object was called so.
    """
    keys = {one.object for one in simulation.events}
    keys.update(one.subject for one in tracer.evaluations)
    keys.update(map(object_key, simulation.objects))
    names = {text for key in keys for text in object_names(key)}
    if name not in names:
        hint = likely(name, names)
        raise NotFoundError(f"no object is called `{name}`{hint}", simulation.diagnostics)
    written = _documents(scenario)
    found = tuple(_inquiry(one, written) for one in tracer.evaluations)
    return simulation._replace(explained=name, inquiries=found)


def written_in(scenario: Scenario) -> Callable[[Json], Document | None]:
    """Return what finds the document that an object of a cluster was made of, if there is one."""
    written = _documents(scenario)
    return lambda obj: _document_of(obj, written)


def _documents(scenario: Scenario) -> _Written:
    found: dict[tuple[str, str, str], tuple[Document, ...]] = {}
    brought = (one for step in scenario.steps for one in step.objects)
    given = (*scenario.policies, *scenario.exceptions, *scenario.objects, *brought)
    for document in given:
        name = _name(object_key(document.data))
        found[name] = (*found.get(name, ()), document)
    return MappingProxyType(found)


def _name(key: ObjectKey) -> tuple[str, str, str]:
    return key.kind, "" if key.namespace == "default" else key.namespace, key.name


def _document_of(obj: Json, written: _Written) -> Document | None:
    """Return the document of an object; of several versions the one that says the same."""
    versions = written.get(_name(object_key(obj)), ())
    same = (one for one in versions if one.data.get("spec") == obj.get("spec"))
    return next(same, versions[0] if len(versions) == 1 else None)


def _inquiry(evaluations: TracedEvaluation, written: _Written) -> EvaluationRecord:
    trigger = _named(evaluations.subject) if evaluations.object is None else evaluations.object
    response = EngineResponse(
        trigger, evaluations.object, evaluations.responses, _document_of(trigger, written)
    )
    policies = evaluations.policies or _NO_POLICIES
    explained = with_places(explanation_of(response, _once(evaluations.rules), policies))
    return EvaluationRecord(
        time=evaluations.time,
        actor=evaluations.actor,
        occasion=evaluations.occasion,
        event=evaluations.event,
        explained=explained,
        unheard=evaluations.unheard,
        waiting=evaluations.waiting,
    )


def _once(rules: Iterable[TracedRule]) -> tuple[TracedRule, ...]:
    """Return each rule once: it may be asked again as webhooks are, and passed by in the end."""
    found: dict[tuple[Rule, Stage], TracedRule] = {}
    for one in rules:
        first = found.setdefault((one.run.rule, one.run.stage), one)
        if first is not one and all(step.kind is StepKind.UNASKED for step in one.steps):
            whole = first._replace(steps=(*first.steps, *one.steps))
            found[one.run.rule, one.run.stage] = whole
    return tuple(found.values())


def _named(key: ObjectKey) -> Json:
    meta = {"name": key.name, **({"namespace": key.namespace} if key.namespace else {})}
    return {"apiVersion": key.api_version, "kind": key.kind, "metadata": meta}


_NO_POLICIES: PolicySet = index_policies(())
