"""Kubernetes' own admission policies, as Kyverno evaluates them: one file for each kind.

Everything but their names is loaded when a policy of them is compiled.
"""

from kyvsim.compile import CompiledPolicy, CompileOptions
from kyvsim.kube.objects import Json, metadata
from kyvsim.languages.protocol import Language, Told
from kyvsim.languages.whole_policy import whole_policy
from kyvsim.model.facts import PolicyFacts, RuleFacts
from kyvsim.model.policy import Policy
from kyvsim.model.source import Document

_GROUP = "admissionregistration.k8s.io"


def _read(data: Json, document: Document) -> tuple[Policy, Told]:
    facts = PolicyFacts(f"{_GROUP}/v1", has_rules=False)
    name = metadata(data)["name"]
    return whole_policy(data, document, facts, RuleFacts(), rule_name=name), ()


def _lower(policy: Policy, options: CompileOptions) -> tuple[CompiledPolicy | None, Told]:
    from kyvsim.languages.native.compile import (  # noqa: PLC0415 — slow, for these policies only
        compile_native_policy,
    )

    return compile_native_policy(policy, options)


def _lint(policy: Policy, options: CompileOptions) -> Told:
    from kyvsim.languages.native.lint import (  # noqa: PLC0415 — slow, for these policies only
        lint_native_policy,
    )

    return lint_native_policy(policy, options)


LANGUAGE = Language(
    group=_GROUP,
    kinds=frozenset({"ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"}),
    read=_read,
    lower=_lower,
    lint=_lint,
)

__all__ = ["LANGUAGE"]
