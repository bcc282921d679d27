"""The input and results of converters for rules."""

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
    """A rule with its match block and context already converted."""

    rule: RuleNode
    scope: Scope
    matching: Matching
    """The constraints and conditions of the rule."""
    controllers: frozenset[str] = frozenset()
    """The kinds for which policies are derived."""

    def message(self) -> RuleMessage:
        """Return the message of a validate rule, with names in place of unknown variables."""
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
"""Returns an object as YAML."""


class ValidationEntry(NamedTuple):
    """An expression that must be true, and its message."""

    test: Test
    message: RuleMessage

    @property
    def texts(self) -> tuple[str, ...]:
        """Its expressions, each on one line."""
        return (one_line(self.test), self.message.expression)

    def data(self, _: Written) -> dict[str, object]:
        """Return its entry in a policy."""
        found: dict[str, object] = {"expression": laid_out(self.test)}
        if self.message.expression:
            return {**found, "messageExpression": self.message.expression}
        return {**found, "message": self.message.text} if self.message.text else found


class MutationEntry(NamedTuple):
    """A patch and its conditions."""

    form: str
    """`ApplyConfiguration` or `JSONPatch`."""
    text: str
    guards: tuple[Test, ...] = ()
    fields: Mapping[str, object] = MappingProxyType({})
    """Other fields of the policy: the objects to patch."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Its expressions."""
        return (self.text,)

    def data(self, _: Written) -> dict[str, object]:
        """Return its entry in a policy."""
        field = "applyConfiguration" if self.form == "ApplyConfiguration" else "jsonPatch"
        return {"patchType": self.form, field: {"expression": self.text}}


class GenerationEntry(NamedTuple):
    """An expression that creates objects, or the template of one."""

    template: KubernetesObject | None
    """The object; None if an expression creates it."""
    texts: tuple[str, ...]
    """Its expressions."""

    def data(self, written: Written) -> dict[str, object]:
        """Return its entry in a policy."""
        if self.template is None:
            return {"expression": self.texts[0]}
        value = written(self.template)
        mode = {"interpolate": "cel"} if self.texts or "\\((" in value else {}
        return {"template": {**mode, "value": value}}


PolicyEntry: TypeAlias = ValidationEntry | MutationEntry | GenerationEntry
"""An entry in the main list of a policy."""


WITHOUT_DELETE: Final = ("CREATE", "UPDATE")


class RuleConverter(NamedTuple):
    """The converter for the body of a rule."""

    kind: str
    """The kind of the converted policies."""
    path: Path
    """The path of the body in the policy."""
    emit: Callable[[ConversionInput], Sequence[PolicyEntry]]
    operations: tuple[str, ...] = WITHOUT_DELETE
    """The default operations of the rule; patterns and loops are not evaluated for deletions."""
    fields: Callable[[PolicyFacts, Scope], Mapping[str, object]] = lambda _facts, _scope: {}
    """Returns other fields of the policy that the rule requires."""
