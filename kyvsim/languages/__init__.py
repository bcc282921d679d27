"""Policy languages: how policies of a kind become what the engine runs.

Behind them everything knows compiled policies and facts only. A language is a folder with its
`LANGUAGE`, and a line of the table `LANGUAGES`, by which it is loaded.
"""

from kyvsim.languages.policies import (
    CEL_POLICIES,
    CLASSIC_POLICIES,
    CLEANUP_POLICIES,
    LANGUAGES,
    NATIVE_POLICIES,
    READERS,
    compile_policies,
    derived_rules,
    is_cel_policy,
    kinds_of,
    language_of,
    needs_request,
    usable_payloads,
)

__all__ = [
    "CEL_POLICIES",
    "CLASSIC_POLICIES",
    "CLEANUP_POLICIES",
    "LANGUAGES",
    "NATIVE_POLICIES",
    "READERS",
    "compile_policies",
    "derived_rules",
    "is_cel_policy",
    "kinds_of",
    "language_of",
    "needs_request",
    "usable_payloads",
]
