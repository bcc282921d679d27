"""Kubernetes' own admission policies, as Kyverno evaluates them."""

from kyvsim.kubernetes.objects import Json, metadata
from kyvsim.languages import Diagnostics, Language, single_rule_policy
from kyvsim.languages.native.compile import compile_native_policy
from kyvsim.model.policy import Policy, PolicyFacts, RuleFacts
from kyvsim.model.source import Document
from kyvsim.policy.cel_policy import read_cel_policy
from kyvsim.schema.kinds import NATIVE_GROUP


def _read(data: Json, document: Document) -> tuple[Policy, Diagnostics]:
    facts = PolicyFacts(f"{NATIVE_GROUP}/v1", has_rules=False)
    name = metadata(data)["name"]
    tree = read_cel_policy(data["spec"])
    return single_rule_policy(data, document, facts, RuleFacts(), rule_name=name, cel=tree), ()


LANGUAGE = Language(read=_read, compile=compile_native_policy)

__all__ = ["LANGUAGE"]
