"""Bindings of Kubernetes' admission policies that lead to nothing: a policy counts without them."""

from collections.abc import Iterable, Iterator

from kyvsim.compile.remark import warn
from kyvsim.model.binding import Binding
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy
from kyvsim.model.wording import listed


def idle_bindings(bindings: Iterable[Binding], policies: Iterable[Policy]) -> Iterator[Diagnostic]:
    """KV167: a binding for an absent policy.

    To be asked where every policy could be used: one that was refused is no slip of its name.
    """
    every = tuple(policies)
    for binding in bindings:
        if any(binding.binds(one.kind, one.name) for one in every):
            continue
        kind = binding.kind.removesuffix("Binding")
        given = listed(one.name for one in every if one.kind == kind)
        text = f"the binding is for the {kind} `{binding.policy}`, which is not given"
        text = f"{text} (given: {given})" if given else text
        yield warn(binding.document, "KV167", text, ("spec", "policyName"))
