"""What emitters of rules are given, and what they give."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json
from kyvsim.migrate.expressions import Test, one_line
from kyvsim.migrate.generated.templates import Template
from kyvsim.migrate.matching import Matching
from kyvsim.migrate.messages import Message
from kyvsim.migrate.queries import Scope
from kyvsim.migrate.values import Value
from kyvsim.patch.keyed_lists import Field


class Root(NamedTuple):
    """An object that is patched."""

    value: Value
    merges: tuple[Field, ...]
    """How lists of it merge, by kind; () where nothing is known of one."""


class Given(NamedTuple):
    """A rule whose match block and context are read already."""

    rule: Json
    body: Json
    scope: Scope
    matching: Matching
    """What the rule is about."""
    controllers: frozenset[str] = frozenset()
    """The kinds for which policies are derived from what is made of it."""

    @property
    def root(self) -> Root:
        """What the patches of a rule change: the object that it is asked about."""
        return Root(self.scope.object, self.matching.merges)


class Validation(NamedTuple):
    """One expression that has to be true, and what is said where it is not."""

    test: Test
    message: Message

    @property
    def texts(self) -> tuple[str, ...]:
        """Its expressions, each on one line."""
        return (one_line(self.test), self.message.expression)


class Mutation(NamedTuple):
    """One patch, and what has to hold for it."""

    form: str
    """`ApplyConfiguration` or `JSONPatch`."""
    text: str
    guards: tuple[Test, ...] = ()
    fields: Mapping[str, Json] = MappingProxyType({})
    """What the policy says beside it: which other objects it patches."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Its expressions."""
        return (self.text,)


class Generation(NamedTuple):
    """What makes objects: an expression, or the template of one."""

    text: str = ""
    template: Template | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """Its expressions."""
        return (self.text,) if self.template is None else self.template.expressions


Entry: TypeAlias = Validation | Mutation | Generation
"""What stands in the list that a policy of some kind is about."""
Emit: TypeAlias = Callable[[Given], Sequence[Entry]]
"""Raises NotConvertible with the path from the body."""
Fields: TypeAlias = Callable[[Json, Json, Scope], Mapping[str, Json]]
"""Gives fields for a rule and the `spec` that it stands in. Raises NotConvertible with the path
from the rule."""


def no_fields(_rule: Json, _spec: Json, _scope: Scope) -> Mapping[str, Json]:
    """Return that there is nothing to be said."""
    return {}


class RuleType(NamedTuple):
    """A type of rules."""

    emit: Emit
    kind: str
    """The kind of the policies that it becomes a part of."""
    operations: tuple[str, ...]
    """The operations that it is asked for, where its policy does not say."""
    fields: Fields = no_fields
    """What the policy says on account of a rule, beside its entries."""
