"""Cleanup policies: what a cluster refuses.

Source of the rules: upstream pkg/validation/cleanuppolicy, api/kyverno/v2/cleanup_policy_types.go.
"""

from collections.abc import Iterator

from kyvsim.kube.go_text import quote
from kyvsim.kube.objects import Json
from kyvsim.kube.standard_cron import is_standard_schedule
from kyvsim.languages.classic.checks.match_blocks import check_match_blocks, user_fields
from kyvsim.languages.classic.checks.refusal import RuleUnderCheck
from kyvsim.match.filters import filters
from kyvsim.model.facts import RuleFacts
from kyvsim.model.policy import Policy, Rule

_LONGEST_NAME = 63
_NOT_ALLOWED = (("imageRegistry", "ImageRegistry"), ("configMap", "ConfigMap"))


def cleanup_problems(policy: Policy) -> Iterator[str]:
    """Yield what is wrong with a cleanup policy, each as `field: what: why`."""
    if len(policy.name.encode()) > _LONGEST_NAME:
        yield f"metadata.name: Too long: may not be more than {_LONGEST_NAME} bytes"
    spec = policy.spec
    for entry in spec.get("context") or ():
        for field, title in _NOT_ALLOWED:
            if entry.get(field) is not None:
                yield f"spec.context: Invalid value: {title} is not allowed in CleanUp Policy"
    yield from _schedule_problem(spec.get("schedule", ""))
    for block in ("match", "exclude"):
        told = list(user_fields(filters(spec, block)))
        yield from told or _block_problems(policy, block)


def _schedule_problem(schedule: Json) -> Iterator[str]:
    if not is_standard_schedule(str(schedule)):
        why = "schedule spec in the cleanupPolicy is not in proper cron format"
        yield f"spec.schedule: Invalid value: {quote(schedule)}: {why}"


def _block_problems(policy: Policy, block: str) -> Iterator[str]:
    data = {block: policy.spec[block]} if policy.spec.get(block) else {}
    kind = "Policy" if policy.namespace else "ClusterPolicy"
    rule = RuleUnderCheck(policy._replace(kind=kind), Rule("", data, ("spec",), RuleFacts()), 0)
    for found in check_match_blocks(rule):
        yield found.message.replace("spec.rules[0].", "spec.", 1)
