"""Inputs as texts, so that any process or machine can compile the policies and evaluate objects."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kyvsim.api.apply import Compiled, compiled_for, explaining, responses_of
from kyvsim.api.apply_parts import SHARED, NeedsMoreObjects, alone
from kyvsim.api.inputs import ApplyInputs, ReadInputs, objects_of, read_inputs, shared_data_apart
from kyvsim.api.refused_objects import RefusedObjects
from kyvsim.engine.cluster_views import GivenObjects, RecordingView, view_of_part, view_of_whole
from kyvsim.engine.compile import PolicySet
from kyvsim.kubernetes.discovery import crd_kinds
from kyvsim.kubernetes.objects import Json
from kyvsim.load.documents import AS_RESOURCES, parse_documents
from kyvsim.load.files import Source, decode, read_sources
from kyvsim.load.resources import LoadedText, resources_among
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.result import EngineResponse, RefusalCount
from kyvsim.model.source import Document
from kyvsim.report.failure_reasons import Explain
from kyvsim.report.run import NotStreamable


class Ready(NamedTuple):
    """Policies, ready to be evaluated on any objects."""

    inputs: ApplyInputs
    read: ReadInputs
    compiled: Compiled


def carried(inputs: ApplyInputs, stdin: bytes | None) -> ApplyInputs:
    """Return inputs that are read nowhere: their files are texts, and they have no resources.

    What cannot be read is left out: who asks reads the inputs, too, and tells it.
    """

    def texts(*paths: str | Source) -> tuple[Source, ...]:
        found = read_sources(paths, stdin, inputs.walking)
        return tuple(one for one in found if isinstance(one, Source))

    def text(path: str | Source) -> str | Source:
        return next(iter(texts(path)), "") if path else ""

    return inputs._replace(
        policies=texts(*inputs.policies),
        resources=(),
        targets=texts(*inputs.targets),
        exceptions=texts(*inputs.exceptions),
        values_file=text(inputs.values_file),
        userinfo=text(inputs.userinfo),
        context_file=text(inputs.context_file),
        crd_paths=texts(*inputs.crd_paths),
        parameters=texts(*inputs.parameters),
    )


def made_ready(inputs: ApplyInputs, stdin: bytes | None = None) -> Ready:
    """Return the policies of inputs without resources, read and compiled."""
    read = read_inputs(inputs._replace(resources=()), stdin)
    return Ready(inputs, read, compiled_for(inputs, read))


def opened(ready: Ready, name: str, data: bytes) -> LoadedText | Diagnostic:
    """Return the objects of a file or of a piece of one, or why it is no text."""
    source = decode(name, data)
    if isinstance(source, Diagnostic):
        return source
    kinds = crd_kinds(ready.read.definitions)
    return resources_among(parse_documents(source, AS_RESOURCES), kinds)


def are_shared(objects: Iterable[Json]) -> bool:
    """Return whether some objects make a difference for others without being asked for."""
    return any(one["kind"] in SHARED for one in objects)


class PartEvaluation(NamedTuple):
    """What the rules say of some objects, as it is asked for."""

    responses: Iterator[EngineResponse]
    explain: Explain


def evaluated_alone(ready: Ready, documents: tuple[Document, ...]) -> PartEvaluation:
    """Return what the rules say of each object.

    It raises NotStreamable, also while responses are read, where others make a difference.
    """
    if are_shared(one.data for one in documents):
        raise NotStreamable
    cluster = view_of_part()
    read = ready.read._replace(resources=documents)
    found = responses_of(ready.compiled.policies, read, ready.inputs, cluster)
    return PartEvaluation(_unasked(found, cluster), explaining(ready.inputs, read, cluster))


def _unasked(found: Iterator[EngineResponse], cluster: RecordingView) -> Iterator[EngineResponse]:
    try:
        yield from alone(found, cluster)
    except NeedsMoreObjects as error:
        raise NotStreamable from error


class EvaluationScope(NamedTuple):
    """All objects of a cluster, and the policies compiled for what they define."""

    policies: PolicySet
    view: RecordingView


def evaluation_scope(ready: Ready, documents: tuple[Document, ...]) -> EvaluationScope:
    """Return what rules see around an object where these are all that there are."""
    everything = objects_of((*documents, *ready.read.targets, *ready.read.shared_data))
    compiled = ready.compiled
    if crd_kinds(everything):
        compiled = compiled_for(ready.inputs, ready.read._replace(resources=documents))
    view = view_of_whole(GivenObjects(everything, ready.read.definitions))
    return EvaluationScope(compiled.policies, view)


def evaluated_among(
    ready: Ready, around: EvaluationScope, documents: tuple[Document, ...]
) -> PartEvaluation:
    """Return what the rules say of some of the objects of a cluster."""
    read = ready.read._replace(resources=shared_data_apart(documents)[1])
    found = responses_of(around.policies, read, ready.inputs, around.view)
    return PartEvaluation(found, explaining(ready.inputs, read, around.view))


def refusals_among(ready: Ready, documents: tuple[Document, ...]) -> tuple[RefusalCount, ...]:
    """Return why an API server refuses some of the objects (KV233)."""
    refused = RefusedObjects(is_final=not ready.compiled.policies.mutates)
    refused.add(documents)
    return refused.found


def kinds_shown(documents: tuple[Document, ...]) -> tuple[Json, ...]:
    """Return what tells the kinds of objects, each once: those that they have, and define."""
    found: dict[tuple[str, str], Json] = {}
    defined: list[Json] = []
    for one in documents:
        api_version, kind = one.data["apiVersion"], one.data["kind"]
        found.setdefault((api_version, kind), {"apiVersion": api_version, "kind": kind})
        if kind == "CustomResourceDefinition":
            defined += [_definition(one.data)] if crd_kinds((one.data,)) else []
    return (*found.values(), *defined)


def _definition(crd: Json) -> Json:
    """Return of a definition what names kinds."""
    spec = crd["spec"]
    kept = {name: spec[name] for name in ("group", "names", "scope") if name in spec}
    return {"apiVersion": crd["apiVersion"], "kind": crd["kind"], "spec": kept}
