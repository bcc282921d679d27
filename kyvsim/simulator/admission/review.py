"""AdmissionReviews: requests for rules, matchConditions, denials and warnings."""

from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from typing import Any

from kyvsim.cel.types import BOOL
from kyvsim.kubernetes.discovery import plural, split_api_version
from kyvsim.kubernetes.labels import SelectorError, compile_selector
from kyvsim.kubernetes.objects import KubernetesObject, labels, metadata, object_key, text_field
from kyvsim.kubernetes.wildcard import matches
from kyvsim.languages import cel_expressions
from kyvsim.languages.cel_expressions import (
    CompiledExpression,
    Compiler,
    EvaluationError,
    NativeScope,
    native_values,
)
from kyvsim.languages.cel_request import authorizer_of, request_value
from kyvsim.model.policy import Override, Policy, Rule
from kyvsim.model.ports import ExternalData
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import PolicyResponse, RuleStatus
from kyvsim.model.simulation import FailureCause
from kyvsim.model.tracing import TraceContext
from kyvsim.simulator.api_server import ApiError, ObjectStore, Review
from kyvsim.simulator.api_server.authorizer import with_roles
from kyvsim.simulator.api_server.metadata import with_metadata
from kyvsim.simulator.configuration import BACKGROUND
from kyvsim.yaml.text import folded_yaml

# Convert AdmissionReviews to the requests that rules evaluate.
# Source of the rules: upstream pkg/webhooks/utils/policy_context_builder.go, pkg/userinfo.


def admission_request(review: Review, store: ObjectStore) -> AdmissionRequest:
    """Return the request for rules, with the roles of its user."""
    request, key, part = review.request, review.request.key, review.request.subresource
    group, version = split_api_version(key.api_version)
    obj = review.object if request.operation is not Operation.DELETE else None
    if request.operation is Operation.CONNECT and obj is not None:
        # Connection options have no metadata; upstream: pkg/utils/admission ConvertResource.
        obj = with_metadata(obj, {"namespace": key.namespace})
    subject = review.object if review.object is not None else review.old
    # The object sent to a subresource may be of another kind: a Scale, an Eviction.
    sent = split_api_version(text_field(subject, "apiVersion") or key.api_version)
    kind = {"group": sent[0], "version": sent[1], "kind": text_field(subject, "kind") or key.kind}
    resource = {"group": group, "version": version}
    resource["resource"] = plural(group, key.kind, store.defined)
    return AdmissionRequest(
        operation=request.operation,
        object=obj,
        old_object=review.old,
        namespace=key.namespace,
        user=with_roles(request.user, key.namespace, store),
        subresource=part,
        parent_kind=(group, version, key.kind) if part else None,
        # The fields that only an API server sets.
        details={
            "uid": review.uid,
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "name": key.name or text_field(metadata(subject), "name"),
            "dryRun": request.dry_run,
            **({"subResource": part, "requestSubResource": part} if part else {}),
        },
    )


# matchConditions of webhooks: whether the API server calls Kyverno at all.
#
# A policy with matchConditions has its own webhook. The API server evaluates them before it
# sends a request to Kyverno.
# Source of the rules: k8s.io/apiserver pkg/admission/plugin/webhook (matchconditions/matcher.go,
# generic/webhook.go), upstream pkg/controllers/webhook/utils_webhook.go.


class MatchConditionError(Exception):
    """Conditions that cannot be evaluated, none of which is false; the text is the API server's."""


def all_hold(texts: Iterable[str], request: AdmissionRequest, external: ExternalData) -> bool:
    """Return whether all conditions are true for a request; raise `MatchConditionError`.

    If one is false, errors of the others do not matter.
    """
    try:
        return cel_expressions.all_hold(map(_compiled, texts), _values(request, external))
    except EvaluationError as error:
        raise MatchConditionError(str(error)) from None


def _values(request: AdmissionRequest, external: ExternalData) -> list[Any]:
    # No namespace object is available when webhooks are selected.
    old, authorizer = request.old_object, authorizer_of(request, external)
    return native_values(request.object, old, None, request_value(request), {}, *authorizer)


def trace_conditions(
    texts: Iterable[str], request: AdmissionRequest, external: ExternalData, trace: TraceContext
) -> None:
    """Evaluate conditions again at the place of `trace`, to record their steps."""
    values = _values(request, external)
    for number, text in enumerate(texts):
        traced = _compiled(text).traced(trace.at(number, "expression"), decides=True)
        with suppress(EvaluationError):
            if traced.value(values) is False:
                return


def is_called(
    policy: Policy, texts: Iterable[str], request: AdmissionRequest, external: ExternalData
) -> bool:
    """Return whether the webhook of a policy is called.

    A condition that cannot be evaluated counts as false, or raises `MatchConditionError` for a
    policy with `failurePolicy: Fail`.
    """
    try:
        return all_hold(texts, request, external)
    except MatchConditionError:
        if policy.facts.fails_closed:
            raise
        return False


def concerns(policy: Policy, request: AdmissionRequest, external: ExternalData) -> bool:
    """Return whether a policy evaluates a request or object, by its matchConditions.

    upstream: pkg/engine/internal/match.go, which evaluates them every time.
    """
    texts = [text for _, text in policy.facts.webhook_conditions]
    try:
        return not texts or all_hold(texts, request, external)
    except MatchConditionError:
        return False


def from_background(request: AdmissionRequest) -> bool:
    """Return whether the background controller sent a request."""
    return request.user is not None and request.user.username == BACKGROUND.username


@lru_cache(maxsize=512)
def _compiled(text: str) -> CompiledExpression:
    return Compiler(NativeScope(params=False)).program(text, BOOL)


# Whether a failed rule blocks a request in a namespace.
# Source of the rules: upstream pkg/policycache/cache.go: the first matching override counts, and
# one without namespaces matches everywhere.


def enforces(policy: Policy, rule: Rule, namespace: KubernetesObject | None) -> bool:
    """Return whether a rule's failure denies a request.

    `namespace` is the Namespace of the request, None for cluster-scoped objects.
    """
    own, overrides = rule.facts.action
    of_policy = policy.facts.action
    fitting = (one.action for one in overrides or of_policy.overrides if _fits(one, namespace))
    return next(fitting, own or of_policy.own).lower() == "enforce"


def _fits(override: Override, namespace: KubernetesObject | None) -> bool:
    names, selector = override.namespaces, override.selector
    if not names and selector is None:
        return True
    if namespace is None:
        return False
    name = object_key(namespace).name
    if any(matches(pattern, name) for pattern in names or ()):
        return True
    with suppress(SelectorError):
        return selector is not None and compile_selector(selector)(labels(namespace))
    return False


# The texts of denials and warnings.
# Source of the texts: upstream pkg/webhooks/utils (block.go, warning.go),
# pkg/webhooks/resource/mutation/mutation.go.

_REPORTED = frozenset({RuleStatus.FAIL, RuleStatus.ERROR, RuleStatus.WARN})


def denial(webhook: str, message: str) -> ApiError:
    """Return a webhook's denial in the format of the API server."""
    text = f'admission webhook "{webhook}" denied the request: {message}'
    return ApiError(400, "BadRequest", text, why=FailureCause.DENIED)


def blocked_message(subject: KubernetesObject, responses: Iterable[PolicyResponse]) -> str:
    """Return the message of a denied validation: policies, their rules, and the rules' messages."""
    failures: dict[str, dict[str, str]] = {}
    for response in responses:
        said = {one.rule.name: one.message for one in response.results if one.status in _REPORTED}
        if said:
            failures[response.policy.name] = said
    key = object_key(subject)
    place = f"{key.kind}/{key.namespace}/{key.name}"
    head = f"\n\nresource {place} was blocked due to the following policies \n\n"
    return head + folded_yaml(failures)


def mutation_failure(response: PolicyResponse) -> str:
    """Return the message of a request that a failed mutation denies."""
    name = response.policy.name
    failed = (RuleStatus.FAIL, RuleStatus.ERROR)
    rules = [f"{one.rule.name}: {one.message}" for one in response.results if one.status in failed]
    return f"mutation policy {name} error: failed to apply policy {name} rules [{' '.join(rules)}]"


def warnings_of(responses: Iterable[PolicyResponse], *, mutating: bool = False) -> list[str]:
    """Return the warnings for clients: failures, and mutations with `emitWarning`."""
    return [
        f"policy {response.policy.name}.{one.rule.name}: {one.message}"
        for response in responses
        for one in response.results
        if one.status in _REPORTED
        or (mutating and response.policy.facts.emits_warnings and one.status is not RuleStatus.SKIP)
    ]
