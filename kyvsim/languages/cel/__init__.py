"""Kyverno's CEL policy kinds: one module for each kind, and shared code."""

from kyvsim.engine.compile import CompiledPolicy, CompileOptions
from kyvsim.kubernetes.cron import next_times
from kyvsim.kubernetes.objects import Json, metadata
from kyvsim.languages import Diagnostics, Language, single_rule_policy
from kyvsim.languages.cel.compile import (
    compile_cel_policy,
    existing_changes,
    pinning,
    problems_of,
    unused_parts,
    webhook_facts_of,
)
from kyvsim.languages.cel.exceptions import declare_cel_exceptions
from kyvsim.languages.cel.facts import matched_resources, policy_facts, rule_facts
from kyvsim.languages.cel.payloads import checked_payloads
from kyvsim.model.policy import Policy
from kyvsim.model.source import Document
from kyvsim.policy.cel_autogen import PolicyVariant
from kyvsim.policy.cel_policy import read_cel_policy


def _read(data: Json, document: Document) -> tuple[Policy, Diagnostics]:
    kind, spec = data["kind"], read_cel_policy(data["spec"])
    name = metadata(data)["name"] if kind.endswith("DeletingPolicy") else ""
    facts = policy_facts(kind, spec)
    of_rule = rule_facts(spec)
    return single_rule_policy(data, document, facts, of_rule, rule_name=name, cel=spec), ()


LANGUAGE = Language(
    read=_read,
    compile=compile_cel_policy,
    suspicious=lambda policy: tuple(unused_parts(policy)),
    declare=declare_cel_exceptions,
    check_payloads=checked_payloads,
    next_times=next_times,
)


def resources_of(policy: Policy) -> tuple[tuple[str, str, str], ...]:
    """Return group, version and resource of everything that a policy names."""
    return tuple(matched_resources(policy.cel))


__all__ = [
    "LANGUAGE",
    "CompileOptions",
    "CompiledPolicy",
    "PolicyVariant",
    "existing_changes",
    "pinning",
    "problems_of",
    "resources_of",
    "webhook_facts_of",
]
