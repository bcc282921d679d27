"""ClusterPolicy and Policy of `kyverno.io`: rules with match blocks, patterns and JMESPath.

One file for each rule type in `rules/`; `images/`, `manifests/` and `pod_security/` are what single
rule types consist of. `checks/` is what upstream refuses, `advice/` what `lint` warns of, `doubts/`
what every command does.
"""

from kyvsim.compile import CompileOptions
from kyvsim.languages.classic.autogen import compute_rules
from kyvsim.languages.classic.exceptions import declare_exceptions
from kyvsim.languages.classic.policy import compile_checked
from kyvsim.languages.classic.read import read
from kyvsim.languages.classic.requests import needs_request
from kyvsim.languages.protocol import Language, Told
from kyvsim.model.policy import Policy


def _lint(policy: Policy, options: CompileOptions) -> Told:
    from kyvsim.languages.classic.lint import lint_policy  # noqa: PLC0415 — all advice, for `lint` only

    return lint_policy(policy, options)


LANGUAGE = Language(
    kinds=frozenset(
        f"kyverno.io/{version}/{kind}"
        for version in ("v1", "v2beta1")
        for kind in ("ClusterPolicy", "Policy")
    ),
    read=read,
    compile=compile_checked,
    lint=_lint,
    declare=declare_exceptions,
    needs_request=needs_request,
    derive=lambda policy: compute_rules(policy).every,
)

__all__ = ["LANGUAGE"]
