"""Policy languages: how policies of a kind become what the engine runs.

Behind them everything knows compiled policies only. Today Kyverno's older kinds are compiled in
`compile/`, the newer ones in `languages/cel/`.
"""

from kyvsim.languages.cel import CEL_KINDS, is_cel_policy
from kyvsim.languages.idle_exceptions import idle_exceptions
from kyvsim.languages.policies import compile_policies
from kyvsim.languages.unknown_resources import unknown_resources

__all__ = ["CEL_KINDS", "compile_policies", "idle_exceptions", "is_cel_policy", "unknown_resources"]
