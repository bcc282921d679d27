"""What emitters of rules are given, and what they give."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from kyvsim.kube.objects import Json
from kyvsim.light.named_tuple import NamedTuple
from kyvsim.migrate.expressions import Test
from kyvsim.migrate.messages import Message
from kyvsim.migrate.queries import Scope


class Given(NamedTuple):
    """A rule whose match block and context are read already."""

    rule: Json
    body: Json
    scope: Scope


class Validation(NamedTuple):
    """One expression that has to be true, and what is said where it is not."""

    test: Test
    message: Message


class Mutation(NamedTuple):
    """One patch, and what has to hold for it."""

    form: str
    """`ApplyConfiguration` or `JSONPatch`."""
    text: str
    guards: tuple[Test, ...] = ()


Emit: TypeAlias = Callable[[Given], Sequence[Validation | Mutation]]
"""Raises NotConvertible with the path from the body."""


class RuleType(NamedTuple):
    """A type of rules."""

    emit: Emit
    kind: str
    """The kind of the policies that it becomes a part of."""
    operations: tuple[str, ...]
    """The operations that it is asked for, where its policy does not say."""
