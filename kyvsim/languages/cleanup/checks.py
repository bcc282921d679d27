"""Cleanup policies: what a cluster refuses.

Source of the rules: upstream pkg/validation/cleanuppolicy, api/kyverno/v2/cleanup_policy_types.go.
"""

from collections.abc import Iterator
from dataclasses import replace

from kyvsim.engine.match.criteria import filters
from kyvsim.kubernetes.cron import is_standard_schedule
from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.checks.match_blocks import check_match_blocks, user_fields
from kyvsim.languages.classic.checks.refusal import RuleUnderCheck, texts
from kyvsim.languages.classic.checks.variables import (
    invalid_cleanup_variables,
    syntax_problem,
    unreadable_variables,
)
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.policy import Policy, Rule, RuleFacts
from kyvsim.model.source import Path

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
    yield from (message for message, *_ in variable_problems(policy))


def variable_problems(policy: Policy) -> Iterator[tuple[str, Path, str]]:
    """Yield what is wrong with variables of a policy's conditions, where, and what helps.

    A cluster refuses the policy with it.
    """
    start = f"variable substitution failed for policy {policy.name}: "
    for message, path, note in invalid_cleanup_variables(policy.spec.get("conditions")):
        yield f"{start}{message}", ("spec", "conditions", *path), note


def expression_problems(policy: Policy) -> Iterator[Diagnostic]:
    """KV231: a variable in a condition, KV232: one in a context entry, that is not JMESPath."""

    def refused(code: str, text: str, path: Path, note: str) -> Diagnostic:
        excerpt = (note,) if note else ()
        return Diagnostic(code, Severity.ERROR, text, policy.document.locate(path), excerpt)

    for text, path, note in variable_problems(policy):
        yield refused("KV231", text, path, note)
    context = policy.spec.get("context")
    for problem, path, note in (*unreadable_variables(context), *_unreadable_queries(context)):
        text = f"a context entry can never be evaluated: {problem}"
        yield refused("KV232", text, ("spec", "context", *path), note)


def _unreadable_queries(context: Json) -> Iterator[tuple[str, Path, str]]:
    for path, text in texts(context):
        query = text.strip()
        problem = ""
        if path[-1:] == ("jmesPath",) and "{{" not in text:
            problem = syntax_problem(query) if query else ""
        if problem:
            yield f"`{query}` is not JMESPath: {problem}", path, ""


def _schedule_problem(schedule: Json) -> Iterator[str]:
    if not is_standard_schedule(str(schedule)):
        why = "schedule spec in the cleanupPolicy is not in proper cron format"
        yield f"spec.schedule: Invalid value: {quote(schedule)}: {why}"


def _block_problems(policy: Policy, block: str) -> Iterator[str]:
    data = {block: policy.spec[block]} if policy.spec.get(block) else {}
    kind = "Policy" if policy.namespace else "ClusterPolicy"
    rule = RuleUnderCheck(replace(policy, kind=kind), Rule("", data, ("spec",), RuleFacts()), 0)
    for found in check_match_blocks(rule):
        yield found.message.replace("spec.rules[0].", "spec.", 1)
