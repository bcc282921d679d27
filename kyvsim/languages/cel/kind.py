"""The properties of a kind of policy in CEL, and the values for its expressions."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from kyvsim.engine.compile.compiled import CompiledBody, CompileOptions, Evaluation, Outcome
from kyvsim.engine.compile.tracing import APPLIED, Ends
from kyvsim.engine.context.cel_access import (
    constants,
    global_access,
    http_access,
    image_access,
    live_access,
    registry_access,
    resource_access,
)
from kyvsim.kubernetes.discovery import NO_KINDS, KindTable, plural, split_api_version
from kyvsim.kubernetes.objects import Json, KubernetesObject, Path, object_key, text_field
from kyvsim.languages.cel_expressions import CompiledExpression, Compiler, variables_on
from kyvsim.languages.cel_request import review_request
from kyvsim.model.explanation import Step, StepKind, Value
from kyvsim.model.policy import Policy
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import RuleStatus, Stage
from kyvsim.model.tracing import TraceContext, traced
from kyvsim.policy.cel_autogen import PolicyVariant, pod_templates
from kyvsim.policy.cel_policy import CelPolicyNode


class PolicyPart(NamedTuple):
    """A policy as written, or one of its variants, to be compiled."""

    policy: Policy
    spec: CelPolicyNode
    compiler: Compiler
    options: CompileOptions

    @property
    def mode(self) -> str:
        """The evaluation mode of the policy: its `evaluation.mode`."""
        return self.spec.evaluation.mode


NoEffect: TypeAlias = tuple[Path, str]
"""The path of a part without effect in the policy's document, and the reason."""


class CelKind(NamedTuple):
    """One kind, and its namespaced twin `Namespaced…`."""

    name: str
    stage: Stage
    compile: Callable[[PolicyPart], CompiledBody]
    variants: Callable[[CelPolicyNode], Iterable[PolicyVariant]] = lambda _: ()
    """The variants of a specification for Pod controllers."""
    ends: Callable[[CelPolicyNode], Ends] = lambda _: APPLIED
    """Returns the possible outcomes of a policy, for coverage."""
    names_rules: bool = True
    """Whether results name the policy as their rule, too; if not, their rule has no name."""
    without_constraints: bool = False
    """Whether a policy without `matchConstraints` matches everything; if not, it does nothing."""
    fault: str = "failed to evaluate policy"
    """The message if something that decides whether to evaluate the policy cannot be evaluated."""
    forgives_faults: bool = False
    """Whether conditions that cannot be evaluated do not hold under `failurePolicy: Ignore`."""
    weighs_exceptions: bool = False
    """Whether the body evaluates exceptions; if not, a full exception replaces its result."""
    judges_json: Callable[[str], bool] = lambda _mode: False
    """Whether a policy of a mode evaluates JSON payloads."""
    json_objects: bool = False
    """Whether a policy of mode JSON also evaluates every object, like a payload."""
    tells_faults: bool = False
    """Whether a compile error is also an error result for each object."""
    later: bool = False
    """Whether it acts after the request's object is in the cluster."""
    any_operation: bool = False
    """Whether `operations` of resource rules are ignored."""
    match_fault: str = "failed to execute matching: "
    """The start of the message if the constraints cannot be read."""
    match_rule: str = ""
    """The rule name of such results."""
    answers_always: Callable[[CelPolicyNode], bool] = lambda _: False
    """Whether `test` has an empty response for a specification that does nothing."""
    no_effect: Callable[[CelPolicyNode], Iterable[NoEffect]] = lambda _: ()
    """The parts of a specification that Kyverno accepts but that have no effect."""
    on_templates: Callable[[CompiledBody, TraceContext], CompiledBody] | None = None
    """Returns the body for custom workloads; None for kinds without variants for them."""
    unmatched: str = ""
    """The failure message for objects that the policy does not match; "" for no result."""

    def unevaluated(self, cause: object) -> Outcome:
        """Return the result if it cannot be determined whether to evaluate the policy."""
        name = "" if self.names_rules else "evaluation"
        return Outcome(RuleStatus.ERROR, f"{self.fault}: {cause}", rule_name=name)


# The values of one request for a policy's expressions.
#
# Only values that expressions read are computed, and constant ones once for each policy.
#
# Source of the rules: upstream pkg/cel/policies/vpol/compiler/eval.go, and cmd/cli/kubectl-
# kyverno/processor for requests without a cluster: at CREATE the old object is an empty map, at
# DELETE the object is.

_Source: TypeAlias = Callable[[Evaluation], Any]


class RequestValues:
    """The values of a policy's variables for each request."""

    def __init__(self, part: PolicyPart, variables: Mapping[str, CompiledExpression]) -> None:
        """Store the policy, whose expressions are all compiled before the first request."""
        namespace, kinds = part.policy.namespace, part.options.kinds
        system = part.options.system
        self._compiler = part.compiler
        self._variables = variables
        self._sources: Mapping[str, _Source] = {
            **_SOURCES,
            "request": lambda evaluation: (
                None if evaluation.request.is_payload else request_value(evaluation.request, kinds)
            ),
            "resource": lambda evaluation: _resources(evaluation, namespace),
            "http": lambda evaluation: http_access(
                evaluation.scope.external, namespace, system.release
            ),
            "globalContext": lambda evaluation: global_access(
                evaluation.scope.external, system, evaluation.scope.hints, namespace
            ),
        }
        self._plan: tuple[list[object], list[tuple[int, _Source]], dict[str, int]] | None = None

    def of(self, evaluation: Evaluation, **own: Any) -> list[object]:
        """Return the values for a request in the order of the environment.

        `own` has the values specific to the policy's kind; variables that are not read are None.
        """
        base, sources, places = self._plan or self._planned()
        values = base.copy()
        for place, source in sources:
            values[place] = source(evaluation)
        for name, value in own.items():
            values[places[name]] = value
        if "variables" in places:
            values[places["variables"]] = variables_on(self._variables, values)
        return values

    def place(self, name: str) -> int:
        """Return the index of a variable's value."""
        return (self._plan or self._planned())[2][name]

    def _planned(self) -> tuple[list[object], list[tuple[int, _Source]], dict[str, int]]:
        """Return constant values, the functions that compute the others, and their indexes."""
        reads, env = self._compiler.reads, self._compiler.env
        fixed = constants()
        names = [name for name, _ in env.variables]
        sources = [
            (place, self._sources[name])
            for place, name in enumerate(names)
            if name in reads and name in self._sources
        ]
        places = {name: place for place, name in enumerate(names)}
        self._plan = [fixed.get(name) for name in names], sources, places
        return self._plan


def _resources(evaluation: Evaluation, policy_namespace: str) -> Any:
    external = evaluation.scope.external
    if external.account is not None:
        return live_access(
            external.cluster, external.account, policy_namespace, evaluation.scope.hints
        )
    clusters = (
        (external.cluster,) if external.context is None else (external.context, external.cluster)
    )
    return resource_access(clusters, policy_namespace, evaluation.scope.hints)


def namespace_object(evaluation: Evaluation, name: str) -> Json:
    """Return a Namespace with the data that are known."""
    external = evaluation.scope.external
    given = external.namespaces.get(name)
    if given is None and external.answers_calls:
        given = external.cluster.get("v1", "Namespace", "", name)
    return None if given is None else {"spec": {}, "status": {}, **given}


def _object(evaluation: Evaluation) -> KubernetesObject | None:
    if evaluation.request.operation is Operation.DELETE and not evaluation.request.is_extracted:
        return {}
    return evaluation.object


def _old_object(evaluation: Evaluation) -> Json:
    request = evaluation.request
    if request.is_payload:
        return None
    if request.is_extracted:
        return request.old_object
    old = request.old_object
    if request.operation is Operation.UPDATE and old is None:
        old = request.object
    return {} if old is None else old


def _namespace_object(evaluation: Evaluation) -> Json:
    namespace = object_key(evaluation.request.subject).namespace
    if not namespace or evaluation.request.is_payload:
        return None
    return namespace_object(evaluation, namespace)


_SOURCES: Mapping[str, _Source] = {
    "object": _object,
    "oldObject": _old_object,
    "namespaceObject": _namespace_object,
    "exceptions": lambda evaluation: {
        "allowedImages": [image for one in evaluation.exceptions for image in one.images],
        "allowedValues": [value for one in evaluation.exceptions for value in one.values],
    },
    "image": lambda evaluation: (
        image_access(evaluation.scope.external.images, evaluation.scope.hints)
        if evaluation.scope.external.account is None
        else registry_access()
    ),
}


# Custom workloads: a policy about Pods is evaluated on each Pod template in the object.
#
# Source of the rules: upstream pkg/cel/autogen/extract, pkg/cel/policies/vpol/engine/engine.go,
# pkg/cel/policies/ivpol/engine/engine.go.


def evaluated_on_templates(body: CompiledBody, trace: TraceContext, *, fault: str) -> CompiledBody:
    """Return a body for custom workloads: the first failure or error of a template ends it.

    An exception skips its template only. `fault` is how messages about conditions begin.
    """
    judge = _on_template(body, trace)

    def run(evaluation: Evaluation) -> Outcome | None:
        new, old = _object(evaluation), _old_object(evaluation)
        source, other = (new, old) if new else (old, new)
        templates, paired = pod_templates(source), pod_templates(other)
        if not templates:
            key = object_key(source)
            text = f"extraction mode: no pod template found in {key.api_version}/{key.kind}"
            return Outcome(RuleStatus.ERROR, f"error: {text}")
        unmatched, last = None, None
        exempted: list[Outcome] = []
        for path, template in templates.items():
            pod, twin = _pod_of(template, source), None
            if path in paired:
                twin = _pod_of(paired[path], source)
            pods = (pod, twin) if new else (twin, pod)
            outcome = judge(path, template, _of_pod(evaluation, *pods))
            if outcome is None or (outcome.status is RuleStatus.SKIP and not outcome.exceptions):
                unmatched = outcome
            elif outcome.exceptions:
                exempted.append(outcome)
            elif outcome.status in {RuleStatus.FAIL, RuleStatus.ERROR}:
                return outcome._replace(message=_located(outcome, path, fault))
            else:
                last = outcome
        if last is None and exempted:
            keys = tuple(key for one in exempted for key in one.exceptions)
            start = exempted[0].message.partition(": ")[0]
            return exempted[0]._replace(exceptions=keys, message=f"{start}: {', '.join(keys)}")
        return last or unmatched

    return run


def _on_template(
    body: CompiledBody, trace: TraceContext
) -> Callable[[str, KubernetesObject, Evaluation], Outcome | None]:
    """Return a body that also takes a template and its path, which are shown as a step."""

    def complete(
        step: Step, found: Outcome | None, path: str, template: KubernetesObject, _: Evaluation
    ) -> Step:
        answer = found.status if found else None
        return step._replace(name=path, found=Value(template), answer=answer)

    return traced(
        trace, lambda _path, _template, given: body(given), Step(StepKind.TEMPLATE), complete
    )


def _pod_of(template: KubernetesObject, parent: KubernetesObject) -> KubernetesObject:
    own, key = template.get("metadata") or {}, object_key(parent)
    named = {
        field: text_field(own, field) or usual
        for field, usual in (("name", key.name), ("namespace", key.namespace))
    }
    metadata = {**own, **named}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def _of_pod(
    evaluation: Evaluation, pod: KubernetesObject | None, old: KubernetesObject | None
) -> Evaluation:
    request, key = evaluation.request, object_key(pod or old)
    details = request.details
    if details is not None:
        kind = {"group": "", "version": "v1", "kind": "Pod"}
        resource = {"group": "", "version": "v1", "resource": "pods"}
        details = {
            **details,
            "kind": kind,
            "requestKind": kind,
            "name": key.name,
            "namespace": key.namespace,
            "resource": resource,
            "requestResource": resource,
        }
    request = request._replace(
        object=pod, old_object=old, namespace=key.namespace, details=details, is_extracted=True
    )
    return evaluation._replace(request=request, object=pod)


def _located(outcome: Outcome, path: str, fault: str) -> str:
    start, message = f"{fault}: ", outcome.message
    if outcome.rule_name and message.startswith(start):
        return f"{start}pod template at {path}: {message.removeprefix(start)}"
    return f"{message} (pod template at {path})" if message else ""


def without_mutation(name: str, reason: str) -> CompiledBody:
    """Return the body of a mutation for custom workloads: a skipped rule with a reason."""
    outcome = Outcome(RuleStatus.SKIP, reason, rule_name=name)
    return lambda _: outcome


def request_value(request: AdmissionRequest, kinds: KindTable = NO_KINDS) -> dict[str, Json]:
    """Return the value of `request`, with the fields that an API server sets."""
    key = object_key(request.subject)
    group, version = split_api_version(key.api_version)
    resource = {"group": group, "version": version, "resource": plural(group, key.kind, kinds)}
    deletes = request.operation is Operation.DELETE
    # The request for a Namespace has its name as namespace, unlike the object.
    namespace = key.namespace if request.details is None else request.namespace
    return {
        **review_request(request, resource, namespace),
        "object": None if deletes else request.object,
        "oldObject": request.old_object,
        **(request.details or {}),
    }
