"""ClusterPolicy and Policy of `kyverno.io`: rules with match blocks, patterns and JMESPath.

One file for each rule type in `rules/`; `images/`, `manifests/` and `pod_security/` are what single
rule types consist of. `checks/` is what upstream refuses, `advice/` what `lint` warns of,
`doubts.py` what every command does.
"""

from kyvsim.languages.classic.autogen import compute_rules
from kyvsim.languages.classic.checks import check_policy
from kyvsim.languages.classic.doubts import doubts_about
from kyvsim.languages.classic.lower import declare_exceptions
from kyvsim.languages.classic.policy import lower_policy, needs_request, read
from kyvsim.languages.protocol import Language

LANGUAGE = Language(
    read=read,
    lower=lower_policy,
    check=lambda policy, options: check_policy(policy, options.kinds, simulated=options.simulated),
    doubt=doubts_about,
    declare=declare_exceptions,
    needs_request=needs_request,
    derive=lambda policy: compute_rules(policy).every,
)

__all__ = ["LANGUAGE"]
