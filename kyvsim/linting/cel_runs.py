"""The checks of expressions in CEL that runs need, too: tests that are not what they seem to be."""

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from kyvsim.cel.kyverno.environments import kyverno_environment
from kyvsim.cel.parser import ExpressionSyntaxError
from kyvsim.languages.cel.compile import extracts_templates
from kyvsim.linting.cel_fields import field_problems
from kyvsim.linting.cel_logic import impossible_texts, texts_in_order
from kyvsim.linting.cel_mutations import (
    elements_without_keys,
    misread_paths_in_cel,
    unknown_operations,
)
from kyvsim.linting.cel_policy import CelPolicy, expressions_of
from kyvsim.linting.cel_types import type_problems
from kyvsim.linting.descriptions import understated_cel_policies
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy
from kyvsim.model.ports import System, still_system
from kyvsim.policy.cel_autogen import is_about_pods, mutation_variants, variants

_OF_OTHER_OBJECTS: Final = frozenset({"KV323"})
"""An optional field is an error for some objects, whose results name the remedy."""


def checked_policy(
    policy: Policy, system: System, forbidden: tuple[tuple[str, str], ...] = ()
) -> CelPolicy:
    """Return a policy of Kyverno's CEL kinds for checks; raises ExpressionSyntaxError."""
    env = kyverno_environment(policy.kind, system.clock, system.entropy, release=system.release)
    kind = policy.kind.removeprefix("Namespaced")
    # Autogen rewrites the expressions of these kinds as strings.
    derivable = kind in {"ValidatingPolicy", "ImageValidatingPolicy"}
    return CelPolicy(
        policy=policy,
        env=env,
        expressions=expressions_of(policy.cel, env),
        derivable=derivable,
        extracts=extracts_templates(policy, system.release),
        is_derived=derivable and any(True for _ in variants(policy.cel)),
        is_moved=kind == "MutatingPolicy" and any(True for _ in mutation_variants(policy.cel)),
        is_about_pods=is_about_pods(policy.cel.match_constraints),
        forbidden=forbidden,
    )


_CHECKS: Final = (
    texts_in_order,
    impossible_texts,
    type_problems,
    field_problems,
    elements_without_keys,
    misread_paths_in_cel,
    unknown_operations,
    understated_cel_policies,
)


def misread_expressions(policy: Policy) -> Iterator[Diagnostic]:
    """Yield the tests of a policy that hold for no object or for all, or compare other values."""
    with contextlib.suppress(ExpressionSyntaxError):
        checked = checked_policy(policy, still_system(datetime(2000, 1, 1, tzinfo=UTC)))
        for check in _CHECKS:
            yield from (one for one in check(checked) if one.code not in _OF_OTHER_OBJECTS)
