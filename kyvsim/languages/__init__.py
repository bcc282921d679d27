"""Policy languages: how policies of a kind become what the engine runs.

Behind them everything knows compiled policies and facts only. A language is a folder with its
`LANGUAGE`, and its place in `LANGUAGES`.
"""

from kyvsim.languages.cel import is_cel_policy, usable_payloads
from kyvsim.languages.idle.resources import unknown_resources
from kyvsim.languages.policies import (
    LANGUAGES,
    READERS,
    compile_policies,
    derived_rules,
    language_of,
    lint_policy,
    mentions_of,
    mentions_of_exception,
    needs_request,
)

__all__ = [
    "LANGUAGES",
    "READERS",
    "compile_policies",
    "derived_rules",
    "is_cel_policy",
    "language_of",
    "lint_policy",
    "mentions_of",
    "mentions_of_exception",
    "needs_request",
    "unknown_resources",
    "usable_payloads",
]
