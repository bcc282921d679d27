"""What `lint` warns of in a policy that Kyverno takes: one matter a file, all named here.

Advice is given only where it is surely right: a warning that must be ignored hides the others.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from kyvsim.languages.classic.advice.autogen_off import autogen_off
from kyvsim.languages.classic.advice.constant_conditions import (
    constant_conditions,
    exclusive_conditions,
)
from kyvsim.languages.classic.advice.deprecated_fields import deprecated_fields
from kyvsim.languages.classic.advice.deprecated_operators import deprecated_operators
from kyvsim.languages.classic.advice.function_calls import impossible_calls
from kyvsim.languages.classic.advice.misspelt_annotations import misspelt_annotations
from kyvsim.languages.classic.advice.never_matches import never_matches
from kyvsim.languages.classic.advice.query_syntax import unreadable_queries
from kyvsim.languages.classic.advice.unread_entries import unread_entries
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy

Advice: TypeAlias = Callable[[Policy], Iterator[Diagnostic]]

ADVICE: tuple[Advice, ...] = (
    deprecated_fields,
    deprecated_operators,
    unread_entries,
    unreadable_queries,
    impossible_calls,
    never_matches,
    constant_conditions,
    exclusive_conditions,
    misspelt_annotations,
    autogen_off,
)
"""For one policy; what concerns all documents together is in `documents.py`."""
