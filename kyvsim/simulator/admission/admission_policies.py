"""Kubernetes' own admission policies, which the API server evaluates before webhooks."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from kyvsim.engine.match import match_facts
from kyvsim.engine.world import World
from kyvsim.kubernetes.discovery import KindTable, is_builtin, served_versions, split_api_version
from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.labels import SelectorError, compile_selector
from kyvsim.kubernetes.objects import (
    KubernetesObject,
    ObjectKey,
    Path,
    labels,
    metadata,
    object_key,
    path_text,
    text_field,
)
from kyvsim.languages.cel_expressions import (
    CompiledExpression,
    Compiler,
    EvaluationError,
    ExpressionProblem,
    NativeScope,
    NativeValidation,
    all_hold,
    for_conditions,
    native_values,
)
from kyvsim.languages.cel_request import authorizer_of, namespace_object, request_value
from kyvsim.languages.constraints import compile_constraints, selector_problems
from kyvsim.languages.mutations import Mutation, MutationError, compile_mutation, with_whole_results
from kyvsim.model.ports import ExternalData
from kyvsim.model.request import AdmissionRequest
from kyvsim.model.simulation import FailureCause, Unevaluated
from kyvsim.policy.cel_policy import (
    CelPolicyNode,
    MatchConstraints,
    ParamKind,
    ParamRef,
    read_binding,
    read_cel_policy,
)
from kyvsim.schema.kinds import native_schemas
from kyvsim.schema.merge_types import type_finder
from kyvsim.simulator.admission.classic import RequestNote
from kyvsim.simulator.admission.review import admission_request
from kyvsim.simulator.api_server import (
    ApiError,
    ApiRequest,
    ObjectStore,
    Review,
    WebhookResponse,
    errors,
)
from kyvsim.simulator.api_server.request import ALLOWED, written
from kyvsim.simulator.api_server.server import ADMIN
from kyvsim.simulator.api_server.validation import schema_findings

# Which admission policies evaluate a request: through which bindings, with which parameters.
#
# A policy applies through its bindings, if its own constraints and those of a binding match.
# Source of the rules: k8s.io/apiserver pkg/admission/plugin/policy (generic/policy_dispatcher.go,
# matching/matching.go).

API_VERSION = "admissionregistration.k8s.io/v1"
POLICIES = ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy")


class PolicyRequest(NamedTuple):
    """The request and lookups that admission policies evaluate."""

    request: AdmissionRequest
    external: ExternalData
    store: ObjectStore


class PolicyInvocation(NamedTuple):
    """A policy that evaluates a request with one binding and parameter, or why it cannot."""

    name: str
    policy: CelPolicyNode
    binding_name: str = ""
    actions: tuple[str, ...] = ()
    """The `validationActions` of the binding."""
    params: KubernetesObject | None = None
    fault: str = ""

    @property
    def fails_closed(self) -> bool:
        """Whether an error denies the request."""
        return not self.policy.ignores_failures

    @property
    def place(self) -> tuple[str, str, str, str]:
        """Names of policy, binding and parameter, which identify it for reinvocation."""
        param = object_key(self.params) if self.params else ObjectKey("", "", "", "")
        return self.name, self.binding_name, param.namespace, param.name

    @property
    def named(self) -> str:
        """Its name in messages of denials."""
        if not self.binding_name:
            return f"'{self.name}'"
        return f"'{self.name}' with binding '{self.binding_name}'"


class ParameterError(Exception):
    """Parameters that cannot be found."""


def invocations(kind: str, policy_request: PolicyRequest) -> Iterator[PolicyInvocation]:
    """Yield the policies of a kind that evaluate a request, ordered by policy and binding name."""
    store = policy_request.store
    bindings = [
        (object_key(one).name, read_binding(one["spec"]))
        for one in store.list(API_VERSION, f"{kind}Binding", "")
    ]
    for stored in store.list(API_VERSION, kind, ""):
        name, policy = object_key(stored).name, read_cel_policy(stored["spec"])
        bound = [one for one in bindings if one[1].policy_name == name]
        constraints = policy.match_constraints
        if not bound or not matches_request(constraints, policy_request, everything=False):
            continue
        unknown = unknown_kind(policy.param_kind, store)
        if unknown:
            yield PolicyInvocation(name, policy, fault=f"failed to configure policy: {unknown}")
            continue
        for binding_name, binding in bound:
            if not matches_request(binding.match_resources, policy_request, everything=True):
                continue
            found = PolicyInvocation(name, policy, binding_name, binding.validation_actions)
            try:
                params = parameters_of(policy.param_kind, binding.param_ref, policy_request)
            except ParameterError as error:
                yield found._replace(fault=f"failed to configure binding: {error}")
                continue
            for one in params:
                yield found._replace(params=one)


def parameters_of(
    kind: ParamKind | None, reference: ParamRef | None, policy_request: PolicyRequest
) -> Sequence[KubernetesObject | None]:
    """Return the parameters to evaluate a policy with, one by one; raises ParameterError."""
    if kind is None or reference is None:
        return [None]
    store = policy_request.store
    what = kind.api_version, kind.kind
    namespace = reference.namespace
    if not store.is_namespaced(*what):
        if namespace:
            text = "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
            raise ParameterError(text)
    elif not (namespace := namespace or policy_request.request.namespace):
        text = "cannot use namespaced paramRef in policy binding that matches"
        raise ParameterError(f"{text} cluster-scoped resources")
    if reference.name:
        chosen = store.get(*what, namespace, reference.name)
        found = [] if chosen is None else [chosen]
    else:
        try:
            fits = compile_selector(reference.selector or {})
        except SelectorError as error:
            raise ParameterError(str(error)) from None
        found = [one for one in store.list(*what, namespace) if fits(labels(one))]
    if not found and reference.parameter_not_found_action == "Deny":
        text = "no params found for policy binding with `Deny` parameterNotFoundAction"
        raise ParameterError(text)
    return found


def unknown_kind(kind: ParamKind | None, store: ObjectStore) -> str:
    """Return that the kind of the parameters is not served, "" if it is."""
    if kind is None:
        return ""
    group = split_api_version(kind.api_version)[0]
    if is_builtin(group, kind.kind) or (group, kind.kind) in store.defined:
        return ""
    named = f"{kind.api_version}, Kind={kind.kind}"
    return f"failed to find resource referenced by paramKind: '{named}'"


def matches_request(
    node: MatchConstraints | None, policy_request: PolicyRequest, *, everything: bool
) -> bool:
    """Return whether constraints match a request, for `Equivalent` in any served version."""
    request, store = policy_request.request, policy_request.store
    of_namespace = policy_request.external.labels_of(request.namespace)
    facts = match_facts(request, request.subject, of_namespace)
    constraints = compile_constraints(node, "", store.defined, everything=everything)
    if facts is None or constraints.fault:
        return False
    versions: Iterable[str] = ()
    if node is None or node.match_policy != "Exact":
        versions = served_versions(facts.group, facts.kind, store.defined)
    seen = (facts, *(facts._replace(version=one) for one in versions if one != facts.version))
    return any(constraints.matches(one) for one in seen)


def _values(
    invocation: PolicyInvocation,
    policy_request: PolicyRequest,
    obj: KubernetesObject | None,
    variables: Mapping[str, CompiledExpression],
) -> list[Any]:
    """Return the variables for expressions, with `object` replaced."""
    request, external = policy_request.request, policy_request.external
    return native_values(
        obj,
        request.old_object,
        namespace_object(request, external),
        {**request_value(request), **(request.details or {})},
        variables,
        *([invocation.params] if invocation.policy.param_kind else []),
        *authorizer_of(request, external),
    )


# ValidatingAdmissionPolicy: its decisions on a request.
# Source of the rules: k8s.io/apiserver pkg/admission/plugin/policy/validating (validator.go,
# dispatcher.go).

INVALID = "Invalid"


class ValidationDenial(NamedTuple):
    """Why a policy denies a request."""

    message: str
    reason: str = INVALID
    always: bool = False
    """Whether it denies the request independently of the binding's actions."""
    is_fault: bool = False
    """Whether the policy could not be evaluated."""
    ignored: bool = False
    """Whether the failure policy ignores it."""


def decisions(
    invocation: PolicyInvocation, policy_request: PolicyRequest
) -> tuple[ValidationDenial, ...] | None:
    """Return why a policy denies a request, in the order of its validations.

    None if its match conditions are not met: it makes no decision then.
    """
    closed, spec = invocation.fails_closed, invocation.policy
    failed = ValidationDenial(invocation.fault, is_fault=True, ignored=not closed)
    if invocation.fault:
        return (failed._replace(always=True),)
    policy, annotations, _ = _compiled_validations(spec)
    values = _values(invocation, policy_request, policy_request.request.object, policy.variables)
    try:
        if not all_hold(policy.conditions, for_conditions(values)):
            return None
    except EvaluationError as error:
        return (failed._replace(message=str(error)),)
    found = []
    pairs = zip(spec.validations, policy.validations, strict=True)
    for index, (node, validation) in enumerate(pairs):
        try:
            if validation.test.value(values) is not True:
                message = validation.denial(index, values)
                found.append(ValidationDenial(message, node.reason or INVALID))
        except EvaluationError as error:
            found.append(failed._replace(message=str(error)))
    for one in annotations.values() if closed else ():
        try:
            one.value(values)
        except EvaluationError as error:
            found.append(ValidationDenial(str(error), always=True, is_fault=True))
    return tuple(found)


def _compiled_validations(
    spec: CelPolicyNode,
) -> tuple[NativeValidation, Mapping[str, CompiledExpression], Sequence[ExpressionProblem]]:
    """Return a compiled policy, its audit annotations, and the errors of its expressions."""
    compiler = Compiler(NativeScope(params=spec.param_kind is not None))
    variables = compiler.variables(spec.variables)
    conditions = compiler.conditions(spec.match_conditions)
    validations = compiler.validations(spec.validations)
    annotations = compiler.annotations(spec.audit_annotations)
    return NativeValidation(variables, conditions, validations), annotations, compiler.problems


# MutatingAdmissionPolicy: the mutated object.
#
# Merged objects have the types of their kind, as an API server knows them.
# Source of the rules: k8s.io/apiserver pkg/admission/plugin/policy/mutating (dispatcher.go,
# patch).


class PolicyEvaluationError(Exception):
    """A policy that cannot be evaluated; the text is the API server's."""


class _NativePolicy(NamedTuple):
    variables: Mapping[str, CompiledExpression]
    conditions: tuple[CompiledExpression, ...]
    mutations: tuple[Mutation, ...]
    problems: tuple[ExpressionProblem, ...]


def mutated(
    invocation: PolicyInvocation, policy_request: PolicyRequest, obj: KubernetesObject
) -> KubernetesObject | None:
    """Return the object that a policy mutated, None if its conditions are not met.

    Raises PolicyEvaluationError.
    """
    if invocation.fault:
        raise PolicyEvaluationError(invocation.fault)
    policy = _compiled(invocation.policy, policy_request.store.defined)
    try:
        values = _values(invocation, policy_request, obj, policy.variables)
        if not all_hold(policy.conditions, for_conditions(values)):
            return None
        for mutation in policy.mutations:
            values = _values(invocation, policy_request, obj, policy.variables)
            obj = mutation(values, obj, [])
    except (EvaluationError, MutationError) as error:
        raise PolicyEvaluationError(str(error)) from None
    return obj


def _compiled(spec: CelPolicyNode, kinds: KindTable) -> _NativePolicy:
    compiler = Compiler(NativeScope(params=spec.param_kind is not None, mutates=True))
    variables = compiler.variables(spec.variables)
    conditions = compiler.conditions(spec.match_conditions)
    find_type = type_finder(kinds)
    found = (compile_mutation(compiler, node, find_type) for node in spec.mutations)
    mutations = tuple(with_whole_results(one) for one in found if one is not None)
    return _NativePolicy(variables, conditions, mutations, tuple(compiler.problems))


# Admission in the API server: its own policies, before any webhook is called.
# Source of the rules: k8s.io/apiserver pkg/admission/plugin/policy.

_VALIDATING, _MUTATING = POLICIES
_GROUP = split_api_version(API_VERSION)[0]
_OWN = frozenset((*POLICIES, *(f"{kind}Binding" for kind in POLICIES)))
_CODES = MappingProxyType({"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413})


class AdmissionPolicies:
    """Evaluates the stored admission policies, as the API server does."""

    def __init__(self, store: ObjectStore, note: Callable[[ApiRequest, RequestNote], None]) -> None:
        """Pass the results of the policies for a request to `note`."""
        self._store = store
        self._note = note
        # Any account will do: it shows that there is an API server to query.
        self._outside = World(store, account=ADMIN).external

    def mutate(self, review: Review) -> WebhookResponse:
        """Return the mutated object, or the denial if a policy cannot be evaluated."""
        if not self._is_concerned(review, _MUTATING) or review.object is None:
            return ALLOWED
        return self._mutated(review, None)

    def _mutated(
        self, review: Review, again: frozenset[tuple[str, str, str, str]] | None
    ) -> WebhookResponse:
        """Return the result of the policies; for reinvocation only of those in `again`."""
        policy_request = self._policy_request(review)
        obj, refused = review.object or {}, ""
        wanting = set()
        for one in invocations(_MUTATING, policy_request):
            if again is not None and one.place not in again:
                continue
            try:
                seen = policy_request._replace(request=policy_request.request._replace(object=obj))
                after = mutated(one, seen, obj)
                self._note(review.request, _counted(skipped=after is None))
            except PolicyEvaluationError as failure:
                self._note_error(review, one, str(failure))
                if one.fails_closed and not refused:
                    refused = f"policy {one.named} denied request: {failure}"
                    self._note(review.request, RequestNote(denied_by=(one.name,)))
                continue
            if after is not None:
                obj = after
                # It is called again after others have changed the object.
                if one.policy.reinvocation_policy == "IfNeeded":
                    wanting.add(one.place)
        if refused:
            return WebhookResponse(denied=ApiError(403, INVALID, refused, why=FailureCause.DENIED))
        changed = obj if obj is not review.object else None
        if again is not None or not wanting:
            return WebhookResponse(changed)
        return WebhookResponse(changed, again=partial(self._mutated, again=frozenset(wanting)))

    def validate(self, review: Review) -> WebhookResponse:
        """Return whether the policies admit a request, and their warnings."""
        if not self._is_concerned(review, _VALIDATING):
            return ALLOWED
        policy_request = self._policy_request(review)
        denied: list[tuple[PolicyInvocation, ValidationDenial]] = []
        warnings: list[str] = []
        for one in invocations(_VALIDATING, policy_request):
            found = decisions(one, policy_request)
            self._note(review.request, _counted(skipped=found is None))
            for decision in found or ():
                if decision.is_fault:
                    self._note_error(review, one, decision.message)
                if decision.ignored:
                    continue
                if decision.always or "Deny" in one.actions:
                    denied.append((one, decision))
                elif not decision.is_fault:
                    self._note(review.request, RequestNote(failed=(one.name,)))
                if "Warn" in one.actions and not decision.always:
                    warnings.append(
                        f"Validation failed for {_VALIDATING} {one.named}: {decision.message}"
                    )
        if not denied:
            return WebhookResponse(warnings=tuple(warnings))
        self._note(review.request, RequestNote(denied_by=tuple(one.name for one, _ in denied)))
        policy, decision = denied[0]
        meta = metadata(review.object or review.old or {})
        name = text_field(meta, "name") or text_field(meta, "generateName")
        key = review.request.key._replace(name=review.request.key.name or name)
        why = f"{_VALIDATING} {policy.named} denied request: {decision.message}"
        refused = errors.forbidden(key, self._store.defined, why)._replace(
            code=_CODES.get(decision.reason, 422),
            reason=decision.reason,
            causes=({"message": why},),
            why=FailureCause.DENIED,
        )
        return WebhookResponse(warnings=tuple(warnings), denied=refused)

    def _note_error(self, review: Review, one: PolicyInvocation, why: str) -> None:
        self._note(review.request, RequestNote(unevaluated=(Unevaluated(one.name, why),)))

    def _is_concerned(self, review: Review, kind: str) -> bool:
        key = review.request.key
        own = key.group == _GROUP and key.kind in _OWN
        return not own and bool(self._store.list(API_VERSION, kind, ""))

    def _policy_request(self, review: Review) -> PolicyRequest:
        return PolicyRequest(admission_request(review, self._store), self._outside, self._store)


def _counted(*, skipped: bool) -> RequestNote:
    return RequestNote(results=int(not skipped), skipped=int(skipped))


def changing_policies(review: Review, store: ObjectStore) -> frozenset[str]:
    """Return the names of the policies that would change the object of a request now."""
    if not store.list(API_VERSION, _MUTATING, "") or review.object is None:
        return frozenset()
    policy_request = PolicyRequest(
        admission_request(review, store), World(store, account=ADMIN).external, store
    )
    found = set()
    for one in invocations(_MUTATING, policy_request):
        with contextlib.suppress(PolicyEvaluationError):
            after = mutated(one, policy_request, review.object)
            if after is not None and after != review.object:
                found.add(one.name)
    return frozenset(found)


def refuse_uncompiled(review: Review, store: ObjectStore) -> ApiError | None:
    """Return why a policy or binding cannot be stored, or None."""
    obj = written(review)
    if obj is None or split_api_version(review.request.key.api_version)[0] != _GROUP:
        return None
    key = object_key(obj)
    schema = native_schemas().get(f"{key.api_version}/{key.kind}")
    unfitting = schema_findings(obj, schema) if schema else []
    if unfitting:
        return errors.invalid(key, *unfitting)
    spec = obj["spec"]
    problems: list[str] = []
    selectors: Iterable[tuple[Path, str]] = ()
    if obj["kind"] in POLICIES:
        policy = read_cel_policy(spec)
        selectors = selector_problems(policy.match_constraints)
        for path, text, message, *_ in _problems(obj["kind"], policy, store):
            known = ("compilation failed: ", "must evaluate to ", "program instantiation failed: ")
            what = "" if message.startswith(known) else known[0]
            problems.append(f"{path_text(path)}: Invalid value: {quote(text)}: {what}{message}")
    elif obj["kind"] in _OWN:
        binding = read_binding(spec)
        selectors = selector_problems(binding.match_resources, binding.param_ref)
    problems += [f"{path_text(path)}.{fault}" for path, fault in selectors]
    return errors.invalid(key, *problems) if problems else None


def _problems(kind: str, policy: CelPolicyNode, store: ObjectStore) -> Iterable[ExpressionProblem]:
    """Return the errors of expressions: annotations first, messages last."""
    if kind == _MUTATING:
        return _compiled(policy, store.defined).problems

    def order(problem: ExpressionProblem) -> tuple[bool, bool]:
        return problem.path[1] != "auditAnnotations", problem.path[-1] == "messageExpression"

    return sorted(_compiled_validations(policy)[2], key=order)
