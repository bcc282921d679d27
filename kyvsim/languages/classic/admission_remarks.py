"""Warnings about policies that are let in.

Source of the texts: upstream pkg/validation/policy/validate.go, pkg/deprecations.
"""

from collections.abc import Iterator

from kyvsim.engine.conditions import operators
from kyvsim.engine.match.criteria import filters
from kyvsim.kubernetes.discovery import parse_kind_selector
from kyvsim.kubernetes.go_text import quote, to_json
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.checks.refusal import has
from kyvsim.model.policy import Policy, Rule

_ACTIONS = "Validation failure actions enforce/audit are deprecated, use Enforce/Audit instead."
_OLD_ACTIONS = frozenset({"enforce", "audit"})
_ON_PODS = (
    "Pods managed by workload controllers should not be directly mutated using policies. "
    "Use the autogen feature or write policies that match Pod controllers."
)
_EXCLUDED = (
    "Policies that match Pods apply to all Pods including those created and managed by controllers "
    "excluded from autogen. Use preconditions to exclude the Pods managed by controllers which are "
    "excluded from autogen. Refer to https://kyverno.io/docs/policy-types/cluster-policy/autogen/ "
    "for details."
)
_AUTOGEN = "pod-policies.kyverno.io/autogen-controllers"
_EVERY_CONTROLLER = ("cronjob", "daemonset", "deployment", "job", "statefulset")


def old_actions(policy: Policy) -> Iterator[str]:
    """Yield that failure actions are spelled as they were once, for each place of one."""
    spec = policy.spec
    overrides = spec.get("validationFailureActionOverrides")
    if _is_old(spec.get("validationFailureAction"), overrides):
        yield _ACTIONS
    for rule in policy.rules:
        validate = rule.data.get("validate") or {}
        if "failureAction" not in validate:
            continue
        if _is_old(validate["failureAction"], validate.get("failureActionOverrides")):
            yield _ACTIONS


def _is_old(action: Json, overrides: Json) -> bool:
    found = [action, *(one.get("action") for one in overrides or ())]
    return any(one in _OLD_ACTIONS for one in found)


def cloned_variables(rule: Rule, position: int) -> Iterator[str]:
    """Yield that a target's kind or source depends on the trigger."""
    generate = rule.data.get("generate") or {}
    loops = generate.get("foreach")
    path = f"spec.rules[{position}]"
    for index, target in enumerate(loops if loops is not None else [generate]):
        place = f"{path}.foreach[{index}]" if loops is not None else path
        fixed = [target.get(name) for name in ("kind", "apiVersion", "clone", "cloneList")]
        if "{{" in to_json(fixed):
            yield (
                f"variables in {place}.clone/cloneList would lead to incorrect synchronization"
                " behavior"
            )


def before_rights(rule: Rule) -> Iterator[str]:
    """Yield what is said of a rule before the rights that it needs are looked at."""
    mutate = rule.data.get("mutate") or {}
    kinds = ((rule.data.get("match") or {}).get("resources") or {}).get("kinds") or ()
    if "Pod" in kinds and mutate.get("patchesJson6902"):
        yield _ON_PODS


def after_rights(policy: Policy, rule: Rule) -> Iterator[str]:
    """Yield what is said of a rule after the rights that it needs were looked at."""
    entries = list(filters(rule.data, "match"))
    kinds = {parse_kind_selector(kind).kind for entry in entries for kind in entry.kinds}
    if kinds == {"Pod"} and _leaves_out_controllers(policy):
        yield _EXCLUDED
    yield from _hidden_parts(rule)
    yield from _old_operators(rule)


def _leaves_out_controllers(policy: Policy) -> bool:
    found = policy.annotations.get(_AUTOGEN)
    if found is None or found == "none":
        return False
    return tuple(sorted(str(found).lower().split(","))) != _EVERY_CONTROLLER


def _hidden_parts(rule: Rule) -> Iterator[str]:
    """Yield that a rule looks at what only subresources change, but does not match those."""
    named = [
        kind
        for block in ("match", "exclude")
        for one in filters(rule.data, block)
        for kind in one.kinds
    ]
    validate = rule.data.get("validate") or {}
    if has(rule.data, "validate"):
        looked_at = {**validate}
        if validate.get("deny") is not None:
            looked_at["deny"] = {}
        yield from _unmatched(to_json(looked_at), named)
    if has(rule.data, "mutate"):
        mutate = rule.data["mutate"]
        named += [target.get("kind", "") for target in mutate.get("targets") or ()]
        yield from _unmatched(to_json(mutate), named)


def _unmatched(text: str, kinds: list[str]) -> Iterator[str]:
    whole = " ".join(kinds).lower()
    if "replicas" in text and "scale" not in whole:
        yield "You are matching on replicas but not including the scale subresource in the policy."
    if (".status" in text or '"status":' in text) and "status" not in whole:
        yield "You are matching on status but not including the status subresource in the policy."


def _old_operators(rule: Rule) -> Iterator[str]:
    validate = rule.data.get("validate") or {}
    blocks = [(validate.get("deny") or {}).get("conditions")]
    for loop in validate.get("foreach") or ():
        blocks += [loop.get("preconditions"), (loop.get("deny") or {}).get("conditions")]
    for block in blocks:
        for condition in _conditions(block):
            operator = operators.get(condition.get("operator", ""))
            if operator is not None and operator.warned:
                instead = " ".join(quote(one) for one in sorted(operator.successors))
                yield (
                    f"Operator {operator.name} has been deprecated and will be removed soon. Use"
                    f" these instead: [{instead}]"
                )


def _conditions(block: Json) -> list[Json]:
    if block.__class__ is list:
        return [one for one in block if one.__class__ is dict]
    if block.__class__ is not dict:
        return []
    return [one for name in ("any", "all") for one in block.get(name) or ()]
