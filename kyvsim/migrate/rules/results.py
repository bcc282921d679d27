"""What the conversion of a rule is given, and what it returns."""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json
from kyvsim.migrate.context import NotConvertible, Scope
from kyvsim.migrate.expressions import Test, one_line
from kyvsim.migrate.matching import Matching
from kyvsim.migrate.queries import text_value
from kyvsim.migrate.values import Expr
from kyvsim.model.migration import ConversionCondition
from kyvsim.patch.keyed_lists import MergeField

# Messages of rules, with their variables.

_SHORTENED: Final = ConversionCondition(
    "message", "a part of the message cannot be evaluated: its name is shown instead"
)
_VARIABLE: Final = re.compile(r"\{\{-?\s*((?:\{[^{}]*\}|[^{}])*?)\s*\}\}")


class RuleMessage(NamedTuple):
    """The message of a validation: a string or an expression."""

    text: str = ""
    expression: str = ""


def message_of(text: str, scope: Scope) -> RuleMessage:
    """Return a message; variables that are unknown outside of a loop are named instead."""
    if "{{" not in text:
        return RuleMessage(text)
    try:
        value = text_value(text, scope)
    except NotConvertible:
        scope.context.note(_SHORTENED)
        return RuleMessage(_VARIABLE.sub(r"<\1>", text))
    if value.constant:
        return RuleMessage(str(value.constant[0]))
    return RuleMessage(expression=value.text)


# What emitters of rules are given, and what they give.


class Root(NamedTuple):
    """An object that is patched."""

    value: Expr
    merges: tuple[MergeField, ...]
    """How lists of it merge, by kind; () where nothing is known of one."""


class ConversionInput(NamedTuple):
    """A rule whose match block and context are read already."""

    rule: Json
    body: Json
    scope: Scope
    matching: Matching
    """What the rule is about."""
    controllers: frozenset[str] = frozenset()
    """The kinds that policies are derived for."""

    def message(self) -> RuleMessage:
        """Return the message of a validate rule."""
        return message_of(self.rule["validate"].get("message") or "", self.scope)

    @property
    def root(self) -> Root:
        """The object that the patches of a rule change."""
        return Root(self.scope.object, self.matching.merges)


class ValidationEntry(NamedTuple):
    """One expression that has to be true, and its message."""

    test: Test
    message: RuleMessage

    @property
    def texts(self) -> tuple[str, ...]:
        """Its expressions, each on one line."""
        return (one_line(self.test), self.message.expression)


class MutationEntry(NamedTuple):
    """One patch, and what has to hold for it."""

    form: str
    """`ApplyConfiguration` or `JSONPatch`."""
    text: str
    guards: tuple[Test, ...] = ()
    fields: Mapping[str, Json] = MappingProxyType({})
    """Other fields of the policy: which objects it patches."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Its expressions."""
        return (self.text,)


class GeneratedTemplate(NamedTuple):
    """An object as a template has it, and the expressions in it."""

    data: Json
    expressions: tuple[str, ...]


class GenerationEntry(NamedTuple):
    """What makes objects: an expression, or the template of one."""

    text: str = ""
    template: GeneratedTemplate | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """Its expressions."""
        return (self.text,) if self.template is None else self.template.expressions


PolicyEntry: TypeAlias = ValidationEntry | MutationEntry | GenerationEntry
"""An element of the list that makes up a policy."""
Emit: TypeAlias = Callable[[ConversionInput], Sequence[PolicyEntry]]
"""Raises NotConvertible with the path from the body."""
Fields: TypeAlias = Callable[[Json, Json, Scope], Mapping[str, Json]]
"""Returns fields for a rule and the `spec` that contains it. Raises NotConvertible with the path
from the rule."""


def no_fields(_rule: Json, _spec: Json, _scope: Scope) -> Mapping[str, Json]:
    """Return no fields."""
    return {}


class RuleConverter(NamedTuple):
    """A type of rules."""

    emit: Emit
    kind: str
    """The kind of the policies that it becomes a part of."""
    operations: tuple[str, ...]
    """Its default operations."""
    fields: Fields = no_fields
    """Other fields of the policy that a rule requires."""
