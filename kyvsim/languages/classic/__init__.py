"""ClusterPolicy and Policy of `kyverno.io`: rules with match blocks, patterns and JMESPath.

One file for each rule type in `rules/`; `images/`, `manifests/` and `pod_security/` are what single
rule types consist of. `checks/` is what upstream refuses, `advice/` what `lint` warns of, `doubts/`
what every command does.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kyvsim.compile import CompileOptions
from kyvsim.languages.classic.autogen import compute_rules
from kyvsim.languages.classic.checks import check_policy
from kyvsim.languages.classic.doubts import doubts_about
from kyvsim.languages.classic.exceptions import declare_exceptions
from kyvsim.languages.classic.policy import lower_policy
from kyvsim.languages.classic.read import read
from kyvsim.languages.classic.requests import needs_request
from kyvsim.languages.protocol import Diagnostics, Language
from kyvsim.model.policy import Policy
from kyvsim.model.ports import System
from kyvsim.schema.facts import RULES_GROUP

if TYPE_CHECKING:
    from kyvsim.model.mention import Mention


def _lint(policy: Policy, options: CompileOptions) -> Diagnostics:
    from kyvsim.languages.classic.lint import lint_policy  # noqa: PLC0415 — all advice, for `lint` only

    return lint_policy(policy, options)


def _mentions(policy: Policy, _: System) -> "Iterable[Mention]":
    from kyvsim.languages.classic.mentions import mentions  # noqa: PLC0415 — for `equal` only

    return mentions(policy)


LANGUAGE = Language(
    group=RULES_GROUP,
    kinds=frozenset({"ClusterPolicy", "Policy"}),
    read=read,
    check=lambda policy, options: check_policy(policy, options.kinds, simulated=options.simulated),
    lower=lower_policy,
    doubt=doubts_about,
    lint=_lint,
    declare=declare_exceptions,
    needs_request=needs_request,
    derive=lambda policy: compute_rules(policy).every,
    mentions=_mentions,
)

__all__ = ["LANGUAGE"]
