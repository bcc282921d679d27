"""The CEL rules of a custom kind's schema (`x-kubernetes-validations`) that an object breaks.

Source of the rules: k8s.io/apiextensions-apiserver pkg/apiserver/schema/cel/validation.go.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache

from kyvsim.cel import (
    BudgetError,
    CelError,
    CompileError,
    Program,
    compile_expression,
    environment,
)
from kyvsim.cel.libraries import KUBERNETES
from kyvsim.cel.types import DYN
from kyvsim.kube.objects import Json, text_field
from kyvsim.sim.server.structural import Schema, SchemaRef

_RULES = "x-kubernetes-validations"


def broken_rules(obj: Json, old: Json, schema: Schema) -> Iterator[str]:
    """Yield what the rules of a schema object to; `old` is None for a new object."""
    yield from _broken(schema, schema.root, (obj, old), "")


def _broken(schema: Schema, ref: SchemaRef, values: tuple[Json, Json], path: str) -> Iterator[str]:
    node = schema.resolve(ref)
    data, old = values
    if data is None:
        return
    for rule in node.get(_RULES) or ():
        problem = _problem(rule, data, old)
        if problem:
            shown = node.get("type", "object")
            yield f'{path or "<nil>"}: Invalid value: "{shown}": {problem}'
    if data.__class__ is dict:
        properties = node.get("properties") or {}
        before = old if old.__class__ is dict else {}
        for name in sorted(set(data) & set(properties)):
            place = f"{path}.{name}" if path else name
            pair = (data[name], before.get(name))
            yield from _broken(schema, properties[name], pair, place)
    elif data.__class__ is list and "items" in node:
        for index, item in enumerate(data):
            yield from _broken(schema, node["items"], (item, None), f"{path}[{index}]")


def _problem(rule: Mapping[str, Json], data: Json, old: Json) -> str:
    """Return what a rule says of a value, "" where it holds or has nothing to compare with."""
    text = text_field(rule, "rule")
    if "oldSelf" in text and old is None:
        return ""
    try:
        holds = _program(text).evaluate((data, old))
    except (CelError, BudgetError, CompileError) as fault:
        return f"rule evaluation error: {fault}: evaluating rule: {text_field(rule, 'message')}"
    if holds is True:
        return ""
    return text_field(rule, "message").strip() or f"failed rule: {text.strip()}"


@lru_cache(maxsize=64)
def _program(text: str) -> Program:
    known = environment(KUBERNETES).with_variables(("self", DYN), ("oldSelf", DYN))
    return compile_expression(text, known)
