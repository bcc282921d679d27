"""Kyverno's admission controller for ClusterPolicies: warnings, changes, status."""

from collections.abc import Iterable, Iterator

from kyvsim.engine.conditions import operators
from kyvsim.kubernetes.discovery import parse_kind_selector
from kyvsim.kubernetes.go_text import quote, to_json
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.autogen import compute_rules
from kyvsim.languages.classic.validation.rule_bodies import CEL_ONLY
from kyvsim.model.policy import Policy, Rule
from kyvsim.policy.rule import (
    FailureOverride,
    fixed_generation,
    status_rule,
    text_of_section,
    text_without,
)

# upstream: pkg/validation/policy/validate.go, pkg/deprecations.
_EXCLUDED = (
    "Policies that match Pods apply to all Pods including those created and managed by controllers "
    "excluded from autogen. Use preconditions to exclude the Pods managed by controllers which are "
    "excluded from autogen. Refer to https://kyverno.io/docs/policy-types/cluster-policy/autogen/ "
    "for details."
)
_AUTOGEN = "pod-policies.kyverno.io/autogen-controllers"


def deprecated_actions(policy: Policy, *, with_paths: bool) -> Iterator[str]:
    """Yield warnings about failure actions with their deprecated spelling.

    Either one for the policy and each rule, or one for each action, with its path.

    upstream: pkg/validation/policy/validate.go, pkg/deprecations
    """
    if with_paths:
        for path in _old_action_paths(policy):
            yield f"{path}: {_OLD_ACTIONS}"
        return
    places = [(policy.tree.validation_failure_action, policy.tree.overrides)]
    for rule in policy.rules:
        validate = rule.tree.validate
        if validate and validate.failure_action:
            places.append((validate.failure_action, validate.overrides))
    for action, overrides in places:
        if not {action, *(one.action for one in overrides)}.isdisjoint(_OLD_SPELLINGS):
            yield _OLD_ACTIONS


_OLD_SPELLINGS = frozenset({"enforce", "audit"})
_OLD_ACTIONS = "Validation failure actions enforce/audit are deprecated, use Enforce/Audit instead."


def _old_action_paths(policy: Policy) -> Iterator[str]:
    named = [("spec.validationFailureAction", policy.tree.validation_failure_action)]
    named += _named_overrides("spec.validationFailureActionOverrides", policy.tree.overrides)
    for position, rule in enumerate(policy.rules):
        validate, path = rule.tree.validate, f"spec.rules[{position}].validate"
        if validate:
            named.append((f"{path}.failureAction", validate.failure_action))
            named += _named_overrides(f"{path}.failureActionOverrides", validate.overrides)
    yield from (path for path, action in named if action in _OLD_SPELLINGS)


def _named_overrides(path: str, overrides: Iterable[FailureOverride]) -> Iterator[tuple[str, str]]:
    return ((f"{path}[{index}].action", one.action) for index, one in enumerate(overrides))


def clone_variable_warnings(rule: Rule, position: int) -> Iterator[str]:
    """Yield warnings that a target's kind or source depends on the trigger."""
    generate = rule.tree.generate
    if generate is None:
        return
    path, loops = f"spec.rules[{position}]", generate.foreach
    targets = [generate.target] if loops is None else [loop.target for loop in loops]
    for index, target in enumerate(targets):
        place = path if loops is None else f"{path}.foreach[{index}]"
        sources = [target.fields.get(name) for name in ("clone", "cloneList")]
        if "{{" in to_json([target.kind, target.api_version, *sources]):
            yield (
                f"variables in {place}.clone/cloneList would lead to incorrect synchronization"
                " behavior"
            )


def warnings_before_permissions(rule: Rule) -> Iterator[str]:
    """Yield the warnings about a rule that come before the check of permissions."""
    mutate = rule.tree.mutate
    if "Pod" in rule.tree.match.own.kinds and mutate and mutate.patches_json6902:
        yield (
            "Pods managed by workload controllers should not be directly mutated using policies. "
            "Use the autogen feature or write policies that match Pod controllers."
        )


def warnings_after_permissions(policy: Policy, rule: Rule) -> Iterator[str]:
    """Yield the warnings about a rule that come after the check of permissions."""
    texts = (kind for one in rule.tree.match.filters for kind in one.kinds)
    kinds = {parse_kind_selector(text).kind for text in texts}
    controllers = policy.annotations.get(_AUTOGEN, "none")
    listed = sorted(str(controllers).lower().split(","))
    every = ["cronjob", "daemonset", "deployment", "job", "statefulset"]
    if kinds == {"Pod"} and controllers != "none" and listed != every:
        yield _EXCLUDED
    yield from _missing_subresources(rule)
    yield from _deprecated_operators(rule)


def _missing_subresources(rule: Rule) -> Iterator[str]:
    """Yield warnings that a rule reads fields of subresources that it does not match."""
    named = [kind for one in rule.tree.filters for kind in one.kinds]
    for section in ("validate", "mutate"):
        if section not in rule.tree.operations:
            continue
        if section == "mutate" and rule.tree.mutate:
            named += [target.kind for target in rule.tree.mutate.targets or ()]
        text, kinds = text_of_section(rule.tree, section), " ".join(named).lower()
        warning = "You are matching on {0} but not including the {1} subresource in the policy."
        if "replicas" in text and "scale" not in kinds:
            yield warning.format("replicas", "scale")
        if (".status" in text or '"status":' in text) and "status" not in kinds:
            yield warning.format("status", "status")


def _deprecated_operators(rule: Rule) -> Iterator[str]:
    validate = rule.tree.validate
    if validate is None:
        return
    blocks = [validate.deny and validate.deny.conditions]
    for loop in validate.foreach or ():
        blocks += [loop.preconditions, loop.deny and loop.deny.conditions]
    for condition in (one for block in filter(None, blocks) for one in block.conditions):
        operator = operators.get(condition.operator)
        if operator is not None and operator.warned:
            instead = " ".join(quote(one) for one in sorted(operator.successors))
            yield (
                f"Operator {operator.name} has been deprecated and will be removed soon. Use"
                f" these instead: [{instead}]"
            )


# upstream: pkg/validation/policy/generate.go.

STALE_TARGETS = "changes in the generate rule pattern could result in stale targets"
_FIXED = "changes of immutable fields of a rule spec in a generate rule is disallowed"


def changed_generation(new: Policy, old: Policy) -> tuple[bool, str]:
    """Return whether targets may be left over, and why the change is rejected ("" if it is not)."""
    before, after = (
        [rule.tree for rule in policy.rules if "generate" in rule.tree.operations]
        for policy in (old, new)
    )
    if not set(map(fixed_generation, before)) <= set(map(fixed_generation, after)):
        return True, ""
    keeps_match = any(rule.generate and rule.generate.synchronize is True for rule in before)
    free = ("generate",) if keeps_match else ("generate", "match")
    rest = {text_without(rule, *free) for rule in after}
    return False, "" if all(text_without(rule, *free) in rest for rule in before) else _FIXED


def cel_preconditions_problem(rule: Rule, position: int) -> str:
    """Return why a generate rule cannot have CEL preconditions; the command line accepts them.

    upstream: pkg/policy/generate/validate.go
    """
    if not rule.generates or rule.tree.cel_preconditions is None:
        return ""
    return f"path: spec.rules[{position}].generate..: {CEL_ONLY}"


def derived_rules(policy: Policy) -> list[Json]:
    """Return the autogen rules for the policy's status."""
    every = compute_rules(policy).every
    return [status_rule(rule.tree) for rule in every if rule.name.startswith("autogen-")]
