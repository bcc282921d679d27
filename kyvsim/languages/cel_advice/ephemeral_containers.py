"""Checks of containers in policies on `pods/ephemeralcontainers` that never look at those.

Requests for that resource change nothing else of a Pod.
"""

from collections.abc import Iterator

from kyvsim.engine.compile.compiled import warn
from kyvsim.languages.cel_advice.container_checks import container_checks, names_anywhere
from kyvsim.languages.cel_advice.written import Written
from kyvsim.model.diagnostic import Diagnostic

_RESOURCE = "pods/ephemeralcontainers"


def ephemeral_containers(written: Written) -> Iterator[Diagnostic]:
    """KV264: a subresource that a policy matches, and whose only field nothing in it names."""
    texts = [one.text for one in written.expressions]
    if names_anywhere(texts, "ephemeral", "allcontainer", "subresource"):
        return
    if not any(container_checks(written)):
        return
    rules = written.spec["matchConstraints"]["resourceRules"]
    for number, rule in enumerate(rules):
        names = rule.get("resources") or ()
        if _RESOURCE in names:
            text = (
                "no expression of the policy names `ephemeralContainers`: what is added through "
                f"`{_RESOURCE}` passes it unseen"
            )
            path = ("spec", "matchConstraints", "resourceRules", number, "resources")
            yield warn(written.policy.document, "KV264", text, (*path, names.index(_RESOURCE)))
