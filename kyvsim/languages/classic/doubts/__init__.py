"""What cannot be meant in a policy that Kyverno takes, and lets bad objects pass or none at all.

Every command tells it, beside the verdicts, which stay Kyverno's: one matter a file, all named
here.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from kyvsim.languages.classic.doubts.broken_cel import broken_cel
from kyvsim.languages.classic.doubts.empty_rules import empty_rules
from kyvsim.languages.classic.doubts.unread_preconditions import unread_preconditions
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy

Doubt: TypeAlias = Callable[[Policy], Iterator[Diagnostic]]

DOUBTS: tuple[Doubt, ...] = (broken_cel, empty_rules, unread_preconditions)


def doubts_about(policy: Policy) -> tuple[Diagnostic, ...]:
    """Return what cannot be meant in a policy that is taken."""
    return tuple(remark for doubt in DOUBTS for remark in doubt(policy))
