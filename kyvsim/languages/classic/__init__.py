"""ClusterPolicy and Policy of `kyverno.io`: rules with match blocks, patterns and JMESPath.

One module for each rule type in `rules/`, or for two that share much; `images.py` and
`pod_security/` are parts of single types. `validation/` rejects policies like upstream, and
`suspicious.py` has the warnings of every command.
"""

from kyvsim.languages import Language
from kyvsim.languages.classic.autogen import compute_rules
from kyvsim.languages.classic.compile import (
    compile_classic_policy,
    declare_exceptions,
    needs_request,
    read,
)
from kyvsim.languages.classic.suspicious import suspicious_parts
from kyvsim.languages.classic.validation import check_policy

LANGUAGE = Language(
    read=read,
    compile=compile_classic_policy,
    validate=lambda policy, options: check_policy(
        policy, options.kinds, simulated=options.simulated, release=options.system.release
    ),
    suspicious=suspicious_parts,
    declare=declare_exceptions,
    needs_request=needs_request,
    derive=lambda policy: compute_rules(policy).every,
)

__all__ = ["LANGUAGE"]
