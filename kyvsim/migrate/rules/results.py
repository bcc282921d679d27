"""What the conversion of a rule is given, and what it returns."""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import KubernetesObject, Path
from kyvsim.migrate.context import NotConvertible, Scope
from kyvsim.migrate.expressions import Test, laid_out, one_line
from kyvsim.migrate.matching import Matching
from kyvsim.migrate.queries import text_value
from kyvsim.model.migration import ConversionCondition
from kyvsim.model.policy import PolicyFacts
from kyvsim.policy.rule import RuleNode

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

    rule: RuleNode
    scope: Scope
    matching: Matching
    """What the rule is about."""
    controllers: frozenset[str] = frozenset()
    """The kinds that policies are derived for."""

    def message(self) -> RuleMessage:
        """Return the message of a validate rule; unknown variables, as of loops, are named."""
        text = self.rule.validate.message if self.rule.validate else ""
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


Written: TypeAlias = Callable[[KubernetesObject], str]
"""Gives an object as YAML."""


class ValidationEntry(NamedTuple):
    """One expression that has to be true, and its message."""

    test: Test
    message: RuleMessage

    @property
    def texts(self) -> tuple[str, ...]:
        """Its expressions, each on one line."""
        return (one_line(self.test), self.message.expression)

    def data(self, _: Written) -> dict[str, object]:
        """Return it as a policy lists it."""
        found: dict[str, object] = {"expression": laid_out(self.test)}
        if self.message.expression:
            return {**found, "messageExpression": self.message.expression}
        return {**found, "message": self.message.text} if self.message.text else found


class MutationEntry(NamedTuple):
    """One patch, and what has to hold for it."""

    form: str
    """`ApplyConfiguration` or `JSONPatch`."""
    text: str
    guards: tuple[Test, ...] = ()
    fields: Mapping[str, object] = MappingProxyType({})
    """Other fields of the policy: which objects it patches."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Its expressions."""
        return (self.text,)

    def data(self, _: Written) -> dict[str, object]:
        """Return it as a policy lists it."""
        field = "applyConfiguration" if self.form == "ApplyConfiguration" else "jsonPatch"
        return {"patchType": self.form, field: {"expression": self.text}}


class GenerationEntry(NamedTuple):
    """What makes objects: an expression, or the template of one."""

    template: KubernetesObject | None
    """The object; None where an expression makes it."""
    texts: tuple[str, ...]
    """Its expressions."""

    def data(self, written: Written) -> dict[str, object]:
        """Return it as a policy lists it."""
        if self.template is None:
            return {"expression": self.texts[0]}
        value = written(self.template)
        mode = {"interpolate": "cel"} if self.texts or "\\((" in value else {}
        return {"template": {**mode, "value": value}}


PolicyEntry: TypeAlias = ValidationEntry | MutationEntry | GenerationEntry
"""An element of the list that makes up a policy."""


WITHOUT_DELETE: Final = ("CREATE", "UPDATE")


class RuleConverter(NamedTuple):
    """How the body of a rule is converted."""

    kind: str
    """The kind of the policies that the rule becomes a part of."""
    path: Path
    """The path of the body in the policy."""
    emit: Callable[[ConversionInput], Sequence[PolicyEntry]]
    operations: tuple[str, ...] = WITHOUT_DELETE
    """The default operations of the rule; patterns and loops see no deletions."""
    fields: Callable[[PolicyFacts, Scope], Mapping[str, object]] = lambda _facts, _scope: {}
    """Returns other fields of the policy that the rule requires."""
