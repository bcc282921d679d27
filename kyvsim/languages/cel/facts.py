"""Facts about a policy in CEL for the engine, the webhook and the controllers."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.cel import CompileError, compile_expression
from kyvsim.cel.kubernetes import kubernetes_environment
from kyvsim.cel.types import BOOL
from kyvsim.engine.match import Predicate
from kyvsim.kubernetes.discovery import NO_KINDS, KindTable, kind_of_plural
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.constraints import compile_constraints
from kyvsim.model.policy import FailureAction, Policy, PolicyFacts, RuleFacts
from kyvsim.model.request import PayloadMode
from kyvsim.policy.cel_autogen import PolicyVariant, is_about_pods
from kyvsim.schema.kinds import CEL_GROUP

_API_VERSION = f"{CEL_GROUP}/v1beta1"
"""The one that Kyverno itself reads and speaks of."""
_UPKEEP = ("synchronize", "orphanDownstreamOnPolicyDelete")
_OF_POLICY = "useServerSideApply"


def policy_facts(kind: str, spec: Mapping[str, Json]) -> PolicyFacts:
    """Return the facts of a policy as a whole."""
    actions = spec.get("validationActions") or ("Deny",)
    wanted = (spec.get("validationConfigurations") or {}).get("mutateDigest") is not False
    mode = (spec.get("evaluation") or {}).get("mode")
    decided = (PayloadMode.HTTP, PayloadMode.ENVOY)
    return PolicyFacts(
        _API_VERSION,
        FailureAction("Enforce" if "Deny" in actions else "Audit"),
        admission=_switch(spec, "admission") is not False,
        background=_switch(spec, "background") is not False,
        emits_warnings="Warn" in actions,
        fails_closed=spec.get("failurePolicy") != "Ignore" and not generates(kind),
        schedule=str(spec.get("schedule") or "") if kind.endswith("DeletingPolicy") else None,
        propagation=str(spec.get("deletionPropagationPolicy") or "Background"),
        has_rules=False,
        pins_images=wanted and verifies_images(kind),
        judges=next((one for one in decided if one == mode and kind == "ValidatingPolicy"), None),
    )


def verifies_images(kind: str) -> bool:
    """Return whether policies of a kind are about the images of objects."""
    return kind.endswith("ImageValidatingPolicy")


def generates(kind: str) -> bool:
    """Return whether policies of a kind generate: their webhook only takes note of requests."""
    return kind.endswith("GeneratingPolicy")


def mutates(kind: str) -> bool:
    """Return whether policies of a kind mutate."""
    return kind.endswith("MutatingPolicy")


def rule_facts(spec: Mapping[str, Json]) -> RuleFacts:
    """Return the facts of the one rule that a policy is.

    Later changes of what it generates are spoken of once, under `evaluation`.
    """
    sees = (spec.get("evaluation") or {}).get("skipBackgroundRequests") is False
    if spec.get("generate").__class__ is not list:
        return RuleFacts(sees_background=sees, spares_triggers=_has_targets(spec))
    said = {name: _switch(spec, name) for name in _UPKEEP}
    said[_OF_POLICY] = spec.get(_OF_POLICY)
    upkeep = {name: value for name, value in said.items() if value is not None}
    return RuleFacts(upkeep=upkeep, sees_background=sees)


class GeneratingFacts(NamedTuple):
    """What the controllers need to know of a policy that generates."""

    synchronizes: bool
    """Whether what it generated is kept as it wants it."""
    orphans: bool
    """Whether that stays when the policy goes."""
    looks_back: bool
    """Whether it generates for triggers that are there before it."""
    applies_server_side: bool
    heeds_deletions: bool
    """Whether a trigger's deletion generates; else it deletes what was generated."""


def generating_facts(policy: Policy) -> GeneratingFacts:
    """Return what there is to know of a policy that generates."""
    spec = policy.spec
    rules = (spec.get("matchConstraints") or {}).get("resourceRules") or ()
    return GeneratingFacts(
        _switch(spec, "synchronize") is True,
        _switch(spec, "orphanDownstreamOnPolicyDelete") is True,
        _switch(spec, "generateExisting") is True,
        spec.get("useServerSideApply") is True,
        any("DELETE" in (rule.get("operations") or ()) for rule in rules),
    )


class MutatingFacts(NamedTuple):
    """What the controllers need to know of a policy that mutates."""

    changes_existing: bool
    """Whether it is to change objects that are there."""
    keeps_triggers: bool
    """Whether it has targets of its own: the objects of requests stay as they are."""
    by_expression: bool
    """Whether an expression names its targets for each trigger."""


def mutating_facts(policy: Policy) -> MutatingFacts:
    """Return what there is to know of a policy that mutates."""
    targets = policy.spec.get("targetMatchConstraints") or {}
    return MutatingFacts(
        _switch(policy.spec, "mutateExisting") is True,
        _has_targets(policy.spec),
        bool(targets.get("expression")),
    )


def _has_targets(spec: Mapping[str, Json]) -> bool:
    targets = spec.get("targetMatchConstraints") or {}
    return bool(targets.get("expression") or targets.get("resourceRules"))


def _switch(spec: Mapping[str, Json], name: str) -> Json:
    return ((spec.get("evaluation") or {}).get(name) or {}).get("enabled")


# What a policy in CEL needs of its webhook.
#
# Source of the rules: upstream pkg/controllers/webhook (validating.go, match_conditions.go),
# pkg/cel/autogen.

_NAMES = ("apiGroups", "apiVersions", "resources")
_EVERY_OPERATION = ("CREATE", "UPDATE", "DELETE", "CONNECT")
"""The operations that reach a generating policy, whatever it lists: it cleans up after triggers."""
_WITHOUT_VARIANTS = frozenset(
    {("NamespacedValidatingPolicy", False), ("NamespacedImageValidatingPolicy", True)}
)
"""Kinds of which a webhook does not name what is derived: one of its own (True), or a shared one.

upstream: validating.go `buildWebhookRules`, which asks for the Go type of a policy in some places
and for what it has in common with its namespaced twin in others.
"""
_OF_NO_WEBHOOK = "namespaceObject"
"""What the API server knows the type of, and has no value for where webhooks are chosen."""
_POD: Mapping[str, Json] = MappingProxyType(
    {"apiGroups": ("",), "apiVersions": ("v1",), "resources": ("pods",)}
)


class WebhookFacts(NamedTuple):
    """What a webhook needs to know of a policy."""

    rules: tuple[Json, ...]
    """Resource rules of the policy, then those of its variants."""
    namespace_selector: Json
    object_selector: Json
    conditions: tuple[tuple[str, str], ...]
    """Names and expressions of the conditions that the API server evaluates first."""
    alone: bool
    """Whether the policy needs a webhook of its own."""
    exact: bool
    """Whether other versions of a resource do not count."""
    timeout: int | None
    takes: Predicate
    """Whether its rules take a request."""


def webhook_facts(
    policy: Policy, variants: Iterable[PolicyVariant], kinds: KindTable = NO_KINDS
) -> WebhookFacts:
    """Return what a webhook needs to know of a policy."""
    spec = policy.spec
    constraints = spec.get("matchConstraints") or {}
    conditions = _pushed(spec)
    makes = generates(policy.kind)
    if makes and conditions and generating_facts(policy).synchronizes:
        conditions = [
            (name, f"request.operation != 'CREATE' || ({text})") for name, text in conditions
        ]
    exact = constraints.get("matchPolicy") == "Exact"
    timeout = (spec.get("webhookConfiguration") or {}).get("timeoutSeconds")
    alone = conditions is not None or exact or timeout is not None
    derived = [] if (policy.kind, alone) in _WITHOUT_VARIANTS else [*variants]
    rules = [*_rules(spec), *(rule for one in derived for rule in _rules(one.spec))]
    texts = tuple(_texts(spec, derived, conditions)) if conditions is not None else ()
    if makes:
        rules = [{**rule, "operations": list(_EVERY_OPERATION)} for rule in rules]
    return WebhookFacts(
        rules=tuple(rules),
        namespace_selector=constraints.get("namespaceSelector"),
        object_selector=constraints.get("objectSelector"),
        conditions=texts,
        alone=alone,
        exact=exact,
        timeout=timeout,
        takes=compile_constraints({"resourceRules": rules}, "", kinds).matches,
    )


def matched_resources(spec: Mapping[str, Json]) -> Iterator[tuple[str, str, str]]:
    """Yield group, version and resource of all that constraints name."""
    for rule in _rules(spec):
        yield from product(*(rule.get(name) or () for name in _NAMES))


def _rules(spec: Mapping[str, Json]) -> Iterator[Json]:
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        yield {name: value for name, value in rule.items() if name != "resourceNames" or value}


def _pushed(spec: Mapping[str, Json]) -> list[tuple[str, str]] | None:
    """Return the conditions that the API server can evaluate; None if it cannot, or has none."""
    written = spec.get("matchConditions") or ()
    if not written:
        return None
    env = kubernetes_environment(authorizer=True)
    found = []
    for one in written:
        try:
            program = compile_expression(one["expression"], env, BOOL)
        except CompileError:
            return None
        if _OF_NO_WEBHOOK not in program.reads:
            found.append((one["name"], one["expression"]))
    return found


def _texts(
    spec: Mapping[str, Json], derived: Iterable[PolicyVariant], own: list[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    if not is_about_pods(spec.get("matchConstraints") or {}):
        yield from own
        return
    yield from _for_kinds("autogen", [_POD], own)
    for one in sorted(derived, key=lambda one: one.name):
        pushed = _pushed(one.spec) or []
        yield from _for_kinds(f"autogen-{one.name}", list(_rules(one.spec)), pushed)


def _for_kinds(
    prefix: str, rules: Iterable[Mapping[str, Json]], conditions: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    kinds = {
        f"(object.apiVersion == '{f'{group}/' if group else ''}{version}' "
        f"&& object.kind =='{kind_of_plural(group, resource)}')"
        for rule in rules
        for group, version, resource in product(*(rule[name] for name in _NAMES))
    }
    for name, text in conditions:
        yield f"{prefix}-{name}", f"!({' || '.join(sorted(kinds))}) || ({text})"
