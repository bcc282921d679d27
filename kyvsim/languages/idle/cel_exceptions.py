"""Exceptions for policies in CEL that lead to nothing: what was meant to be let off is not."""

from collections.abc import Iterable, Iterator

from kyvsim.compile.remark import warn
from kyvsim.model.diagnostic import Diagnostic, listed
from kyvsim.model.exception import CelException
from kyvsim.model.policy import Policy


def idle_exceptions(
    exceptions: Iterable[CelException], policies: Iterable[Policy]
) -> Iterator[Diagnostic]:
    """KV071: an exception for an absent policy, or for none.

    To be asked where every policy could be used: one that was refused is no slip of its name.
    """
    kinds: dict[str, list[str]] = {}
    for policy in policies:
        kinds.setdefault(policy.name, []).append(policy.kind)
    for exception in exceptions:
        if not exception.policies:
            text = "the exception names no policy"
            yield warn(exception.document, "KV071", text, ("spec", "policyRefs"))
        for index, ref in enumerate(exception.policies):
            own = kinds.get(ref.name, [])
            if ref.kind in own:
                continue
            text = f"the exception is for the {ref.kind} `{ref.name}`, which is not given"
            if own:
                text = f"{text}: `{ref.name}` is a {own[0]}"
            elif kinds:
                text = f"{text} (given: {listed(kinds)})"
            field = "kind" if own else "name"
            yield warn(exception.document, "KV071", text, ("spec", "policyRefs", index, field))
