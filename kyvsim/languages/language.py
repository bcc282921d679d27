"""What a policy language is: a value that reads policies of its kinds and compiles them.

Other packages know compiled policies and facts (`kyvsim.model.policy`), and no language.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kyvsim.engine.compile import CompiledPolicy, CompileOptions
from kyvsim.kubernetes.objects import Json, annotations, metadata, text_field
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy, PolicyFacts, PolicyReader, Rule, RuleFacts
from kyvsim.model.request import Payload
from kyvsim.model.source import Document
from kyvsim.policy.rule import NO_RULE, RuleNode

if TYPE_CHECKING:
    # Most runs have no policy in CEL.
    from kyvsim.policy.cel_policy import CelPolicyNode

Diagnostics: TypeAlias = tuple[Diagnostic, ...]


class Language(NamedTuple):
    """One policy language."""

    read: PolicyReader
    """Makes a policy, with its facts, from data that has the right shape."""
    compile: Callable[[Policy, CompileOptions], tuple[CompiledPolicy | None, Diagnostics]]
    """Compiles a policy; None if it cannot be used, with the errors."""
    validate: Callable[[Policy, CompileOptions], Diagnostics] = lambda _policy, _options: ()
    """Returns the errors for which a cluster refuses a policy; not called for policies that a
    cluster has admitted."""
    suspicious: Callable[[Policy], Diagnostics] = lambda _: ()
    """Returns the warnings about a policy that compiles, which every command reports; not called
    for admitted policies either."""
    declare: Callable[[CompileOptions], None] = lambda _: None
    """Declares the exceptions for its policies to the coverage listener."""
    needs_request: Callable[[Policy], bool] = lambda _: False
    """Returns whether results of a policy depend on more of a request than its object."""
    derive: Callable[[Policy], tuple[Rule, ...]] = lambda policy: policy.rules
    """Returns the rules of a policy with those that are derived from them."""
    check_payloads: Callable[[tuple[Payload, ...]], tuple[tuple[Payload, ...], Diagnostics]] = (
        lambda payloads: (payloads, ())
    )
    """Returns the payloads that its policies can evaluate, and diagnostics about all."""


# Documents → policies without rules: their whole `spec` is their one rule.


def single_rule_policy(
    data: Json,
    document: Document,
    facts: PolicyFacts,
    of_rule: RuleFacts,
    *,
    rule_name: str = "",
    tree: RuleNode = NO_RULE,
    cel: "CelPolicyNode | None" = None,
) -> Policy:
    """Return a policy with one rule, which has the policy's specification."""
    return Policy(
        kind=data["kind"],
        name=metadata(data)["name"],
        namespace=text_field(metadata(data), "namespace"),
        annotations=annotations(data),
        spec=data["spec"],
        rules=(Rule(rule_name, data["spec"], ("spec",), of_rule, tree),),
        document=document,
        facts=facts,
        cel_tree=cel,
    )
