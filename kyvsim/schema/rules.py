"""The CEL rules of a schema (`x-kubernetes-validations`) that an object violates.

Few commands evaluate them, so that the others start without CEL.

Source of the rules: k8s.io/apiextensions-apiserver pkg/apiserver/schema/cel/validation.go.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from kyvsim.cel import (
    CelBudgetError,
    CelError,
    CompileError,
    Program,
    compile_expression,
    environment,
)
from kyvsim.cel.libraries import KUBERNETES
from kyvsim.cel.types import DYN
from kyvsim.kubernetes.objects import Path, text_field
from kyvsim.schema.node import SchemaNode, SchemaWords

_RULES = "x-kubernetes-validations"


class BrokenRule(NamedTuple):
    """A rule that does not hold."""

    path: Path
    type_name: str
    rule: str
    message: str


def broken_rules(
    data: object, old: object, schema: SchemaNode, path: Path = ()
) -> Iterator[BrokenRule]:
    """Yield the rules of a schema that do not hold; `old` is None for a new object."""
    if data is None or not schema.reaches(_RULES):
        return
    for rule in schema.words.get(_RULES) or ():
        message = _message(rule, data, old)
        if message:
            type_name = schema.words.get("type", "object")
            yield BrokenRule(path, type_name, text_field(rule, "rule"), message)
    if data.__class__ is dict:
        before = old if old.__class__ is dict else {}
        for name in sorted(data):
            child, value = schema.child(name), data[name]
            # A schema with only a type has no rules.
            if child is not None and value.__class__ not in child.settled:
                yield from broken_rules(value, before.get(name), child, (*path, name))
    elif data.__class__ is list and schema.items is not None:
        for index, item in enumerate(data):
            if item.__class__ not in schema.items.settled:
                yield from broken_rules(item, None, schema.items, (*path, index))


def _message(rule: SchemaWords, data: object, old: object) -> str:
    """Return the message of a violated rule, "" if it holds or has no old value to compare."""
    text, message = text_field(rule, "rule"), text_field(rule, "message")
    if "oldSelf" in text and old is None:
        return ""
    try:
        holds = _program(text).evaluate((data, old))
    except (CelError, CelBudgetError, CompileError) as error:
        return f"rule evaluation error: {error}: evaluating rule: {message}"
    return "" if holds is True else message.strip() or f"failed rule: {text.strip()}"


@lru_cache(maxsize=64)
def _program(text: str) -> Program:
    known = environment(KUBERNETES).with_variables(("self", DYN), ("oldSelf", DYN))
    return compile_expression(text, known)
