"""Facts about a policy in CEL for the engine, the webhook and the controllers."""

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from kyvsim.cel import CompileError, compile_expression
from kyvsim.cel.kubernetes import kubernetes_environment
from kyvsim.cel.types import BOOL
from kyvsim.engine.match import Predicate
from kyvsim.kubernetes.discovery import NO_KINDS, KindTable, kind_of_plural
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.constraints import compile_constraints
from kyvsim.model.policy import FailureAction, Policy, PolicyFacts, RuleFacts
from kyvsim.model.request import OPERATIONS, PayloadMode
from kyvsim.policy.cel_autogen import EXTRACTION, PolicyVariant, is_about_pods
from kyvsim.policy.cel_policy import CelPolicyNode, MatchConstraints, ResourceRule
from kyvsim.schema.kinds import CEL_GROUP


def policy_facts(kind: str, spec: CelPolicyNode) -> PolicyFacts:
    """Return the facts of a policy as a whole."""
    actions = spec.validation_actions or ("Deny",)
    evaluation = spec.evaluation
    decided = (PayloadMode.HTTP, PayloadMode.ENVOY)
    return PolicyFacts(
        f"{CEL_GROUP}/v1beta1",  # the version that Kyverno itself uses and reports
        FailureAction("Enforce" if "Deny" in actions else "Audit"),
        admission=evaluation.admission is not False,
        background=evaluation.background is not False,
        emits_warnings="Warn" in actions,
        fails_closed=not spec.ignores_failures and not generates(kind),
        schedule=spec.schedule if kind.endswith("DeletingPolicy") else None,
        propagation=spec.deletion_propagation_policy or "Background",
        has_rules=False,
        pins_images=spec.image_verification.mutate_digest is not False and verifies_images(kind),
        judges=next(
            (one for one in decided if one == evaluation.mode and kind == "ValidatingPolicy"), None
        ),
    )


def verifies_images(kind: str) -> bool:
    """Return whether policies of a kind verify images of objects."""
    return kind.endswith("ImageValidatingPolicy")


def generates(kind: str) -> bool:
    """Return whether policies of a kind generate; their webhook only records requests."""
    return kind.endswith("GeneratingPolicy")


def mutates(kind: str) -> bool:
    """Return whether policies of a kind mutate."""
    return kind.endswith("MutatingPolicy")


def rule_facts(spec: CelPolicyNode) -> RuleFacts:
    """Return the facts of the policy's only rule.

    Later changes of generated objects are reported once, under `evaluation`.
    """
    evaluation = spec.evaluation
    sees = evaluation.skip_background_requests is False
    if spec.generate is None:
        return RuleFacts(sees_background=sees, spares_triggers=spec.has_own_targets)
    said = {
        "synchronize": evaluation.synchronize,
        "orphanDownstreamOnPolicyDelete": evaluation.orphan_downstream_on_policy_delete,
        "useServerSideApply": spec.use_server_side_apply,
    }
    upkeep = {name: value for name, value in said.items() if value is not None}
    return RuleFacts(upkeep=upkeep, sees_background=sees)


class GeneratingFacts(NamedTuple):
    """The facts that controllers need about a generating policy."""

    synchronizes: bool
    """Whether generated objects are kept in sync."""
    orphans: bool
    """Whether generated objects remain when the policy is deleted."""
    looks_back: bool
    """Whether it generates for existing triggers."""
    applies_server_side: bool
    heeds_deletions: bool
    """Whether deleting a trigger generates; if not, it deletes the generated objects."""


def generating_facts(policy: Policy) -> GeneratingFacts:
    """Return the facts of a generating policy."""
    spec, evaluation = policy.cel, policy.cel.evaluation
    return GeneratingFacts(
        evaluation.synchronize is True,
        evaluation.orphan_downstream_on_policy_delete is True,
        evaluation.generate_existing is True,
        spec.use_server_side_apply is True,
        any("DELETE" in rule.operations for rule in spec.resource_rules),
    )


class MutatingFacts(NamedTuple):
    """The facts that controllers need about a mutating policy."""

    changes_existing: bool
    """Whether it mutates existing objects."""
    keeps_triggers: bool
    """Whether it has targets of its own, and does not change the objects of requests."""
    by_expression: bool
    """Whether an expression returns the targets of each trigger."""


def mutating_facts(policy: Policy) -> MutatingFacts:
    """Return the facts of a mutating policy."""
    spec = policy.cel
    targets = spec.target_match_constraints
    return MutatingFacts(
        spec.evaluation.mutate_existing is True,
        spec.has_own_targets,
        targets is not None and bool(targets.expression),
    )


# The facts of a policy in CEL for its webhook.
#
# Source of the rules: upstream pkg/controllers/webhook (validating.go, match_conditions.go),
# pkg/cel/autogen.


class WebhookFacts(NamedTuple):
    """The facts of a policy for its webhook."""

    rules: tuple[ResourceRule, ...]
    """Resource rules of the policy, followed by those of its variants."""
    namespace_selector: Json
    object_selector: Json
    conditions: tuple[tuple[str, str], ...]
    """Names and expressions of the conditions that the API server evaluates first."""
    alone: bool
    """Whether the policy needs a webhook of its own."""
    exact: bool
    """Whether `matchPolicy` is Exact."""
    timeout: int | None
    takes: Predicate
    """Whether its rules match a request."""


def webhook_facts(
    policy: Policy,
    variants: Iterable[PolicyVariant],
    kinds: KindTable = NO_KINDS,
    without_variants: Collection[bool] = (),
) -> WebhookFacts:
    """Return the facts of a policy for its webhook.

    `without_variants`: whether a webhook that has no rules for its variants is a dedicated one.
    """
    spec = policy.cel
    constraints = spec.match_constraints or MatchConstraints(())
    conditions = _pushed(spec)
    makes = generates(policy.kind)
    if makes and conditions and generating_facts(policy).synchronizes:
        conditions = [
            (name, f"request.operation != 'CREATE' || ({text})") for name, text in conditions
        ]
    exact = constraints.match_policy == "Exact"
    timeout = spec.webhook_timeout_seconds
    alone = conditions is not None or exact or timeout is not None
    derived = [] if alone in without_variants else [*variants]
    rules = [rule for one in (spec, *(one.spec for one in derived)) for rule in one.resource_rules]
    texts = conditions or []
    if conditions is not None and is_about_pods(spec.match_constraints):
        texts = [*_for_kinds("autogen", spec, conditions)]
        for one in sorted(derived, key=lambda one: one.name):
            if one.name == EXTRACTION:
                continue  # its conditions are about Pods, not about the object of the request
            texts += _for_kinds(f"autogen-{one.name}", one.spec, _pushed(one.spec) or [])
    if makes:
        # Every operation is sent to a generating policy, whatever it lists: it cleans up after
        # triggers.
        rules = [rule._replace(operations=OPERATIONS) for rule in rules]
    return WebhookFacts(
        rules=tuple(rules),
        namespace_selector=constraints.namespace_selector,
        object_selector=constraints.object_selector,
        conditions=tuple(texts),
        alone=alone,
        exact=exact,
        timeout=timeout,
        takes=compile_constraints(MatchConstraints((), tuple(rules)), "", kinds).matches,
    )


def matched_resources(spec: CelPolicyNode) -> Iterator[tuple[str, str, str]]:
    """Yield group, version and resource of everything that constraints name."""
    return (named for rule in spec.resource_rules for named in rule.named)


def _pushed(spec: CelPolicyNode) -> list[tuple[str, str]] | None:
    """Return the conditions that the API server can evaluate; None if there are none."""
    if not spec.match_conditions:
        return None
    env = kubernetes_environment(authorizer=True)
    found = []
    for one in spec.match_conditions:
        try:
            program = compile_expression(one.expression, env, BOOL)
        except CompileError:
            return None
        # The API server knows its type, but has no value when it selects webhooks.
        if "namespaceObject" not in program.reads:
            found.append((one.name, one.expression))
    return found


def _for_kinds(
    prefix: str, spec: CelPolicyNode, conditions: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    kinds = {
        f"(object.apiVersion == '{f'{group}/' if group else ''}{version}' "
        f"&& object.kind =='{kind_of_plural(group, resource)}')"
        for rule in spec.resource_rules
        for group, version, resource in rule.named
    }
    for name, text in conditions:
        yield f"{prefix}-{name}", f"!({' || '.join(sorted(kinds))}) || ({text})"
