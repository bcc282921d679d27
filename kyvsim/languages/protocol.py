"""What a policy language is: a value that reads policies of its kinds and compiles them.

Everything behind knows compiled policies and facts (`kyvsim.model.facts`), and no language.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from kyvsim.compile import CompiledPolicy, CompileOptions
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.reading import PolicyReader

Told: TypeAlias = tuple[Diagnostic, ...]


class Language(NamedTuple):
    """One policy language."""

    kinds: frozenset[str]
    """The kinds of its policies, as apiVersion/kind."""
    read: PolicyReader
    """Makes a policy, with its facts, of data whose shape is right."""
    compile: Callable[[Policy, CompileOptions], tuple[CompiledPolicy | None, Told]]
    """Checks and compiles a policy; None where it cannot be used, with what is wrong with it."""
    lint: Callable[[Policy, CompileOptions], Told]
    """Returns everything that can be said of a policy by itself."""
    declare: Callable[[CompileOptions], None]
    """Tells who listens of the exceptions that are given for its policies."""
    needs_request: Callable[[Policy], bool]
    """Returns whether something of a policy is only known where there is a request."""
    derive: Callable[[Policy], tuple[Rule, ...]]
    """Returns the rules of a policy with those that are derived from them."""
