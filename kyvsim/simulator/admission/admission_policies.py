"""Kubernetes' own admission policies, which the API server evaluates before webhooks."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import getitem
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from kyvsim.cel import Program
from kyvsim.cel.kubernetes import VARIABLES_TYPE, kubernetes_environment
from kyvsim.cel.libraries.admission import JSON_PATCH, OBJECT
from kyvsim.cel.program import LazyVariables, composited
from kyvsim.cel.types import list_of
from kyvsim.engine.match import match_facts
from kyvsim.engine.world import World
from kyvsim.kubernetes.discovery import KindTable, is_builtin, served_versions, split_api_version
from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.labels import SelectorError, compile_selector
from kyvsim.kubernetes.objects import (
    Json,
    ObjectKey,
    Path,
    labels,
    metadata,
    object_key,
    text_field,
)
from kyvsim.kubernetes.quantities import with_whole_numbers
from kyvsim.languages.cel_expressions import (
    Compiler,
    EvaluationError,
    ExpressionProblem,
    all_hold,
    evaluate,
)
from kyvsim.languages.cel_request import authorizer_of, namespace_object, request_value
from kyvsim.languages.cel_validator import (
    Declared,
    FaultError,
    Validator,
    compile_validator,
    variable_value,
)
from kyvsim.languages.constraints import (
    binding_selector_problems,
    compile_constraints,
    policy_selector_problems,
)
from kyvsim.languages.mutations import MutationError, merge_object, patch_object
from kyvsim.languages.native.admission_policies import audit_annotations, for_conditions
from kyvsim.model.ports import ExternalData
from kyvsim.model.request import AdmissionRequest
from kyvsim.model.simulation import FailureCause, Unevaluated
from kyvsim.patch.structured_merge import type_finder
from kyvsim.policy.cel import read_expressions, read_named_expressions
from kyvsim.schema.kinds import native_schemas
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

# Which admission policies look at a request: through which bindings, with which parameters.
#
# A policy counts through its bindings only, where its own constraints and those of a binding
# match.
#
# Source of the rules: k8s.io/apiserver pkg/admission/plugin/policy (generic/policy_dispatcher.go,
# matching/matching.go).

API_VERSION = "admissionregistration.k8s.io/v1"
POLICIES = ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy")

_SPEC: Path = ("spec",)


class PolicyRequest(NamedTuple):
    """A request as admission policies see it."""

    request: AdmissionRequest
    external: ExternalData
    store: ObjectStore


class PolicyInvocation(NamedTuple):
    """A policy that looks at a request, and why it cannot where it cannot."""

    policy: Json
    binding: Json | None
    params: Json = None
    fault: str = ""

    @property
    def fails_closed(self) -> bool:
        """Whether what cannot be evaluated refuses a request."""
        return bool(self.policy["spec"].get("failurePolicy") != "Ignore")

    @property
    def place(self) -> tuple[str, str, str, str]:
        """Names of policy, binding and parameter, by which a second round finds it again."""
        names = (object_key(one) if one else ObjectKey("", "", "", "") for one in self[1:3])
        binding, param = names
        return object_key(self.policy).name, binding.name, param.namespace, param.name

    @property
    def named(self) -> str:
        """How refusals name it."""
        policy = object_key(self.policy).name
        if self.binding is None:
            return f"'{policy}'"
        return f"'{policy}' with binding '{object_key(self.binding).name}'"


class ParameterError(Exception):
    """Parameters that cannot be found."""


def invocations(kind: str, policy_request: PolicyRequest) -> Iterator[PolicyInvocation]:
    """Yield the policies of a kind that look at a request, by their names and their bindings'."""
    store = policy_request.store
    bindings = store.list(API_VERSION, f"{kind}Binding", "")
    for policy in store.list(API_VERSION, kind, ""):
        name = object_key(policy).name
        bound = [one for one in bindings if text_field(one["spec"], "policyName") == name]
        constraints = policy["spec"].get("matchConstraints")
        if not bound or not matches_request(constraints, policy_request, everything=False):
            continue
        unknown = unknown_kind(policy["spec"].get("paramKind"), store)
        if unknown:
            yield PolicyInvocation(policy, None, fault=f"failed to configure policy: {unknown}")
            continue
        for binding in bound:
            if not matches_request(
                binding["spec"].get("matchResources"), policy_request, everything=True
            ):
                continue
            kinds = policy["spec"].get("paramKind"), binding["spec"].get("paramRef")
            try:
                params = parameters_of(*kinds, policy_request)
            except ParameterError as error:
                fault = f"failed to configure binding: {error}"
                yield PolicyInvocation(policy, binding, fault=fault)
                continue
            for one in params:
                yield PolicyInvocation(policy, binding, one)


def parameters_of(kind: Json, reference: Json, policy_request: PolicyRequest) -> list[Json]:
    """Return the parameters for each of which a policy is evaluated; raises ParameterError."""
    if not kind or not reference:
        return [None]
    store = policy_request.store
    what = text_field(kind, "apiVersion"), text_field(kind, "kind")
    namespace = text_field(reference, "namespace")
    if not store.is_namespaced(*what):
        if namespace:
            raise ParameterError(
                "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
            )
    elif not namespace:
        namespace = policy_request.request.namespace
        if not namespace:
            raise ParameterError(
                "cannot use namespaced paramRef in policy binding that matches "
                "cluster-scoped resources"
            )
    name = text_field(reference, "name")
    if name:
        chosen = store.get(*what, namespace, name)
        found = [] if chosen is None else [chosen]
    else:
        try:
            fits = compile_selector(reference.get("selector") or {})
        except SelectorError as error:
            raise ParameterError(str(error)) from None
        found = [one for one in store.list(*what, namespace) if fits(labels(one))]
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise ParameterError(
            "no params found for policy binding with `Deny` parameterNotFoundAction"
        )
    return found


def unknown_kind(kind: Json, store: ObjectStore) -> str:
    """Return that nothing serves the kind of the parameters, "" where it is served."""
    if not kind:
        return ""
    api_version, name = text_field(kind, "apiVersion"), text_field(kind, "kind")
    group = split_api_version(api_version)[0]
    if is_builtin(group, name) or (group, name) in store.defined:
        return ""
    return f"failed to find resource referenced by paramKind: '{api_version}, Kind={name}'"


def matches_request(written: Json, policy_request: PolicyRequest, *, everything: bool) -> bool:
    """Return whether constraints take a request, by equivalent versions unless they say `Exact`."""
    request, store = policy_request.request, policy_request.store
    place = request.namespace
    facts = match_facts(request, request.subject, policy_request.external.labels_of(place))
    if facts is None:
        return False
    constraints = compile_constraints(written, "", store.defined, everything=everything)
    if constraints.fault:
        return False
    versions: Iterable[str] = ()
    if text_field(written or {}, "matchPolicy") != "Exact":
        versions = served_versions(facts.group, facts.kind, store.defined)
    seen = (facts, *(facts._replace(version=one) for one in versions if one != facts.version))
    return any(constraints.matches(one) for one in seen)


# What expressions of admission policies see, in the order of their environment.

VARIABLES = 4
"""The place of `variables`, which are evaluated with all the others."""


def values_of(invocation: PolicyInvocation, policy_request: PolicyRequest, obj: Json) -> list[Any]:
    """Return the values for an object; those of `variables` are put in by whoever knows them."""
    request, external = policy_request.request, policy_request.external
    has_params = bool(invocation.policy["spec"].get("paramKind"))
    details: Mapping[str, Json] = request.details or {}
    return [
        obj,
        request.old_object,
        namespace_object(request, external),
        {**request_value(request), **details},
        {},
        *([invocation.params] if has_params else []),
        *authorizer_of(request, external),
    ]


# ValidatingAdmissionPolicy: what it says of a request.
#
# Source of the rules: k8s.io/apiserver pkg/admission/plugin/policy/validating (validator.go,
# dispatcher.go).

INVALID = "Invalid"


class ValidationDenial(NamedTuple):
    """Why a policy does not let a request pass."""

    message: str
    reason: str = INVALID
    always: bool = False
    """Whether it refuses the request whatever the binding's actions are."""
    is_fault: bool = False
    """Whether the policy could not be evaluated, and has decided nothing."""
    ignored: bool = False
    """Whether the failure policy ignores it."""


def decisions(
    invocation: PolicyInvocation, policy_request: PolicyRequest
) -> tuple[ValidationDenial, ...] | None:
    """Return why a policy does not let a request pass, in the order of its validations.

    None where its match conditions do not hold: then it says nothing of the request.
    """
    closed = invocation.fails_closed
    if invocation.fault:
        return (ValidationDenial(invocation.fault, always=True, is_fault=True, ignored=not closed),)
    validator = _validator(invocation.policy)
    values = values_of(invocation, policy_request, policy_request.request.object)
    values[VARIABLES] = LazyVariables(VARIABLES_TYPE, validator.variables, values, variable_value)
    unmet = validator.unmet(values)
    if unmet is not None:
        return (ValidationDenial(unmet, is_fault=True, ignored=not closed),) if unmet else None
    found = []
    written = invocation.policy["spec"].get("validations") or ()
    for entry, validation in zip(written, validator.validations, strict=True):
        refusal = validation.refusal(values)
        if refusal is not None and not refusal.is_fault:
            found.append(ValidationDenial(refusal.message, entry.get("reason") or INVALID))
        elif refusal is not None:
            found.append(ValidationDenial(refusal.message, is_fault=True, ignored=not closed))
    for _, one in audit_annotations(invocation.policy["spec"], validator) if closed else ():
        try:
            one.value(values)
        except FaultError as fault:
            found.append(ValidationDenial(str(fault), always=True, is_fault=True))
    return tuple(found)


def _validator(policy: Json) -> Validator:
    spec = policy["spec"]
    return compile_validator(
        read_named_expressions(spec, "variables", _SPEC),
        read_named_expressions(spec, "matchConditions", _SPEC),
        read_expressions(spec, "validations", _SPEC),
        Declared(params=bool(spec.get("paramKind"))),
    )


# MutatingAdmissionPolicy: the object as it leaves it.
#
# Merged objects have the types of their kind, as an API server knows them.
#
# Source of the rules: k8s.io/apiserver pkg/admission/plugin/policy/mutating (dispatcher.go,
# patch).

_Mutation: TypeAlias = Callable[[Sequence[Any], Json], Json]


class PolicyEvaluationError(Exception):
    """A policy that cannot be evaluated; the text is the API server's."""


class _NativePolicy(NamedTuple):
    variables: Mapping[str, Program]
    conditions: tuple[Program, ...]
    mutations: tuple[_Mutation, ...]
    problems: tuple[ExpressionProblem, ...]


def mutated(invocation: PolicyInvocation, policy_request: PolicyRequest, obj: Json) -> Json | None:
    """Return an object as a policy leaves it, None where its conditions do not hold.

    Raises Failure.
    """
    if invocation.fault:
        raise PolicyEvaluationError(invocation.fault)
    policy = _compiled(invocation.policy, policy_request.store.defined)
    try:
        if not all_hold(
            policy.conditions,
            for_conditions(_values(policy, invocation, policy_request, obj)),
            native=True,
        ):
            return None
        for mutation in policy.mutations:
            obj = mutation(_values(policy, invocation, policy_request, obj), obj)
    except (EvaluationError, MutationError) as error:
        raise PolicyEvaluationError(str(error)) from None
    return obj


def _values(
    policy: _NativePolicy, invocation: PolicyInvocation, policy_request: PolicyRequest, obj: Json
) -> list[Any]:
    values = values_of(invocation, policy_request, obj)
    values[VARIABLES] = LazyVariables(VARIABLES_TYPE, policy.variables, values, composited)
    return values


def _compiled(policy: Json, kinds: KindTable) -> _NativePolicy:
    spec = policy["spec"]
    has_params = bool(spec.get("paramKind"))
    env = kubernetes_environment(params=has_params, authorizer=True, mutates=True)
    compiler = Compiler(env, native=True)
    variables = compiler.variables(spec)
    conditions = compiler.conditions(spec)
    written = enumerate(spec.get("mutations") or ())
    mutations = [_mutation(compiler, entry, index, kinds) for index, entry in written]
    return _NativePolicy(
        variables,
        conditions,
        tuple(one for one in mutations if one is not None),
        tuple(compiler.problems),
    )


def _mutation(compiler: Compiler, entry: Json, index: int, kinds: KindTable) -> _Mutation | None:
    patches = entry["patchType"] == "JSONPatch"
    field = "jsonPatch" if patches else "applyConfiguration"
    text = (entry.get(field) or {}).get("expression")
    if text is None:
        return None
    place = ("spec", "mutations", index, field, "expression")
    program = compiler.compile(text, place, list_of(JSON_PATCH) if patches else OBJECT)
    if program is None:
        return None
    if patches:
        return lambda values, obj: with_whole_numbers(
            patch_object(evaluate(program, values, native=True), obj)
        )
    find_type = type_finder(kinds)
    return lambda values, obj: with_whole_numbers(
        merge_object(evaluate(program, values, native=True), obj, find_type, replaces=False)
    )


# The API server's part in admission: its own policies, before any webhook is called.
#
# Source of the rules: k8s.io/apiserver pkg/admission/plugin/policy.

_VALIDATING, _MUTATING = POLICIES
_GROUP = split_api_version(API_VERSION)[0]
_OWN = frozenset((*POLICIES, *(f"{kind}Binding" for kind in POLICIES)))
_Place = tuple[str, str, str, str]
_DETAILS = ("compilation failed: ", "must evaluate to ", "program instantiation failed: ")
_CODES = MappingProxyType(
    {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413, INVALID: 422}
)


class AdmissionPolicies:
    """Admission by the policies that are stored, as the API server does it itself."""

    def __init__(self, store: ObjectStore, note: Callable[[ApiRequest, RequestNote], None]) -> None:
        """Record the results of the policies for the event of a request."""
        self._store = store
        self._note = note
        # The account only shows that there is an API server to query.
        self._outside = World(store, account=ADMIN).external

    def mutate(self, review: Review) -> WebhookResponse:
        """Return the object as the policies leave it, or the refusal where one cannot be done."""
        if not self._is_concerned(review, _MUTATING) or review.object is None:
            return ALLOWED
        return self._mutated(review, None)

    def _mutated(self, review: Review, again: frozenset[_Place] | None) -> WebhookResponse:
        """Return what the policies say; in a second round those that wanted one, named `again`."""
        policy_request = self._policy_request(review)
        obj, refused = review.object, ""
        wanting: set[_Place] = set()
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
                    self._note(review.request, RequestNote(denied_by=(_name(one),)))
                continue
            if after is not None:
                obj = after
                # It is called again after others have changed the object.
                if one.policy["spec"].get("reinvocationPolicy") == "IfNeeded":
                    wanting.add(one.place)
        if refused:
            return WebhookResponse(denied=ApiError(403, INVALID, refused, why=FailureCause.DENIED))
        changed = obj if obj is not review.object else None
        if again is not None or not wanting:
            return WebhookResponse(changed)
        return WebhookResponse(
            changed, again=lambda later: self._mutated(later, frozenset(wanting))
        )

    def validate(self, review: Review) -> WebhookResponse:
        """Return whether the policies let a request pass, and what they warn of."""
        if not self._is_concerned(review, _VALIDATING):
            return ALLOWED
        policy_request = self._policy_request(review)
        denied: list[tuple[PolicyInvocation, ValidationDenial]] = []
        warnings: list[str] = []
        for one in invocations(_VALIDATING, policy_request):
            actions = one.binding["spec"].get("validationActions") or () if one.binding else ()
            found = decisions(one, policy_request)
            self._note(review.request, _counted(skipped=found is None))
            for decision in found or ():
                if decision.is_fault:
                    self._note_error(review, one, decision.message)
                if decision.ignored:
                    continue
                if decision.always or "Deny" in actions:
                    denied.append((one, decision))
                elif not decision.is_fault:
                    self._note(review.request, RequestNote(failed=(_name(one),)))
                if "Warn" in actions and not decision.always:
                    warnings.append(
                        f"Validation failed for {_VALIDATING} {one.named}: {decision.message}"
                    )
        if not denied:
            return WebhookResponse(warnings=tuple(warnings))
        self._note(review.request, RequestNote(denied_by=tuple(_name(one) for one, _ in denied)))
        return WebhookResponse(warnings=tuple(warnings), denied=self._denial(review, *denied[0]))

    def _note_error(self, review: Review, one: PolicyInvocation, why: str) -> None:
        self._note(review.request, RequestNote(unevaluated=(Unevaluated(_name(one), why),)))

    def _denial(
        self, review: Review, policy: PolicyInvocation, decision: ValidationDenial
    ) -> ApiError:
        meta = metadata(review.object or review.old or {})
        name = text_field(meta, "name") or text_field(meta, "generateName")
        key = review.request.key._replace(name=review.request.key.name or name)
        why = f"{_VALIDATING} {policy.named} denied request: {decision.message}"
        code = _CODES.get(decision.reason, 422)
        refused = errors.forbidden(key, self._store.defined, why)
        causes = ({"message": why},)
        return refused._replace(
            code=code, reason=decision.reason, causes=causes, why=FailureCause.DENIED
        )

    def _is_concerned(self, review: Review, kind: str) -> bool:
        key = review.request.key
        own = split_api_version(key.api_version)[0] == _GROUP and key.kind in _OWN
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
                found.add(_name(one))
    return frozenset(found)


def _name(one: PolicyInvocation) -> str:
    return object_key(one.policy).name


def refuse_uncompiled(review: Review, store: ObjectStore) -> ApiError | None:
    """Return why a policy or binding cannot be stored, None where it can."""
    obj = written(review)
    if obj is None or split_api_version(review.request.key.api_version)[0] != _GROUP:
        return None
    key = object_key(obj)
    schema = native_schemas().get(f"{key.api_version}/{key.kind}")
    unfitting = schema_findings(obj, schema) if schema else []
    if unfitting:
        return errors.invalid(key, *unfitting)
    problems = [
        f"{_field(path)}: Invalid value: {quote(text)}: "
        f"{'' if fault.startswith(_DETAILS) else 'compilation failed: '}{fault}"
        for path, text, fault in _problems(obj, store)
    ]
    if obj["kind"] in _OWN:
        check = policy_selector_problems if obj["kind"] in POLICIES else binding_selector_problems
        problems += [f"{_field(path)}.{fault}" for path, fault in check(obj.get("spec") or {})]
    return errors.invalid(key, *problems) if problems else None


def _problems(obj: Json, store: ObjectStore) -> Iterator[tuple[Path, str, str]]:
    """Yield place, text and fault of each expression that cannot be compiled."""
    if obj["kind"] == _VALIDATING:
        validator = _validator(obj)
        placed = ((("spec", *path), one) for path, one in validator.placed())
        for path, one in (*audit_annotations(obj["spec"], validator), *placed):
            if one.program is None:
                yield path, one.text, one.problem
    elif obj["kind"] == _MUTATING:
        for problem in _compiled(obj, store.defined).problems:
            yield problem.path, str(reduce(getitem, problem.path, obj)), problem.message


def _field(path: Path) -> str:
    shown = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in path)
    return shown.removeprefix(".")
