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
from kyvsim.model.migration import ConversionCondition

# Messages of rules, with their variables.

_SHORTENED: Final = ConversionCondition(
    "message", "a part of the message cannot be evaluated: its name is shown instead"
)
_VARIABLE: Final = re.compile(r"\{\{-?\s*((?:\{[^{}]*\}|[^{}])*?)\s*\}\}")


class RuleMessage(NamedTuple):
    """The message of a validation: a string or an expression."""

    text: str = ""
    expression: str = ""


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
        """Return the message of a validate rule; unknown variables, as of loops, are named."""
        text = self.rule["validate"].get("message") or ""
        if "{{" not in text:
            return RuleMessage(text)
        try:
            value = text_value(text, self.scope)
        except NotConvertible:
            self.scope.context.note(_SHORTENED)
            return RuleMessage(_VARIABLE.sub(r"<\1>", text))
        if value.constant:
            return RuleMessage(str(value.constant[0]))
        return RuleMessage(expression=value.text)


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


class GenerationEntry(NamedTuple):
    """What makes objects: an expression, or the template of one."""

    template: Json
    """The object; None where an expression makes it."""
    texts: tuple[str, ...]
    """Its expressions."""


PolicyEntry: TypeAlias = ValidationEntry | MutationEntry | GenerationEntry
"""An element of the list that makes up a policy."""
Fields: TypeAlias = Callable[[Json, Json, Scope], Mapping[str, Json]]
"""Returns fields for a rule and the `spec` that contains it. Raises NotConvertible with the path
from the rule."""


WITHOUT_DELETE: Final = ("CREATE", "UPDATE")


class RuleConverter(NamedTuple):
    """A type of rules."""

    emit: Callable[[ConversionInput], Sequence[PolicyEntry]]
    kind: str
    """The kind of the policies that it becomes a part of."""
    operations: tuple[str, ...] = WITHOUT_DELETE
    """Its default operations."""
    fields: Fields = lambda _rule, _spec, _scope: {}
    """Other fields of the policy that a rule requires."""
