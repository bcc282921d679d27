"""What a policy language is: a value that reads policies of its kinds and compiles them.

Everything behind knows compiled policies and facts (`kyvsim.model.policy`), and no language.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from kyvsim.engine.compile import CompiledPolicy, CompileOptions
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy, PolicyReader, Rule
from kyvsim.model.request import Payload

Diagnostics: TypeAlias = tuple[Diagnostic, ...]


class Language(NamedTuple):
    """One policy language."""

    read: PolicyReader
    """Makes a policy, with its facts, of data whose shape is right."""
    lower: Callable[[Policy, CompileOptions], tuple[CompiledPolicy | None, Diagnostics]]
    """Compiles a policy; None where it cannot be used, with what is wrong with it."""
    check: Callable[[Policy, CompileOptions], Diagnostics] = lambda _policy, _options: ()
    """Returns what a cluster refuses in a policy; not asked where a cluster has let it in."""
    doubt: Callable[[Policy], Diagnostics] = lambda _: ()
    """Returns what cannot be meant in a policy that can be used; not asked either."""
    declare: Callable[[CompileOptions], None] = lambda _: None
    """Tells who listens of the exceptions that are given for its policies."""
    needs_request: Callable[[Policy], bool] = lambda _: False
    """Returns whether something of a policy is only known where there is a request."""
    derive: Callable[[Policy], tuple[Rule, ...]] = lambda policy: policy.rules
    """Returns the rules of a policy with those that are derived from them."""
    check_payloads: Callable[[tuple[Payload, ...]], tuple[tuple[Payload, ...], Diagnostics]] = (
        lambda payloads: (payloads, ())
    )
    """Returns the payloads that its policies can judge, and what is to be reported about all."""
