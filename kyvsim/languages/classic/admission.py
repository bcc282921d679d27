"""What Kyverno's admission controller reports about ClusterPolicies: warnings, changes, status."""

from collections.abc import Iterator, Mapping

from kyvsim.engine.conditions import operators
from kyvsim.kubernetes.discovery import parse_kind_selector
from kyvsim.kubernetes.go_text import quote, to_json
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.autogen import compute_rules
from kyvsim.languages.classic.validation.rule_bodies import CEL_ONLY
from kyvsim.model.policy import Policy, Rule

# Warnings about policies that are admitted.
#
# Source of the texts: upstream pkg/validation/policy/validate.go, pkg/deprecations.

_ACTIONS = "Validation failure actions enforce/audit are deprecated, use Enforce/Audit instead."
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
    places = [(policy.tree.validation_failure_action, policy.tree.overrides)]
    for rule in policy.rules:
        validate = rule.tree.validate
        if validate and validate.failure_action:
            places.append((validate.failure_action, validate.overrides))
    for action, overrides in places:
        if not {action, *(one.action for one in overrides)}.isdisjoint({"enforce", "audit"}):
            yield _ACTIONS


def clone_variable_warnings(rule: Rule, position: int) -> Iterator[str]:
    """Yield that a target's kind or source depends on the trigger."""
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
        yield _ON_PODS


def warnings_after_permissions(policy: Policy, rule: Rule) -> Iterator[str]:
    """Yield the warnings about a rule that come after the check of permissions."""
    texts = (kind for one in rule.tree.match.filters for kind in one.kinds)
    kinds = {parse_kind_selector(text).kind for text in texts}
    controllers = policy.annotations.get(_AUTOGEN, "none")
    listed = sorted(str(controllers).lower().split(","))
    if kinds == {"Pod"} and controllers != "none" and listed != [*_EVERY_CONTROLLER]:
        yield _EXCLUDED
    yield from _missing_subresources(rule)
    yield from _deprecated_operators(rule)


def _missing_subresources(rule: Rule) -> Iterator[str]:
    """Yield that a rule reads what only subresources change, but does not match those."""
    named = [kind for one in rule.tree.filters for kind in one.kinds]
    for section in ("validate", "mutate"):
        if section not in rule.tree.operations:
            continue
        body = rule.data[section]
        if section == "validate" and body.get("deny") is not None:
            body = {**body, "deny": {}}
        if section == "mutate":
            named += [target.get("kind", "") for target in body.get("targets") or ()]
        text, kinds = to_json(body), " ".join(named).lower()
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
    for block in filter(None, blocks):
        for condition in block.conditions:
            operator = operators.get(condition.operator)
            if operator is not None and operator.warned:
                instead = " ".join(quote(one) for one in sorted(operator.successors))
                yield (
                    f"Operator {operator.name} has been deprecated and will be removed soon. Use"
                    f" these instead: [{instead}]"
                )


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
    before, after = (
        [rule.data for rule in policy.rules if "generate" in rule.tree.operations]
        for policy in (old, new)
    )

    def targets(rules: list[Json]) -> set[str]:
        return {to_json(_without(rule["generate"], _MAY_CHANGE)) for rule in rules}

    if not targets(before) <= targets(after):
        return True, ""
    keeps_match = any(rule["generate"].get("synchronize") is True for rule in before)
    free = frozenset({"generate"} if keeps_match else {"generate", "match"})
    rest = {to_json(_without(rule, free)) for rule in after}
    return False, "" if all(to_json(_without(rule, free)) in rest for rule in before) else _FIXED


def _without(data: Mapping[str, Json], names: frozenset[str]) -> dict[str, Json]:
    return {name: value for name, value in data.items() if name not in names}


def cel_preconditions_problem(rule: Rule, position: int) -> str:
    """Return why a generate rule has no CEL preconditions; the command line takes them.

    upstream: pkg/policy/generate/validate.go
    """
    if not rule.generates or rule.tree.data.get("celPreconditions") is None:
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
        block = rule.get(name)
        if block is not None:
            groups = {
                group: [{"resources": {}, **one} for one in block[group]]
                for group in ("any", "all")
                if block.get(group)
            }
            written[name] = {"resources": {}, **block, **groups}
    if rule.get("context"):
        written["context"] = [
            entry
            if entry.get("apiCall") is None
            else {**entry, "apiCall": {"urlPath": "", **entry["apiCall"]}}
            for entry in rule["context"]
        ]
    if rule.get("verifyImages"):
        written["verifyImages"] = [{"validate": {}, **one} for one in rule["verifyImages"]]
    return written
