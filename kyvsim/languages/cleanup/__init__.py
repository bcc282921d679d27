"""CleanupPolicy and ClusterCleanupPolicy of `kyverno.io`: deletion of objects by schedule."""

from kyvsim.engine.match import kinds_of_block
from kyvsim.kubernetes.cron import next_times
from kyvsim.kubernetes.objects import Json, metadata
from kyvsim.languages import Diagnostics, Language, single_rule_policy
from kyvsim.languages.cleanup.compile import lower_cleanup
from kyvsim.model.policy import Policy, PolicyFacts, RuleFacts
from kyvsim.model.source import Document
from kyvsim.policy.rule import read_cleanup_rule


def _read(data: Json, document: Document) -> tuple[Policy, Diagnostics]:
    """Return a policy; in the reference, its only result has its name."""
    spec = data["spec"]
    facts = PolicyFacts(
        api_version="kyverno.io/v2",
        schedule=str(spec.get("schedule") or ""),
        propagation=str(spec.get("deletionPropagationPolicy") or "Background"),
    )
    tree, name = read_cleanup_rule(spec, ("spec",)), metadata(data)["name"]
    of_rule = RuleFacts(kinds=kinds_of_block(tree.match))
    return single_rule_policy(data, document, facts, of_rule, rule_name=name, tree=tree), ()


LANGUAGE = Language(read=_read, compile=lower_cleanup, next_times=next_times)

__all__ = ["LANGUAGE"]
