"""What Kyverno's admission controller reports about ClusterPolicies: warnings, changes, status."""

from collections.abc import Iterator, Mapping

from kyvsim.engine.conditions import operators
from kyvsim.engine.match.criteria import filters
from kyvsim.kubernetes.discovery import parse_kind_selector
from kyvsim.kubernetes.go_text import quote, to_json
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.autogen import compute_rules
from kyvsim.languages.classic.validation.rule_bodies import CEL_ONLY
from kyvsim.languages.classic.validation.rule_parts import has
from kyvsim.model.policy import Policy, Rule

# Warnings about policies that are admitted.
#
# Source of the texts: upstream pkg/validation/policy/validate.go, pkg/deprecations.

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


def clone_variable_warnings(rule: Rule, position: int) -> Iterator[str]:
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


def warnings_before_permissions(rule: Rule) -> Iterator[str]:
    """Yield the warnings about a rule that come before the check of permissions."""
    mutate = rule.data.get("mutate") or {}
    kinds = ((rule.data.get("match") or {}).get("resources") or {}).get("kinds") or ()
    if "Pod" in kinds and mutate.get("patchesJson6902"):
        yield _ON_PODS


def warnings_after_permissions(policy: Policy, rule: Rule) -> Iterator[str]:
    """Yield the warnings about a rule that come after the check of permissions."""
    entries = list(filters(rule.data, "match"))
    kinds = {parse_kind_selector(kind).kind for entry in entries for kind in entry.kinds}
    if kinds == {"Pod"} and _leaves_out_controllers(policy):
        yield _EXCLUDED
    yield from _missing_subresources(rule)
    yield from _deprecated_operators(rule)


def _leaves_out_controllers(policy: Policy) -> bool:
    found = policy.annotations.get(_AUTOGEN)
    if found is None or found == "none":
        return False
    return tuple(sorted(str(found).lower().split(","))) != _EVERY_CONTROLLER


def _missing_subresources(rule: Rule) -> Iterator[str]:
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
        yield from _missing_subresource(to_json(looked_at), named)
    if has(rule.data, "mutate"):
        mutate = rule.data["mutate"]
        named += [target.get("kind", "") for target in mutate.get("targets") or ()]
        yield from _missing_subresource(to_json(mutate), named)


def _missing_subresource(text: str, kinds: list[str]) -> Iterator[str]:
    whole = " ".join(kinds).lower()
    if "replicas" in text and "scale" not in whole:
        yield "You are matching on replicas but not including the scale subresource in the policy."
    if (".status" in text or '"status":' in text) and "status" not in whole:
        yield "You are matching on status but not including the status subresource in the policy."


def _deprecated_operators(rule: Rule) -> Iterator[str]:
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


# Which changes of a generate rule are allowed, so that generated objects are not orphaned.
#
# Source of the rules and texts: upstream pkg/validation/policy/generate.go.

STALE_TARGETS = "changes in the generate rule pattern could result in stale targets"
_FIXED = "changes of immutable fields of a rule spec in a generate rule is disallowed"
_MAY_CHANGE = frozenset(
    {"data", "foreach", "generateExisting", "orphanDownstreamOnPolicyDelete", "synchronize"}
)


def changed_generation(new: Policy, old: Policy) -> tuple[bool, str]:
    """Return whether targets may be left over, and why the change is refused ("" if it is not)."""
    keeps_match = any(
        rule.data["generate"].get("synchronize") is True for rule in _generate_rules(old)
    )
    targets = [
        {
            to_json(
                {
                    name: value
                    for name, value in rule.data["generate"].items()
                    if name not in _MAY_CHANGE
                }
            )
            for rule in _generate_rules(one)
        }
        for one in (old, new)
    ]
    if not targets[0] <= targets[1]:
        return True, ""
    rest = [
        {to_json(_other_fields(rule, keeps_match=keeps_match)) for rule in _generate_rules(one)}
        for one in (old, new)
    ]
    return False, "" if rest[0] <= rest[1] else _FIXED


def _generate_rules(policy: Policy) -> Iterator[Rule]:
    return (rule for rule in policy.rules if has(rule.data, "generate"))


def _other_fields(rule: Rule, *, keeps_match: bool) -> Json:
    left_out = {"generate"} if keeps_match else {"generate", "match"}
    return {name: value for name, value in rule.data.items() if name not in left_out}


def cel_preconditions_problem(rule: Rule, position: int) -> str:
    """Return why a generate rule has no CEL preconditions; the command line takes them.

    upstream: pkg/policy/generate/validate.go
    """
    if not rule.generates or rule.data.get("celPreconditions") is None:
        return ""
    return f"path: spec.rules[{position}].generate..: {CEL_ONLY}"


# Rules as Kyverno writes them into a policy's status.
#
# Its types write some fields though nothing is in them. Source of the fields: upstream
# api/kyverno/v1.

_DERIVED_PREFIX = "autogen-"


def derived_rules(policy: Policy) -> list[Json]:
    """Return the rules that autogen derived, as a status has them."""
    every = compute_rules(policy).every
    return [written_rule(rule.data) for rule in every if rule.name.startswith(_DERIVED_PREFIX)]


def written_rule(rule: Mapping[str, Json]) -> Json:
    """Return a rule with the empty fields that its type always writes."""
    written = dict(rule)
    for name in ("match", "exclude"):
        if rule.get(name) is not None:
            written[name] = _status_match(rule[name])
    if rule.get("context"):
        written["context"] = [_status_entry(one) for one in rule["context"]]
    if rule.get("verifyImages"):
        written["verifyImages"] = [{"validate": {}, **one} for one in rule["verifyImages"]]
    return written


def _status_match(block: Mapping[str, Json]) -> Json:
    filters = {
        name: [{"resources": {}, **one} for one in block[name]]
        for name in ("any", "all")
        if block.get(name)
    }
    return {"resources": {}, **block, **filters}


def _status_entry(entry: Mapping[str, Json]) -> Json:
    if entry.get("apiCall") is None:
        return entry
    return {**entry, "apiCall": {"urlPath": "", **entry["apiCall"]}}
