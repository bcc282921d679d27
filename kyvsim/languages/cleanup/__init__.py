"""CleanupPolicy and ClusterCleanupPolicy of `kyverno.io`: what goes at which times.

What compiles them is loaded when a policy of them is compiled.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kyvsim.compile import CompiledPolicy, CompileOptions
from kyvsim.compile.remark import uncompiled
from kyvsim.expr import QuerySyntaxError
from kyvsim.kube.objects import Json, metadata
from kyvsim.languages.protocol import Diagnostics, Language
from kyvsim.languages.whole_policy import whole_policy
from kyvsim.match.filters import filters
from kyvsim.match.kinds import kinds_of_block
from kyvsim.model.facts import PolicyFacts, RuleFacts
from kyvsim.model.policy import Policy
from kyvsim.model.source import Document
from kyvsim.schema.facts import RULES_GROUP

if TYPE_CHECKING:
    from kyvsim.model.mention import Mention
    from kyvsim.model.ports import System


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
    return whole_policy(data, document, facts, blocks, rule_name=metadata(data)["name"]), ()


def _lower(policy: Policy, options: CompileOptions) -> tuple[CompiledPolicy | None, Diagnostics]:
    from kyvsim.languages.cleanup.lower import (  # noqa: PLC0415 — for these policies only
        compile_cleanup,
    )

    try:
        return compile_cleanup(policy, options), ()
    except (QuerySyntaxError, ValueError) as error:
        return None, (uncompiled(policy, error),)


def _lint(policy: Policy, options: CompileOptions) -> Diagnostics:
    from kyvsim.languages.classic.lint import with_advice  # noqa: PLC0415 — all advice, for `lint` only
    from kyvsim.languages.cleanup.checks import expression_problems  # noqa: PLC0415 — likewise

    problems = tuple(expression_problems(policy)) or _lower(policy, options)[1]
    return with_advice(policy, problems)


def _mentions(policy: Policy, _: "System") -> "Iterable[Mention]":
    from kyvsim.languages.classic.mentions import mentions  # noqa: PLC0415 — for `equal` only

    return mentions(policy)


LANGUAGE = Language(
    group=RULES_GROUP,
    kinds=frozenset({"ClusterCleanupPolicy", "CleanupPolicy"}),
    read=_read,
    lower=_lower,
    lint=_lint,
    mentions=_mentions,
)

__all__ = ["LANGUAGE"]
