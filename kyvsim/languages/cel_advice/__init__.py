"""What `lint` warns of in policies of all languages that write CEL: one matter a file.

Advice is given only where it is surely right: a warning that must be ignored hides the others.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from kyvsim.languages.cel_advice.absent_objects import absent_objects
from kyvsim.languages.cel_advice.absent_parents import absent_parents
from kyvsim.languages.cel_advice.added_by_replace import added_by_replace
from kyvsim.languages.cel_advice.atomic_fields import atomic_fields
from kyvsim.languages.cel_advice.constant_tests import constant_tests
from kyvsim.languages.cel_advice.ephemeral_containers import ephemeral_containers
from kyvsim.languages.cel_advice.excluded_resources import excluded_resources
from kyvsim.languages.cel_advice.number_arithmetic import number_arithmetic
from kyvsim.languages.cel_advice.only_containers import only_containers
from kyvsim.languages.cel_advice.undeclared_fields import undeclared_fields
from kyvsim.languages.cel_advice.unguarded_namespaces import unguarded_namespaces
from kyvsim.languages.cel_advice.unknown_paths import unknown_paths
from kyvsim.languages.cel_advice.unread_variables import unread_variables
from kyvsim.languages.cel_advice.unseen_controllers import unseen_controllers
from kyvsim.languages.cel_advice.written import Written
from kyvsim.model.diagnostic import Diagnostic

CelAdvice: TypeAlias = Callable[[Written], Iterator[Diagnostic]]

SHARED_ADVICE: tuple[CelAdvice, ...] = (
    absent_objects,
    constant_tests,
    unread_variables,
    number_arithmetic,
    only_containers,
    ephemeral_containers,
    unguarded_namespaces,
    atomic_fields,
    undeclared_fields,
    unknown_paths,
    absent_parents,
    added_by_replace,
    unseen_controllers,
    excluded_resources,
)
"""For policies of every language with such expressions; each says which kinds it is about."""
