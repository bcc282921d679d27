r"""Templates of GeneratingPolicies: YAML with expressions in `((` and `))`.

A scalar that is one placeholder becomes whatever its expression gives; inside a longer text an
expression gives a scalar. `\((` stands for `((`.

Source of the rules: upstream pkg/cel/policies/gpol/template (scanner.go, template.go).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from kyvsim.cel import CelError, CompileError, Program
from kyvsim.cel.kyverno.native import struct_value
from kyvsim.cel.values import UInt, show_double
from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.cel.expressions import Compiler, EvaluationError, evaluate
from kyvsim.yaml.document import YamlError
from kyvsim.yaml.nodes import MappingNode, Node, ScalarNode, parse_nodes, plain_data

_INT_MAX = (1 << 63) - 1
_OPEN, _CLOSE, _ESCAPED = "((", "))", "\\(("
_TOKEN = re.compile(r"""\\.|["'()]""", re.DOTALL)
_MARK = re.compile(r"\\?\(\(")

Values: TypeAlias = Sequence[Any]
_Render: TypeAlias = Callable[[Values], Json]
"""Gives a part of a document; raises EvaluationError."""


class TemplateError(ValueError):
    """A template that cannot be compiled; the text is upstream's."""


class Placeholder(NamedTuple):
    """An expression inside a text."""

    text: str


class Template(NamedTuple):
    """A template as closures, one for each document."""

    documents: tuple[_Render, ...]

    def render(self, values: Values) -> list[Json]:
        """Return the objects that the template describes; raises EvaluationError."""
        made: list[Json] = []
        for number, document in enumerate(self.documents, 1):
            try:
                found = document(values)
            except EvaluationError as error:
                raise EvaluationError(f"document {number}: {error}") from None
            if found.__class__ is not dict:
                kind = _GO_TYPES.get(found.__class__, "[]interface {}")
                raise EvaluationError(
                    f"document {number}: expected a mapping describing a resource, got {kind}"
                )
            made.append(found)
        return made


def compile_template(text: str, compiler: Compiler, *, interpolates: bool) -> Template:
    """Return a template ready to run; raises TemplateError."""
    documents: list[_Render] = []
    try:
        for node in parse_nodes(text):
            if isinstance(node, ScalarNode) and node.value is None:
                continue
            render = _compile(node, compiler, interpolates=interpolates)
            if not _may_be_map(node, interpolates=interpolates):
                what = "document must be a mapping describing a resource"
                raise TemplateError(f"line {node.line}: {what}")
            documents.append(render)
    except YamlError as error:
        line = f"line {error.line}: " if error.line else ""
        raise TemplateError(f"failed to parse YAML: yaml: {line}{error.message}") from None
    except RecursionError:
        raise TemplateError("failed to parse YAML: nested too deeply") from None
    if not documents:
        raise TemplateError("template must contain at least one YAML document")
    return Template(tuple(documents))


def _may_be_map(node: Node, *, interpolates: bool) -> bool:
    """Return whether a document can become an object: it is a map, or one placeholder."""
    if isinstance(node, ScalarNode) and interpolates:
        return [part.__class__ for part in _scan(node.text)] == [Placeholder]
    return isinstance(node, MappingNode)


def _compile(node: Node, compiler: Compiler, *, interpolates: bool) -> _Render:
    if not interpolates or not _has_placeholder(node):
        fixed = plain_data(node)
        return lambda _: fixed
    if isinstance(node, ScalarNode):
        return _compile_scalar(node, compiler)
    if isinstance(node, MappingNode):
        return _compile_map(node, compiler)
    items = [_compile(one, compiler, interpolates=True) for one in node.items]
    return lambda values: [
        _inside(f"item {index}", render, values) for index, render in enumerate(items)
    ]


def _compile_map(node: MappingNode, compiler: Compiler) -> _Render:
    entries: dict[str, _Render] = {}
    for key, value in node.entries:
        if not isinstance(key, ScalarNode):
            raise TemplateError(f"line {key.line}: only scalar mapping keys are supported")
        if _holds_placeholder(key.text):
            raise TemplateError(
                f"line {key.line}: placeholders are not supported in mapping keys; use a "
                "whole-value placeholder on the parent field instead "
                "(e.g. `labels: (( variables.labels ))`)"
            )
        if key.text == "<<":
            raise TemplateError(
                f"line {key.line}: YAML merge keys are not supported in subtrees containing "
                "placeholders"
            )
        entries[key.text] = _compile(value, compiler, interpolates=True)
    return lambda values: {
        key: _inside(f"field {quote(key)}", render, values) for key, render in entries.items()
    }


def _inside(place: str, render: _Render, values: Values) -> Json:
    try:
        return render(values)
    except EvaluationError as error:
        raise EvaluationError(f"{place}: {error}") from None


def _compile_scalar(node: ScalarNode, compiler: Compiler) -> _Render:
    try:
        parts = list(_scan(node.text))
    except TemplateError as error:
        raise TemplateError(f"line {node.line}: {error}") from None
    made = [
        (part.text, _program(part.text, node.line, compiler))
        if isinstance(part, Placeholder)
        else part
        for part in parts
    ]
    if len(made) == 1 and not isinstance(made[0], str):
        text, program = made[0]
        return lambda values: _value(text, program, values)
    return lambda values: "".join(
        part if isinstance(part, str) else _shown(*part, values) for part in made
    )


def _program(text: str, line: int, compiler: Compiler) -> Program:
    try:
        return compiler.program(text)
    except CompileError as error:
        what = f"invalid placeholder expression {quote(text)}"
        raise TemplateError(f"line {line}: {what}: {error.listing or error}") from None


def _value(text: str, program: Program, values: Values) -> Json:
    """Return what stands for a placeholder; whole numbers stay whole."""
    try:
        found = evaluate(program, values)
    except EvaluationError as error:
        what = f"failed to evaluate placeholder {quote(text)}"
        raise EvaluationError(f"{what}: {error}") from None
    try:
        return _plain(found)
    except CelError as error:
        what = f"failed to convert placeholder {quote(text)} result"
        raise EvaluationError(f"{what}: {error}") from None


def _plain(found: Any) -> Json:
    if found.__class__ is int:
        return found
    if found.__class__ is not UInt:
        return struct_value(found)
    if found > _INT_MAX:
        raise CelError(f"uint value {int(found)} overflows the supported integer range")
    return int(found)


def _shown(text: str, program: Program, values: Values) -> str:
    """Return what stands for a placeholder inside a text."""
    found = _value(text, program, values)
    if found.__class__ is str:
        return str(found)
    if found.__class__ is bool:
        return "true" if found else "false"
    if found.__class__ is float:
        return show_double(found)
    if found.__class__ is int:
        return str(found)
    kind = _GO_TYPES[found.__class__]
    raise EvaluationError(
        f"placeholder {quote(text)} embedded in a string must evaluate to a scalar, got {kind}; "
        "use a whole-value placeholder for structured results"
    )


_GO_TYPES: Mapping[type, str] = MappingProxyType(
    {
        dict: "map[string]interface {}",
        list: "[]interface {}",
        type(None): "<nil>",
        str: "string",
        bool: "bool",
        int: "int64",
        float: "float64",
    }
)


def _has_placeholder(node: Node) -> bool:
    if isinstance(node, ScalarNode):
        return _OPEN in node.text
    if isinstance(node, MappingNode):
        return any(_has_placeholder(part) for entry in node.entries for part in entry)
    return any(map(_has_placeholder, node.items))


def _holds_placeholder(text: str) -> bool:
    return _OPEN in text.replace(_ESCAPED, "")


def _scan(text: str) -> Iterator[str | Placeholder]:
    """Yield the parts of a text; raises TemplateError."""
    literal, at = "", 0
    while found := _MARK.search(text, at):
        literal += text[at : found.start()]
        if found[0] == _ESCAPED:
            literal, at = literal + _OPEN, found.end()
            continue
        end = _end_of_placeholder(text, found.start())
        inner = text[found.end() : end].strip()
        if not inner:
            raise TemplateError(f"empty placeholder at offset {_offset(text, found.start())}")
        if literal:
            yield literal
        yield Placeholder(inner)
        literal, at = "", end + len(_CLOSE)
    if literal + text[at:]:
        yield literal + text[at:]


def _end_of_placeholder(text: str, start: int) -> int:
    """Return where the `))` of a placeholder stands; texts and parentheses inside are passed."""
    depth, quoted = 0, ""
    for found in _TOKEN.finditer(text, start + len(_OPEN)):
        mark = found[0]
        if quoted:
            quoted = "" if mark == quoted else quoted
        elif mark in "\"'":
            quoted = mark
        elif mark == "(":
            depth += 1
        elif mark == ")" and depth:
            depth -= 1
        elif mark == ")":
            if not text.startswith(_CLOSE, found.start()):
                raise TemplateError(f"unbalanced parenthesis in {_place(text, start)}")
            return found.start()
    if quoted:
        raise TemplateError(f"unterminated string literal in {_place(text, start)}")
    raise TemplateError(f"unterminated {_place(text, start)}: missing closing '))'")


def _place(text: str, start: int) -> str:
    return f"placeholder starting at offset {_offset(text, start)}"


def _offset(text: str, at: int) -> int:
    return len(text[:at].encode())
