"""What may stand and change in a generate rule, so that objects it made are not forgotten.

Source of the rules and texts: upstream pkg/validation/policy/generate.go.
"""

from collections.abc import Iterator

from kyvsim.kubernetes.go_text import to_json
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.checks.refusal import has
from kyvsim.languages.classic.checks.rule_bodies import CEL_ONLY
from kyvsim.model.policy import Policy, Rule

STALE_TARGETS = "changes in the generate rule pattern could result in stale targets"
_FIXED = "changes of immutable fields of a rule spec in a generate rule is disallowed"
_MAY_CHANGE = frozenset(
    {"data", "foreach", "generateExisting", "orphanDownstreamOnPolicyDelete", "synchronize"}
)


def changed_generation(new: Policy, old: Policy) -> tuple[bool, str]:
    """Return whether targets may be left over, and why the change is refused ("" if it is not)."""
    keeps_match = any(rule.data["generate"].get("synchronize") is True for rule in _rules(old))
    targets = [{to_json(_target(rule)) for rule in _rules(one)} for one in (old, new)]
    if not targets[0] <= targets[1]:
        return True, ""
    rest = [
        {to_json(_rest(rule, keeps_match=keeps_match)) for rule in _rules(one)}
        for one in (old, new)
    ]
    return False, "" if rest[0] <= rest[1] else _FIXED


def _rules(policy: Policy) -> Iterator[Rule]:
    return (rule for rule in policy.rules if has(rule.data, "generate"))


def _target(rule: Rule) -> Json:
    return {name: value for name, value in rule.data["generate"].items() if name not in _MAY_CHANGE}


def _rest(rule: Rule, *, keeps_match: bool) -> Json:
    left_out = {"generate"} if keeps_match else {"generate", "match"}
    return {name: value for name, value in rule.data.items() if name not in left_out}


def celled_generation(rule: Rule, position: int) -> str:
    """Return why a generate rule has no CEL preconditions; the command line takes them.

    upstream: pkg/policy/generate/validate.go
    """
    if not rule.generates or rule.data.get("celPreconditions") is None:
        return ""
    return f"path: spec.rules[{position}].generate..: {CEL_ONLY}"
