"""What is to be known of a policy in CEL by those who know nothing of its language."""

from collections.abc import Mapping
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.model.policy import FailureAction, Policy, PolicyFacts, RuleFacts
from kyvsim.model.request import PayloadMode
from kyvsim.schema.kinds import CEL_GROUP

_API_VERSION = f"{CEL_GROUP}/v1beta1"
"""The one that Kyverno itself reads and speaks of."""
_UPKEEP = ("synchronize", "orphanDownstreamOnPolicyDelete")
_OF_POLICY = "useServerSideApply"


def policy_facts(kind: str, spec: Mapping[str, Json]) -> PolicyFacts:
    """Return the facts of a policy as a whole."""
    actions = spec.get("validationActions") or ("Deny",)
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
        pins_images=_pins(kind, spec),
        judges=decided_mode(kind, spec),
    )


def _pins(kind: str, spec: Mapping[str, Json]) -> bool:
    wanted = (spec.get("validationConfigurations") or {}).get("mutateDigest") is not False
    return wanted and verifies_images(kind)


def verifies_images(kind: str) -> bool:
    """Return whether policies of a kind are about the images of objects."""
    return kind.endswith("ImageValidatingPolicy")


def decided_mode(kind: str, spec: Mapping[str, Json]) -> PayloadMode | None:
    """Return the sort of requests that a policy decides on, or None where it judges objects."""
    mode = (spec.get("evaluation") or {}).get("mode")
    decided = (PayloadMode.HTTP, PayloadMode.ENVOY)
    return next((one for one in decided if one == mode and kind == "ValidatingPolicy"), None)


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
    """Return whether a policy names objects to change in place of those of requests."""
    targets = spec.get("targetMatchConstraints") or {}
    return bool(targets.get("expression") or targets.get("resourceRules"))


def _switch(spec: Mapping[str, Json], name: str) -> Json:
    """Return whether something is switched on under `evaluation`; None where nothing is said."""
    return ((spec.get("evaluation") or {}).get(name) or {}).get("enabled")
