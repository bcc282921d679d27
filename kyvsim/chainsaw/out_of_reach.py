"""What policies asked for that no simulation can answer: registries, services, key stores."""

import re
from collections.abc import Callable

from kyvsim.sim.kyverno.admission import Admission

_OWN_WORDS = re.compile(r"\bkyvsim (?:answers|asks|calls|does not know|verifies)\b")
"""How results of rules begin that kyvsim words itself, for Kyverno would have asked someone."""


def out_of_reach(message: str) -> bool:
    """Return whether the message of a rule's result says that something could not be asked."""
    return _OWN_WORDS.search(message) is not None


def watch_admission(found: list[str]) -> Callable[[Admission], None]:
    """Return a listener of admission that adds what could not be asked to `found`."""

    def listen(admission: Admission) -> None:
        found.extend(
            f"{response.policy.name}/{result.rule.name}: {result.message}"
            for response in admission.responses
            for result in response.results
            if out_of_reach(result.message)
        )

    return listen
