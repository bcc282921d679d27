"""CleanupPolicy and ClusterCleanupPolicy of `kyverno.io`: what goes at which times."""

from kyvsim.engine.match.criteria import filters, kinds_of_block
from kyvsim.kubernetes.objects import Json, metadata
from kyvsim.languages.cleanup.compile import lower_cleanup
from kyvsim.languages.language import Diagnostics, Language, single_rule_policy
from kyvsim.model.policy import Policy, PolicyFacts, RuleFacts
from kyvsim.model.source import Document
from kyvsim.policy.read import read_cleanup_rule


def _read(data: Json, document: Document) -> tuple[Policy, Diagnostics]:
    """Return a policy; the reference names its one result after it."""
    spec = data["spec"]
    facts = PolicyFacts(
        api_version="kyverno.io/v2",
        schedule=str(spec.get("schedule") or ""),
        propagation=str(spec.get("deletionPropagationPolicy") or "Background"),
    )
    blocks = RuleFacts(
        match=tuple(filters(spec, "match")),
        exclude=tuple(filters(spec, "exclude")),
        kinds=kinds_of_block(spec.get("match") or {}),
    )
    tree, name = read_cleanup_rule(spec, ("spec",)), metadata(data)["name"]
    return single_rule_policy(data, document, facts, blocks, rule_name=name, tree=tree), ()


LANGUAGE = Language(read=_read, compile=lower_cleanup)

__all__ = ["LANGUAGE"]
