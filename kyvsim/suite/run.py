"""Evaluate policies on the resources of a test: all responses, by operation and resource.

upstream: cmd/cli/kubectl-kyverno/commands/test/test.go
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from posixpath import join, normpath
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kyvsim.engine.compile import PolicySet
from kyvsim.engine.evaluate import STAGES, evaluate, evaluate_payload
from kyvsim.engine.world import GivenObjects, World, creation_of
from kyvsim.kubernetes.objects import KubernetesObject, ObjectKey, object_key
from kyvsim.model.policy import Policy
from kyvsim.model.ports import ClusterView, ContextData
from kyvsim.model.request import AdmissionRequest, Operation, Payload, UserInfo
from kyvsim.model.result import EngineResponse, Phase, PolicyResponse, RuleResult, RuleStatus, Stage
from kyvsim.model.source import Document
from kyvsim.model.values import Values

_BY_DEFAULT = ""
"""The operation of rows without one."""

OnRun: TypeAlias = Callable[[ObjectKey, str], None]
"""Called before each run with the resource and the operation of rows."""


class SuiteInputs(NamedTuple):
    """The files of a manifest, read and compiled."""

    policies: PolicySet
    resources: tuple[Document, ...]
    targets: tuple[KubernetesObject, ...]
    others: tuple[KubernetesObject, ...]
    """Other objects in the cluster: parameters, cluster resources."""
    in_cluster: bool
    """Whether API calls and lookups use all objects."""
    clone_sources: Mapping[str, tuple[KubernetesObject, ...]]
    """Objects that generate rules can clone besides their trigger, by the policy's key."""
    values: Values | None
    user: UserInfo | None
    context: ContextData = ContextData()
    payloads: tuple[Payload, ...] = ()
    """Data that is not a Kubernetes object, evaluated separately."""


class _ExpectedAnswer(NamedTuple):
    policy: Policy
    stage: Stage
    variant: str | None
    """The variant of the policy with this answer; None for all its rules."""
    always: bool
    """Whether it exists without a result."""


class ResourceAnswers(NamedTuple):
    """The responses of policies to one resource."""

    request: AdmissionRequest
    world: World
    responses: Mapping[str, tuple[PolicyResponse, ...]]
    """By the policy's name, including those without results."""
    unchecked: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Errors of policies that have no result, by name."""
    mutations: tuple[PolicyResponse, ...] = ()
    """The responses that changed the resource, in the order of evaluation."""


class TargetAnswer(NamedTuple):
    """A target that a rule patched because of a trigger."""

    response: PolicyResponse
    result: RuleResult
    object: KubernetesObject


class Observed(NamedTuple):
    """All responses of the policies of a test."""

    triggers: Mapping[str, Mapping[ObjectKey, ResourceAnswers]]
    """By operation and resource."""
    targets: Mapping[ObjectKey, tuple[TargetAnswer, ...]]


def without_duplicates(
    resources: Iterable[Document],
) -> tuple[tuple[Document, ...], tuple[Document, ...]]:
    """Return the first resource of each group, kind, namespace and name, and the others."""
    first: dict[tuple[str, ...], Document] = {}
    others = []
    for document in resources:
        key = object_key(document.data)
        if first.setdefault((key.group, *key[1:]), document) is not document:
            others.append(document)
    return tuple(first.values()), tuple(others)


def missing_namespaces(inputs: SuiteInputs) -> tuple[Document, ...]:
    """Return the resources whose namespace is not known in the cluster of a test."""
    if not inputs.in_cluster:
        return ()
    known = {object_key(obj).name for obj in _objects(inputs) if _is_namespace(obj)}
    missing = []
    for document in inputs.resources:
        namespace = object_key(document.data).namespace
        has_labels = inputs.values and inputs.values.namespace_labels(namespace)
        if namespace and namespace not in known and not _is_namespace(document.data):
            missing += [] if has_labels else [document]
    return tuple(missing)


def object_keys(inputs: SuiteInputs) -> tuple[ObjectKey, ...]:
    """Return the keys that rows can name: of resources, and of other targets."""
    keys = [object_key(document.data) for document in inputs.resources]
    keys += map(_payload_key, inputs.payloads)
    return tuple(dict.fromkeys((*keys, *map(object_key, inputs.targets))))


def _is_namespace(obj: KubernetesObject) -> bool:
    return object_key(obj).kind == "Namespace"


def _objects(inputs: SuiteInputs) -> tuple[KubernetesObject, ...]:
    return (*(document.data for document in inputs.resources), *inputs.targets, *inputs.others)


def observe(inputs: SuiteInputs, operations: Iterable[str], begin: OnRun | None = None) -> Observed:
    """Return the responses to each resource, by default and for each operation."""
    runs = tuple(dict.fromkeys((_BY_DEFAULT, *sorted(set(operations)))))
    cluster = GivenObjects(_objects(inputs))
    expected_answers = tuple(_expected_answers(inputs.policies))
    # Deletions are evaluated on a schedule, without an operation.
    admitting = tuple(each for each in expected_answers if each.stage.phase is not Phase.DELETE)
    context = GivenObjects(inputs.context.resources) if inputs.context.resources else None
    about = World(
        cluster,
        targets=inputs.targets,
        context=context,
        images=inputs.context.images,
        reports_missing_input=True,
    )
    triggers: dict[str, dict[ObjectKey, ResourceAnswers]] = {operation: {} for operation in runs}
    responses: list[EngineResponse] = []
    for document in inputs.resources:
        obj = document.data
        sources = _sources_of(obj, inputs.clone_sources)
        for operation in runs:
            values = inputs.values
            if operation != _BY_DEFAULT:
                values = values or Values()
                overrides = {**values.overrides, "request.operation": operation}
                values = values._replace(overrides=overrides)
            world = about._replace(
                values=values, answers_calls=inputs.in_cluster, sources=sources, arriving=obj
            )
            request = creation_of(obj, inputs.user, None if inputs.in_cluster else values)
            if begin:
                begin(object_key(obj), operation)
            response = evaluate(inputs.policies, request, world)
            responses.append(response)
            evaluated = expected_answers if operation == _BY_DEFAULT else admitting
            every = response.responses  # the property computes it each time
            by_policy = _by_policy(every, evaluated)
            mutations = tuple(one for one in every if one.changed and one.phase is Phase.MUTATE)
            answers = ResourceAnswers(request, world, by_policy, _unchecked(every), mutations)
            triggers[operation][object_key(obj)] = answers
    for payload in inputs.payloads:
        if begin:
            begin(_payload_key(payload), _BY_DEFAULT)
        triggers[_BY_DEFAULT][_payload_key(payload)] = _payload_answers(payload, inputs, about)
    return Observed(triggers, _patched(inputs.targets, responses))


def _sources_of(
    obj: KubernetesObject, clone_sources: Mapping[str, tuple[KubernetesObject, ...]]
) -> Callable[[str], ClusterView]:
    return lambda key: GivenObjects((obj, *clone_sources.get(key, ())))


def _payload_key(payload: Payload) -> ObjectKey:
    return ObjectKey("", "", payload.folder, payload.name)


def leads_to_payload(path: str, key: ObjectKey) -> bool:
    """Return whether a path in a row is that of the payload with this key."""
    if key.kind:  # an object; checked first, since this runs for each name of each row
        return False
    return normpath(path) in {normpath(key.name), join(key.namespace, key.name)}


def _payload_answers(payload: Payload, inputs: SuiteInputs, world: World) -> ResourceAnswers:
    response = evaluate_payload(inputs.policies, payload, world)
    responses: dict[str, tuple[PolicyResponse, ...]] = {}
    for answer in response.responses:
        responses[answer.policy.name] = (*responses.get(answer.policy.name, ()), answer)
    request = AdmissionRequest(Operation.CREATE, {"kind": "Payload"}, is_payload=True)
    return ResourceAnswers(request, world, responses)


def _expected_answers(policies: PolicySet) -> Iterator[_ExpectedAnswer]:
    """Yield the expected answers of policies to a request, in order."""
    for stage, compiled in product(STAGES, policies.policies):
        rules = [rule for rule in compiled.written if rule.stage is stage]
        if any(rule.stands_alone for rule in rules):
            for rule in rules:
                variant = rule.rule.variant
                yield _ExpectedAnswer(compiled.policy, stage, variant, rule.answers_always)
        elif rules:
            always = any(rule.answers_always for rule in rules)
            yield _ExpectedAnswer(compiled.policy, stage, None, always)


def _by_policy(
    responses: Iterable[PolicyResponse], expected_answers: tuple[_ExpectedAnswer, ...]
) -> dict[str, tuple[PolicyResponse, ...]]:
    by_policy_and_phase = {(response.policy, response.phase): response for response in responses}
    by_name: dict[str, tuple[PolicyResponse, ...]] = {}
    left = None
    for expected in expected_answers:
        answer = by_policy_and_phase.get((expected.policy, expected.stage.phase))
        if expected.stage is Stage.CEL_MUTATE and answer is not None and answer.changed:
            left = answer.object
    for expected in expected_answers:
        phase = expected.stage.phase
        answer = by_policy_and_phase.get((expected.policy, phase))
        if answer is None:
            answer = PolicyResponse(expected.policy, phase, None, ())
        if expected.variant is not None:
            variant = expected.variant
            results = tuple(entry for entry in answer.results if entry.rule.variant == variant)
            silent = tuple(entry for entry in answer.silent if entry.rule.variant == variant)
            answer = answer._replace(results=results, silent=silent)
        if expected.stage is Stage.CEL_MUTATE and left is not None:
            answer = answer._replace(object=left)
        if expected.always or answer.results:
            name = expected.policy.name
            by_name[name] = (*by_name.get(name, ()), answer)
    return by_name


def _unchecked(responses: Iterable[PolicyResponse]) -> dict[str, tuple[str, ...]]:
    texts_by_name: dict[str, tuple[str, ...]] = {}
    for response in responses:
        texts = [text for result in response.silent for text in result.unchecked]
        if texts:
            name = response.policy.name
            texts_by_name[name] = (*texts_by_name.get(name, ()), *texts)
    return texts_by_name


def _patched(
    targets: Iterable[KubernetesObject], responses: Iterable[EngineResponse]
) -> dict[ObjectKey, tuple[TargetAnswer, ...]]:
    """Return, for each given target, one answer of each response that patched it."""
    keys = tuple(map(object_key, targets))
    answers: dict[ObjectKey, list[TargetAnswer]] = {}
    for answer in responses if keys else ():
        left = {
            object_key(patched.object): patched.object
            for response in answer.responses
            if not response.policy.facts.has_rules
            for result in response.results
            for patched in result.targets
        }
        for response in answer.responses:
            first: dict[ObjectKey, TargetAnswer] = {}
            for result in response.results:
                for obj in (patched.object for patched in result.targets):
                    target = TargetAnswer(response, result, obj)
                    if not response.policy.facts.has_rules:
                        # A MutatingPolicy is evaluated on each object separately: an error or
                        # exception for the trigger does not affect the others.
                        passed = result._replace(status=RuleStatus.PASS, message="success")
                        target = TargetAnswer(response, passed, left[object_key(obj)])
                    first.setdefault(object_key(obj), target)
            for key, target in first.items():
                answers.setdefault(key, []).append(target)
    answers_of_targets: dict[ObjectKey, tuple[TargetAnswer, ...]] = {}
    for key in keys:
        if key in answers:
            answers_of_targets[key] = (*answers_of_targets.get(key, ()), *answers[key])
    return answers_of_targets
