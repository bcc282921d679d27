"""`apply`: loads the inputs, compiles the policies, and evaluates each resource."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from kyvsim.api.explain_rows import compile_explain
from kyvsim.api.inputs import (
    ApplyInputs,
    LoadResources,
    ReadInputs,
    given_world,
    name_of,
    objects_of,
    old_key,
    read_inputs,
    unignored,
)
from kyvsim.api.mismatches import first_reason
from kyvsim.api.refused_objects import RefusedObjects, warnings_of
from kyvsim.api.system import own_system
from kyvsim.engine.compile import CompileOptions, Model, PolicySet
from kyvsim.engine.evaluate import evaluate, evaluate_payload
from kyvsim.engine.world import GivenObjects, World, creation_of, request_of, reviewed
from kyvsim.kubernetes.discovery import crd_kinds
from kyvsim.kubernetes.objects import KubernetesObject
from kyvsim.languages import compile_policies, derived_rules, language_of
from kyvsim.linting.runs import (
    LintInputs,
    all_skipped,
    no_images_checked,
    nothing_matched,
    run_warnings,
    without_payloads,
)
from kyvsim.load.recognise import only_policies
from kyvsim.load.resources import load_resources
from kyvsim.model.diagnostic import Diagnostic, has_errors
from kyvsim.model.policy import Policy, Schedule
from kyvsim.model.ports import Clock, ClusterView, to_follow
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import (
    EngineResponse,
    KnownFailure,
    PolicyResponse,
    RefusalCount,
    ReportedReason,
    RuleStatus,
    Stage,
)
from kyvsim.model.source import Document
from kyvsim.model.tracing import Tracer
from kyvsim.report.diagnostics import Explain, FailureExplanation
from kyvsim.report.results import Row
from kyvsim.report.run import (
    BaselineMatches,
    BeginDocument,
    FailureMarker,
    ResultCounts,
    Run,
    StreamingDocument,
    stale_diagnostics,
)
from kyvsim.report.style import RenderOptions

EXPLAINED = 20
"""The number of resources of which one is explained if no rule has a result."""
_SHOWN = 3
"""Number of shown next times of a schedule."""


def schedules_of(policies: Iterable[Policy], clock: Clock) -> tuple[Schedule, ...]:
    """Return the schedules of deleting policies, with their next times."""
    schedules: list[Schedule] = []
    for policy in policies:
        if policy.facts.schedule is None:
            continue
        schedule = Schedule(policy.kind, policy.key, policy.facts.schedule)
        try:
            times = language_of(policy).next_times(policy.facts.schedule, clock.now(), _SHOWN)
            due = tuple(times)
        except ValueError as error:
            problem = f"kyvsim can't read the schedule: {error}"
        else:
            problem = "" if due else "it has no further runs"
            schedule = schedule._replace(due=due)
        schedules.append(schedule._replace(problem=problem))
    return tuple(schedules)


class Compiled(NamedTuple):
    """The policies of a run."""

    policies: PolicySet
    refused: tuple[Diagnostic, ...]
    clock: Clock


class Application(NamedTuple):
    """The inputs of a run, read and compiled."""

    inputs: ApplyInputs
    read: ReadInputs
    compiled: Compiled
    run: Run


def open_application(
    inputs: ApplyInputs, stdin: bytes | None = None, load: LoadResources = load_resources
) -> Run:
    """Return the compiled policies of `inputs` with lazy responses to the resources.

    `stdin` is read for the path `-`. Problems with inputs are diagnostics; the rest is evaluated.
    """
    return application_of(inputs, stdin, load).run


def application_of(
    inputs: ApplyInputs, stdin: bytes | None = None, load: LoadResources = load_resources
) -> Application:
    """Return the run of `open_application` with what it was made of."""
    read = read_inputs(inputs, stdin, load)
    compiled = compiled_for(inputs, read)
    counts = ResultCounts(audit_warn=inputs.audit_warn)
    responses = iter(()) if read.unusable else responses_of(compiled.policies, read, inputs)
    run = run_of(compiled, inputs, read, whole_sample(read, compiled))
    run = run._replace(result_counts=counts, explain=explaining(inputs, read))
    marker = None
    if inputs.has_baseline:
        marker = failure_marker(inputs, read, counts)
        run = with_baseline(run, inputs, read)
    run = run._replace(responses=counted_responses(responses, counts, marker))
    return Application(inputs, read, compiled, run)


def counted_responses(
    responses: Iterable[EngineResponse], counts: ResultCounts, marker: FailureMarker | None = None
) -> Iterator[EngineResponse]:
    """Yield the responses, marked by the baseline and counted."""
    for response in responses:
        marked = marker.mark(response) if marker else response
        counts.add_response(marked)
        yield marked


def render_run(run: Run, documents: Sequence[StreamingDocument]) -> Iterator[tuple[int, str]]:
    """Yield the pieces of several documents of a run, each with the index of its document.

    Each response is immediately passed to all documents, so that none stores the run. Parts that
    other processes have rendered are joined instead.
    """
    for index, document in enumerate(documents):
        for piece in document.head():
            yield index, piece
    begun = [False] * len(documents)
    rows = [*enumerate(document.row for document in documents)]
    pieces = ((index, row(response)) for response in run.responses for index, row in rows)
    if run.rendered:
        pairs = enumerate(zip(run.rendered.pieces, documents, strict=True))
        pieces = (
            (index, piece) for index, (parts, document) in pairs for piece in document.joined(parts)
        )
    for index, text in pieces:
        if begun[index]:
            yield index, text
        elif text:
            begun[index] = True
            yield index, documents[index].lead + text[documents[index].skipped :]
    for index, document in enumerate(documents):
        for piece in document.tail(run.rendered.lists[index] if run.rendered else document.lists):
            yield index, piece


def render_document(begin: BeginDocument, run: Run, options: RenderOptions) -> Iterator[str]:
    """Yield one document of a run in pieces."""
    for _, piece in render_run(run, (begin(run, options),)):
        yield piece


def explaining(
    inputs: ApplyInputs, read: ReadInputs, cluster: ClusterView | None = None
) -> Explain:
    """Return a function that explains results; it must be called while they are rendered.

    Compilation is deferred to the first call. Several formats show the same failures, so the
    explanations of the last response are cached.
    """
    ask: list[Explain] = []
    last: list[EngineResponse] = []
    known: dict[tuple[object, ...], tuple[FailureExplanation, ...]] = {}

    def explain(response: EngineResponse, row: Row) -> tuple[FailureExplanation, ...]:
        if not ask:
            told = _options(inputs._replace(budget=to_follow(inputs.budget)), read)
            sound = told._replace(admitted=True)  # otherwise there would be no results
            ask.append(compile_explain(sound, world_of(read, cluster), read.payloads))
        if not last or last[0] is not response:
            last[:] = [response]
            known.clear()
        policy, result = row.policy, row.result
        rule = (policy.kind, policy.key, result.rule.name, result.rule.path)
        key = (*rule, result.phase, result.status, result.message)
        if key not in known:
            known[key] = ask[0](response, row)
        return known[key]

    return explain


def compiled_for(inputs: ApplyInputs, read: ReadInputs, tracer: Tracer | None = None) -> Compiled:
    """Return the compiled policies of a run, with a tracer if there is one."""
    options = _options(inputs, read)._replace(tracer=tracer)
    policies, refused = compile_policies(read.policies, options)
    return Compiled(policies, refused, options.system.clock)


def _options(inputs: ApplyInputs, read: ReadInputs) -> CompileOptions:
    return CompileOptions(
        own_system(inputs.now, inputs.budget, inputs.release),
        read.exceptions.rules,
        Model(inputs.model),
        cel_exceptions=read.exceptions.policies,
        kinds=crd_kinds((*read.definitions, *objects_of(read.resources))),
        bindings=read.bindings,
        parameters=read.parameters,
    )


class Sample(NamedTuple):
    """The resources of a run, or a subset with all of their kinds and names."""

    objects: tuple[KubernetesObject, ...]
    number: int
    refused: tuple[RefusalCount, ...] = ()
    first: Callable[[], tuple[Document, ...]] = tuple
    """Returns the first resources, of which one is explained if no rule has a result."""


def whole_sample(read: ReadInputs, compiled: Compiled) -> Sample:
    """Return all resources of a run."""
    objects = objects_of(read.resources)
    refused = RefusedObjects(is_final=not compiled.policies.mutates)
    refused.add(read.resources)
    first = read.resources[:EXPLAINED]
    return Sample(objects, len(objects), refused.found, lambda: first)


def run_of(compiled: Compiled, inputs: ApplyInputs, read: ReadInputs, sample: Sample) -> Run:
    """Return a run without responses."""
    policies, refused, clock = compiled
    sound = tuple(policy.policy for policy in policies.policies)
    # The last ones, since the partial reports of a fleet also append them at the end.
    unfit = warnings_of(sample.refused)
    diagnostics = (*read.diagnostics, *refused)
    others = objects_of((*read.targets, *read.shared_data))
    given = LintInputs(
        policies=read.policies,
        resources=sample.objects,
        number=sample.number,
        derive=derived_rules,
        others=(*others, *read.definitions, *read.parameters),
        exceptions=read.exceptions.rules,
        cel_exceptions=read.exceptions.policies,
        bindings=read.bindings,
        values=read.values,
        sound=not has_errors(diagnostics),
        modes=frozenset(dict(inputs.payloads)),
    )
    why = partial(_first_reason, inputs, read, sample)
    return Run(
        policies=sound,
        resource_count=sample.number + len(read.payloads),
        rule_count=sum(policy.rule_count for policy in policies.policies),
        exception_count=read.exceptions.total,
        exceptions=read.exceptions.keys,
        diagnostics=(
            *diagnostics,
            *unignored(run_warnings(given), read.policies),
            *without_payloads(given),
            *no_images_checked(given),
            *unfit,
        ),
        schedules=schedules_of(sound, clock),
        left_out=read.left_out,
        responses=iter(()),
        result_counts=ResultCounts(audit_warn=inputs.audit_warn),
        audit_warn=inputs.audit_warn,
        now=inputs.now,
        checks_idempotence=inputs.check_idempotent,
        applied=not read.unusable,
        release=inputs.release.name,
        deprecated=read.deprecated,
        mutates=policies.mutates,
        final_checks=lambda matched: _final_checks(matched, given, sound, inputs, why),
        skip_reasons=lambda: all_skipped(why(skips=True)),
    )


def _final_checks(
    matched: int,
    given: LintInputs,
    sound: tuple[Policy, ...],
    inputs: ApplyInputs,
    why: Callable[[], ReportedReason | None],
) -> tuple[Diagnostic, ...]:
    """Return a diagnostic if no rule matched, unless an error about input explains that."""
    is_whole = given.sound and inputs.unchanged is None and not inputs.walking.as_found
    if matched or not (given.resources or is_whole):
        return ()
    paths = [name_of(path) for path in (*inputs.resources, *(path for _, path in inputs.payloads))]
    if is_whole and (swapped := only_policies(given.resources, next(iter(paths), ""))):
        return (swapped,)
    return tuple(nothing_matched(given._replace(policies=sound), paths, why))


def _first_reason(
    inputs: ApplyInputs, read: ReadInputs, sample: Sample, *, skips: bool = False
) -> ReportedReason | None:
    some = read._replace(resources=sample.first())
    return first_reason(
        lambda tracer: compiled_for(inputs, read, tracer).policies,
        lambda policies: responses_of(policies, some, inputs),
        skips=skips,
    )


def responses_of(
    policies: PolicySet, read: ReadInputs, inputs: ApplyInputs, cluster: ClusterView | None = None
) -> Iterator[EngineResponse]:
    """Yield the responses to resources and payloads; rules read `cluster` or the inputs."""
    world = world_of(read, cluster)
    for document in read.resources:
        world = world._replace(arriving=document.data)
        request = _request(document, read, inputs)
        response = evaluate(policies, request, world)
        if inputs.check_idempotent and response.object is not None:
            again = _request(document._replace(data=response.object), read, inputs)
            response = response._replace(repeated=_second_run(policies, again, world, response))
        yield response._replace(document=document)
    for payload in read.payloads:
        yield evaluate_payload(policies, payload, world._replace(arriving=None))


def _request(document: Document, read: ReadInputs, inputs: ApplyInputs) -> AdmissionRequest:
    """Return the request for an object: a CREATE, unless options or a review override it."""
    obj = document.data
    created = creation_of(obj, read.user, read.values)
    operation = inputs.what_if.operation
    old = read.old_objects.get(old_key(obj)) if read.old_objects else None
    if document.review is not None:
        review = document.review
        if operation is not None:
            supposed = {} if old is None else {"oldObject": old}
            review = {**review, "operation": operation.value, **supposed}
        return reviewed(created, review)
    if operation is None and old is None:
        return created
    return request_of(created, operation or Operation.UPDATE, old)


def world_of(read: ReadInputs, cluster: ClusterView | None = None) -> World:
    """Return the data that rules read besides the object: from `cluster`, or the given objects."""
    if cluster is None:
        given = objects_of((*read.resources, *read.targets, *read.shared_data))
        cluster = GivenObjects(given, read.definitions)
    world = given_world(cluster, read.values, read.context, objects_of(read.targets))
    return world._replace(reports_missing_input=True)


def _second_run(
    policies: PolicySet, request: AdmissionRequest, world: World, first: EngineResponse
) -> tuple[PolicyResponse, ...]:
    """Return the mutations and new errors of a second evaluation."""
    known = {
        (answer.policy.key, result.rule.name)
        for answer in first.responses
        for result in answer.results
        if result.status is RuleStatus.ERROR
    }
    changes: list[PolicyResponse] = []
    for answer in evaluate(policies, request, world, (Stage.MUTATE, Stage.CEL_MUTATE)).responses:
        kept = [result for result in answer.results if result.status is not RuleStatus.ERROR]
        errors = (result for result in answer.results if result.status is RuleStatus.ERROR)
        new = [result for result in errors if (answer.policy.key, result.rule.name) not in known]
        if answer.changed or new:
            changes.append(answer._replace(results=(*kept, *new)))
    return tuple(changes)


def failure_marker(
    inputs: ApplyInputs, read: ReadInputs, counts: ResultCounts
) -> FailureMarker | None:
    """Return the marker for known and new failures; None for a run without a baseline."""
    if not inputs.has_baseline:
        return None
    counts.matches = BaselineMatches()
    return FailureMarker(read.baseline, counts.matches, audit_warn=inputs.audit_warn)


def with_baseline(run: Run, inputs: ApplyInputs, read: ReadInputs) -> Run:
    """Return a run whose final checks also report stale baseline entries."""
    baseline = read.baseline
    if baseline is None:
        return run
    run = run._replace(baseline=baseline)
    earlier = run.final_checks

    def final_checks(matched: int) -> tuple[Diagnostic, ...]:
        rest = run.rest()
        if rest is None or inputs.records_failures:
            return earlier(matched)
        return (*earlier(matched), *stale_diagnostics(baseline, rest))

    return run._replace(final_checks=final_checks)


def known_by_now(run: Run) -> Mapping[KnownFailure, int]:
    """Return the known failures after a run, when all its responses have been read.

    With a baseline: its matched entries, and those for files that were not evaluated.
    """
    if run.result_counts.matches is None:
        return {}
    rest = run.rest()
    if rest is None:
        return run.result_counts.matches.failures
    numbers = dict(rest.matched)
    for failure, number in rest.not_evaluated.items():
        numbers[failure] = numbers.get(failure, 0) + number
    return numbers
