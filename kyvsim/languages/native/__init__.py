"""Kubernetes' own admission policies, as Kyverno evaluates them: one file for each kind.

Everything but their names is loaded when a policy of them is compiled.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kyvsim.compile import CompiledPolicy, CompileOptions
from kyvsim.kube.objects import Json, metadata
from kyvsim.languages.protocol import Diagnostics, Language
from kyvsim.languages.whole_policy import whole_policy
from kyvsim.model.facts import PolicyFacts, RuleFacts
from kyvsim.model.policy import Policy
from kyvsim.model.source import Document

if TYPE_CHECKING:
    from kyvsim.model.mention import Mention
    from kyvsim.model.ports import System

_GROUP = "admissionregistration.k8s.io"


def _read(data: Json, document: Document) -> tuple[Policy, Diagnostics]:
    facts = PolicyFacts(f"{_GROUP}/v1", has_rules=False)
    name = metadata(data)["name"]
    return whole_policy(data, document, facts, RuleFacts(), rule_name=name), ()


def _lower(policy: Policy, options: CompileOptions) -> tuple[CompiledPolicy | None, Diagnostics]:
    from kyvsim.languages.native.compile import (  # noqa: PLC0415 — slow, for these policies only
        compile_native_policy,
    )

    return compile_native_policy(policy, options)


def _lint(policy: Policy, options: CompileOptions) -> Diagnostics:
    from kyvsim.languages.native.lint import (  # noqa: PLC0415 — slow, for these policies only
        lint_native_policy,
    )

    return lint_native_policy(policy, options)


def _mentions(policy: Policy, _: "System") -> "Iterable[Mention]":
    from kyvsim.languages.native.mentions import mentions  # noqa: PLC0415 — for `equal` only

    return mentions(policy)


LANGUAGE = Language(
    group=_GROUP,
    kinds=frozenset({"ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"}),
    read=_read,
    lower=_lower,
    lint=_lint,
    mentions=_mentions,
)

__all__ = ["LANGUAGE"]
