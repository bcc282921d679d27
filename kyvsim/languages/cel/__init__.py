"""Kyverno's CEL policy kinds: one file for each kind, and what they share.

Everything but their names is loaded when a policy of them is compiled.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kyvsim.compile import CompiledPolicy, CompileOptions
from kyvsim.kube.discovery import NO_KINDS, KindTable
from kyvsim.kube.objects import Json, metadata
from kyvsim.languages.protocol import Diagnostics, Language
from kyvsim.languages.whole_policy import whole_policy
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.payload import Payload, PayloadMode
from kyvsim.model.policy import Policy
from kyvsim.model.ports import System
from kyvsim.model.source import Document
from kyvsim.schema.facts import CEL_GROUP

if TYPE_CHECKING:
    from kyvsim.languages.cel.autogen import Variant
    from kyvsim.languages.cel.existing_objects import ExistingChange
    from kyvsim.languages.cel.expressions import ExpressionProblem
    from kyvsim.languages.cel.webhook_facts import WebhookFacts
    from kyvsim.model.mention import Mention

_EVALUATED = (
    "ValidatingPolicy",
    "MutatingPolicy",
    "GeneratingPolicy",
    "DeletingPolicy",
    "ImageValidatingPolicy",
)
_NAMES = frozenset((*_EVALUATED, *(f"Namespaced{name}" for name in _EVALUATED)))


def _read(data: Json, document: Document) -> tuple[Policy, Diagnostics]:
    from kyvsim.languages.cel.facts import (  # noqa: PLC0415 — for policies in CEL only
        policy_facts,
        rule_facts,
    )

    kind, spec = data["kind"], data["spec"]
    name = metadata(data)["name"] if kind.endswith("DeletingPolicy") else ""
    facts = policy_facts(kind, spec)
    return whole_policy(data, document, facts, rule_facts(spec), rule_name=name), ()


def _lower(policy: Policy, options: CompileOptions) -> tuple[CompiledPolicy | None, Diagnostics]:
    from kyvsim.languages.cel.compile import (  # noqa: PLC0415 — slow, for policies in CEL only
        compile_cel_policy,
    )

    return compile_cel_policy(policy, options)


def _doubt(policy: Policy) -> Diagnostics:
    from kyvsim.languages.cel.compile import (  # noqa: PLC0415 — slow, for policies in CEL only
        idle_parts,
    )

    return tuple(idle_parts(policy))


def _lint(policy: Policy, options: CompileOptions) -> Diagnostics:
    from kyvsim.languages.cel.lint import (  # noqa: PLC0415 — slow, for policies in CEL only
        lint_cel_policy,
    )

    return lint_cel_policy(policy, options)


def _declare(options: CompileOptions) -> None:
    if not options.cel_exceptions:
        return
    from kyvsim.languages.cel.exceptions import (  # noqa: PLC0415 — slow, for policies in CEL only
        declare_cel_exceptions,
    )

    declare_cel_exceptions(options)


def _mentions(policy: Policy, system: System) -> "Iterable[Mention]":
    from kyvsim.languages.cel.mentions import (  # noqa: PLC0415 — for `equal` only
        mentions,
    )

    return mentions(policy, system)


LANGUAGE = Language(
    group=CEL_GROUP,
    kinds=_NAMES,
    read=_read,
    lower=_lower,
    doubt=_doubt,
    lint=_lint,
    declare=_declare,
    mentions=_mentions,
)


def expression_problems(policy: Policy, options: CompileOptions) -> tuple["ExpressionProblem", ...]:
    """Return the expressions of a policy that cannot be compiled."""
    from kyvsim.languages.cel.compile import (  # noqa: PLC0415 — slow, for policies in CEL only
        problems_of,
    )

    return problems_of(policy, options)


def derived_specs(policy: Policy) -> "tuple[Variant, ...]":
    """Return what a policy becomes for the controllers of Pods, besides itself."""
    from kyvsim.languages.cel.compile import (  # noqa: PLC0415 — slow, for policies in CEL only
        variants_of,
    )

    return variants_of(policy)


def pinning_of(policy: Policy, options: CompileOptions) -> CompiledPolicy:
    """Return what an ImageValidatingPolicy does before images are validated: it pins them."""
    from kyvsim.languages.cel.compile import (  # noqa: PLC0415 — slow, for policies in CEL only
        pinning,
    )

    return pinning(policy, options)


def existing_changes_of(policy: Policy, options: CompileOptions) -> tuple["ExistingChange", ...]:
    """Return what each variant of a policy makes of objects that are there, its own first."""
    from kyvsim.languages.cel.compile import (  # noqa: PLC0415 — slow, for policies in CEL only
        existing_changes,
    )

    return existing_changes(policy, options)


def usable_payloads(
    payloads: tuple[Payload, ...],
) -> tuple[tuple[Payload, ...], tuple[Diagnostic, ...]]:
    """Return the payloads that are what their mode says, and what is to be told of all."""
    if all(one.mode is PayloadMode.JSON for one in payloads):
        return payloads, ()
    from kyvsim.languages.cel.payloads import (  # noqa: PLC0415 — slow, for requests only
        checked_payloads,
    )

    return checked_payloads(payloads)


def resources_of(policy: Policy) -> tuple[tuple[str, str, str], ...]:
    """Return group, version and resource of all that a policy names."""
    from kyvsim.languages.cel.webhook_facts import (  # noqa: PLC0415 — slow, for policies in CEL only
        matched_resources,
    )

    return tuple(matched_resources(policy.spec))


def webhook_facts_of(policy: Policy, kinds: KindTable = NO_KINDS) -> "WebhookFacts":
    """Return what the webhook needs to know through which a policy is asked."""
    from kyvsim.languages.cel.webhook_facts import (  # noqa: PLC0415 — slow, for policies in CEL only
        webhook_facts,
    )

    return webhook_facts(policy, derived_specs(policy), kinds)


def is_cel_policy(policy: Policy) -> bool:
    """Return whether a policy is of one of these kinds."""
    return policy.kind in _NAMES


__all__ = [
    "LANGUAGE",
    "derived_specs",
    "existing_changes_of",
    "expression_problems",
    "is_cel_policy",
    "pinning_of",
    "resources_of",
    "webhook_facts_of",
]
