"""Which admission policies look at a request: through which bindings, with which parameters.

A policy counts through its bindings only, where its own constraints and those of a binding match.

Source of the rules: k8s.io/apiserver pkg/admission/plugin/policy (generic/policy_dispatcher.go,
matching/matching.go).
"""

from collections.abc import Iterator
from typing import NamedTuple

from kyvsim.engine.match import MatchFacts, match_facts
from kyvsim.kubernetes.discovery import is_builtin, served_versions, split_api_version
from kyvsim.kubernetes.labels import SelectorError, compile_selector
from kyvsim.kubernetes.objects import Json, ObjectKey, labels, object_key, text_field
from kyvsim.languages.constraints import compile_constraints
from kyvsim.model.ports import Outside
from kyvsim.model.request import AdmissionRequest
from kyvsim.simulator.server import Store

API_VERSION = "admissionregistration.k8s.io/v1"
POLICIES = ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy")


class Asked(NamedTuple):
    """A request as admission policies see it."""

    request: AdmissionRequest
    outside: Outside
    store: Store


class Invocation(NamedTuple):
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
    def wants_again(self) -> bool:
        """Whether a policy that mutates is asked again after others have changed the object."""
        return bool(self.policy["spec"].get("reinvocationPolicy") == "IfNeeded")

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


def invocations(kind: str, asked: Asked) -> Iterator[Invocation]:
    """Yield the policies of a kind that look at a request, by their names and their bindings'."""
    store = asked.store
    bindings = store.list(API_VERSION, f"{kind}Binding", "")
    for policy in store.list(API_VERSION, kind, ""):
        name = object_key(policy).name
        bound = [one for one in bindings if text_field(one["spec"], "policyName") == name]
        constraints = policy["spec"].get("matchConstraints")
        if not bound or not matches_request(constraints, asked, everything=False):
            continue
        unknown = unknown_kind(policy["spec"].get("paramKind"), store)
        if unknown:
            yield Invocation(policy, None, fault=f"failed to configure policy: {unknown}")
            continue
        for binding in bound:
            if matches_request(binding["spec"].get("matchResources"), asked, everything=True):
                yield from _with_params(policy, binding, asked)


def _with_params(policy: Json, binding: Json, asked: Asked) -> Iterator[Invocation]:
    try:
        params = parameters_of(
            policy["spec"].get("paramKind"), binding["spec"].get("paramRef"), asked
        )
    except ParameterError as error:
        yield Invocation(policy, binding, fault=f"failed to configure binding: {error}")
        return
    for one in params:
        yield Invocation(policy, binding, one)


def parameters_of(kind: Json, reference: Json, asked: Asked) -> list[Json]:
    """Return the parameters for each of which a policy is evaluated; raises ParameterError."""
    if not kind or not reference:
        return [None]
    store = asked.store
    what = text_field(kind, "apiVersion"), text_field(kind, "kind")
    namespace = text_field(reference, "namespace")
    if not store.is_namespaced(*what):
        if namespace:
            raise ParameterError(
                "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
            )
    elif not namespace:
        namespace = asked.request.namespace
        if not namespace:
            raise ParameterError(
                "cannot use namespaced paramRef in policy binding that matches "
                "cluster-scoped resources"
            )
    found = _chosen(what, namespace, reference, store)
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise ParameterError(
            "no params found for policy binding with `Deny` parameterNotFoundAction"
        )
    return found


def _chosen(what: tuple[str, str], namespace: str, reference: Json, store: Store) -> list[Json]:
    name = text_field(reference, "name")
    if name:
        found = store.get(*what, namespace, name)
        return [] if found is None else [found]
    try:
        fits = compile_selector(reference.get("selector") or {})
    except SelectorError as error:
        raise ParameterError(str(error)) from None
    return [one for one in store.list(*what, namespace) if fits(labels(one))]


def unknown_kind(kind: Json, store: Store) -> str:
    """Return that nothing serves the kind of the parameters, "" where it is served."""
    if not kind:
        return ""
    api_version, name = text_field(kind, "apiVersion"), text_field(kind, "kind")
    group = split_api_version(api_version)[0]
    if is_builtin(group, name) or (group, name) in store.defined:
        return ""
    return f"failed to find resource referenced by paramKind: '{api_version}, Kind={name}'"


def matches_request(written: Json, asked: Asked, *, everything: bool) -> bool:
    """Return whether constraints take a request, by equivalent versions unless they say `Exact`."""
    request, store = asked.request, asked.store
    place = request.namespace
    facts = match_facts(request, request.subject, asked.outside.labels_of(place))
    if facts is None:
        return False
    constraints = compile_constraints(written, "", store.defined, everything=everything)
    if constraints.fault:
        return False
    exact = text_field(written or {}, "matchPolicy") == "Exact"
    seen = [facts] if exact else list(_equivalents(facts, store))
    return any(constraints.matches(one) for one in seen)


def _equivalents(facts: MatchFacts, store: Store) -> Iterator[MatchFacts]:
    yield facts
    for version in served_versions(facts.group, facts.kind, store.defined):
        if version != facts.version:
            yield facts._replace(version=version)
