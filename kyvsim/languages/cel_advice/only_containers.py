"""Checks of `containers` in policies that never name `initContainers`."""

from collections.abc import Iterator

from kyvsim.engine.compile.compiled import warn
from kyvsim.languages.cel_advice.container_checks import container_checks, names_anywhere
from kyvsim.languages.cel_advice.written import Written
from kyvsim.model.diagnostic import Diagnostic, listed

_OTHERS = ("initcontainer", "allcontainer")


def only_containers(written: Written) -> Iterator[Diagnostic]:
    """KV257: a check of all containers that leaves out those that run first."""
    if names_anywhere(written.spec, *_OTHERS):
        return
    for one in container_checks(written):
        text = (
            f"only `containers` are checked for {listed(one.fields)}: nothing in the policy names "
            "`initContainers`, so those pass it unseen"
        )
        yield warn(written.policy.document, "KV257", text, one.expression.path)
