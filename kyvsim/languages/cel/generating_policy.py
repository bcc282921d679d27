r"""GeneratingPolicy and NamespacedGeneratingPolicy of `policies.kyverno.io`, and their templates.

The entries of `generate` run in order: an expression generates objects with `generator.Apply`, a
template describes them. At the first entry that cannot be evaluated, nothing is generated.
Templates are YAML with expressions in `((` and `))`. A scalar that is one placeholder is replaced
by the expression's value; inside a longer string the value must be a scalar. An escaped `\((` is
the text `((`.

Source of the rules: upstream pkg/cel/policies/gpol (compiler/policy.go, engine/engine.go,
template/scanner.go, template/template.go) and, for generated objects,
pkg/cel/libs/fake_context.go.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from kyvsim.cel import CelError, CompileError
from kyvsim.cel.kyverno.encodings import struct_value
from kyvsim.cel.kyverno.lookups import Generator
from kyvsim.cel.types import BOOL
from kyvsim.cel.values import UInt, show_double
from kyvsim.engine.compile.compiled import CompiledBody, Evaluation, Outcome
from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.objects import Json, KubernetesObject, object_key
from kyvsim.kubernetes.validation import identity_problems
from kyvsim.languages.cel.kind import CelKind, PolicyPart, RequestValues
from kyvsim.languages.cel.validating_policy import annotation_texts
from kyvsim.languages.cel_expressions import CompiledExpression, Compiler, EvaluationError, all_hold
from kyvsim.model.ports import STEPS_OF_AN_OBJECT
from kyvsim.model.result import RuleStatus, Stage
from kyvsim.model.tracing import PointKind
from kyvsim.policy.cel_policy import Generation
from kyvsim.schema.kinds import is_cluster_scoped
from kyvsim.yaml.document import YamlError
from kyvsim.yaml.nodes import MappingNode, Node, ScalarNode, parse_nodes, plain_data

_OPENING, _CLOSING, _ESCAPED = "((", "))", "\\(("
_TOKEN = re.compile(r"""\\.|["'()]""", re.DOTALL)
_MARK = re.compile(r"\\?\(\(")

Values: TypeAlias = Sequence[object]
_Render: TypeAlias = Callable[[Values], Json]
"""Returns a part of a document; raises EvaluationError."""


class TemplateError(ValueError):
    """A template that cannot be compiled; the text is upstream's."""


class ManifestTemplate(NamedTuple):
    """A template as closures, one for each document."""

    documents: tuple[_Render, ...]

    def render(self, values: Values) -> list[KubernetesObject]:
        """Return the objects that the template describes; raises EvaluationError."""
        made: list[KubernetesObject] = []
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


def compile_template(text: str, compiler: Compiler, *, interpolates: bool) -> ManifestTemplate:
    """Return a compiled template; raises TemplateError."""
    documents: list[_Render] = []
    try:
        for node in parse_nodes(text):
            if isinstance(node, ScalarNode) and node.value is None:
                continue
            render = _compile_node(node, compiler, interpolates=interpolates)
            if not (
                [part.__class__ for part in _scan(node.text)] == [_Placeholder]
                if isinstance(node, ScalarNode) and interpolates
                else isinstance(node, MappingNode)
            ):
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
    return ManifestTemplate(tuple(documents))


def _compile_node(node: Node, compiler: Compiler, *, interpolates: bool) -> _Render:
    if not interpolates or not _has_placeholder(node):
        fixed = plain_data(node)
        return lambda _: fixed
    if isinstance(node, ScalarNode):
        made = _compile_text(node, compiler)
        if len(made) == 1 and not isinstance(made[0], str):
            placeholder = made[0]
            return lambda values: _placeholder_value(placeholder, values)
        return lambda values: "".join(
            part if isinstance(part, str) else _scalar_text(part, values) for part in made
        )
    if isinstance(node, MappingNode):
        entries: dict[str, _Render] = {}
        for key, value in node.entries:
            if not isinstance(key, ScalarNode):
                raise TemplateError(f"line {key.line}: only scalar mapping keys are supported")
            if _OPENING in key.text.replace(_ESCAPED, ""):
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
            entries[key.text] = _compile_node(value, compiler, interpolates=True)
        return lambda values: {
            key: _inside(f"field {quote(key)}", render, values) for key, render in entries.items()
        }
    items = [_compile_node(one, compiler, interpolates=True) for one in node.items]
    return lambda values: [
        _inside(f"item {index}", render, values) for index, render in enumerate(items)
    ]


def _compile_text(node: ScalarNode, compiler: Compiler) -> list[str | CompiledExpression]:
    made: list[str | CompiledExpression] = []
    text = ""
    try:
        for part in list(_scan(node.text)):
            if isinstance(part, _Placeholder):
                text = part.text
                made.append(compiler.program(text))
            else:
                made.append(part)
    except TemplateError as error:
        raise TemplateError(f"line {node.line}: {error}") from None
    except CompileError as error:
        what = f"invalid placeholder expression {quote(text)}"
        raise TemplateError(f"line {node.line}: {what}: {error.listing or error}") from None
    return made


def _inside(place: str, render: _Render, values: Values) -> Json:
    try:
        return render(values)
    except EvaluationError as error:
        raise EvaluationError(f"{place}: {error}") from None


def _placeholder_value(placeholder: CompiledExpression, values: Values) -> Json:
    """Return the value of a placeholder; whole numbers stay ints."""
    text = placeholder.text
    try:
        found = placeholder.value(values)
    except EvaluationError as error:
        what = f"failed to evaluate placeholder {quote(text)}"
        raise EvaluationError(f"{what}: {error}") from None
    if found.__class__ is int or (found.__class__ is UInt and found < 1 << 63):
        return int(found)
    if found.__class__ is UInt:
        problem = f"uint value {int(found)} overflows the supported integer range"
    else:
        try:
            return struct_value(found)
        except CelError as error:
            problem = str(error)
    raise EvaluationError(f"failed to convert placeholder {quote(text)} result: {problem}")


def _scalar_text(placeholder: CompiledExpression, values: Values) -> str:
    found = _placeholder_value(placeholder, values)
    if found.__class__ is str:
        return str(found)
    if found.__class__ is bool:
        return "true" if found else "false"
    if found.__class__ is float:
        return show_double(found)
    if found.__class__ is int:
        return str(found)
    raise EvaluationError(
        f"placeholder {quote(placeholder.text)} embedded in a string must evaluate to a scalar, "
        f"got {_GO_TYPES[found.__class__]}; use a whole-value placeholder for structured results"
    )


_GO_TYPES: Mapping[type, str] = {
    dict: "map[string]interface {}",
    list: "[]interface {}",
    type(None): "<nil>",
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
}


def _has_placeholder(node: Node) -> bool:
    if isinstance(node, ScalarNode):
        return _OPENING in node.text
    if isinstance(node, MappingNode):
        return any(_has_placeholder(part) for entry in node.entries for part in entry)
    return any(map(_has_placeholder, node.items))


class _Placeholder(NamedTuple):
    """An expression inside a string."""

    text: str


def _scan(text: str) -> Iterator[str | _Placeholder]:
    literal, at = "", 0
    while found := _MARK.search(text, at):
        literal += text[at : found.start()]
        if found[0] == _ESCAPED:
            literal, at = literal + _OPENING, found.end()
            continue
        end = _end_of_placeholder(text, found.start())
        inner = text[found.end() : end].strip()
        if not inner:
            raise TemplateError(f"empty placeholder at offset {_offset(text, found.start())}")
        if literal:
            yield literal
        yield _Placeholder(inner)
        literal, at = "", end + len(_CLOSING)
    if literal + text[at:]:
        yield literal + text[at:]


def _end_of_placeholder(text: str, start: int) -> int:
    depth, quoted = 0, ""
    place = f"placeholder starting at offset {_offset(text, start)}"
    for found in _TOKEN.finditer(text, start + len(_OPENING)):
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
            if not text.startswith(_CLOSING, found.start()):
                raise TemplateError(f"unbalanced parenthesis in {place}")
            return found.start()
    if quoted:
        raise TemplateError(f"unterminated string literal in {place}")
    raise TemplateError(f"unterminated {place}: missing closing '))'")


def _offset(text: str, at: int) -> int:
    return len(text[:at].encode())


_Generate: TypeAlias = Callable[[Sequence[object], "Generated"], None]
"""Runs one entry of `generate`; raises EvaluationError."""


class Generated:
    """The objects that one evaluation of a policy generates."""

    def __init__(
        self, part: PolicyPart, writes: Callable[[str, KubernetesObject], None] | None
    ) -> None:
        """Store the function that writes objects at once; None for a dry run."""
        self.objects: list[KubernetesObject] = []
        self._policy, self._options = part.policy, part.options
        self._writes = writes

    def add(self, namespace: str, objects: Sequence[KubernetesObject]) -> None:
        """Add objects to a namespace, lists as their items; raises ValueError."""
        for one in objects:
            items = one.get("items")
            parts = items if items.__class__ is list else [one]
            for part in parts:
                if parts is items and part.__class__ is not dict:
                    raise ValueError("items member is not an object: map[string]interface {}")
                self._options.system.meter.spend(STEPS_OF_AN_OBJECT)
                if self._writes is not None:
                    self._writes(namespace, part)
                else:
                    # A kind of unknown scope counts as namespaced if a namespace is given. Raises
                    # ValueError for objects that a cluster rejects. upstream:
                    # pkg/cel/libs/context.go `GenerateResources`
                    api_version, kind, _, name = object_key(part)
                    is_cluster_wide = is_cluster_scoped(
                        f"{api_version}/{kind}", self._options.kinds
                    )
                    if is_cluster_wide and namespace and self._policy.namespace:
                        raise ValueError(
                            "cross-scope generation denied: a policy scoped to namespace "
                            f'"{namespace}" cannot generate cluster-scoped resource '
                            f"{api_version}/{kind}"
                        )
                    if is_cluster_wide is False and not namespace:
                        raise ValueError(
                            f"{kind} `{name}` is namespaced, but no namespace is given"
                        )
                    target = "" if is_cluster_wide else namespace
                    meta = part.get("metadata", {} if target else None)
                    if meta.__class__ is dict:
                        meta = {key: value for key, value in meta.items() if key != "namespace"}
                        placed = meta | ({"namespace": target} if target else {})
                        part = {**part, "metadata": placed}  # noqa: PLW2901 — the same, moved
                    self.objects.append(part)


def _compile(part: PolicyPart) -> CompiledBody:
    spec, compiler, namespace = part.spec, part.compiler, part.policy.namespace
    conditions = compiler.conditions(spec.match_conditions)
    variables = compiler.variables(spec.variables)
    generations = [_compile_entry(node, compiler, namespace) for node in spec.generate or ()]
    annotations = compiler.annotations(spec.audit_annotations)
    request_values = RequestValues(part, variables)

    def run(evaluation: Evaluation) -> Outcome | None:
        generated = Generated(part, evaluation.scope.external.writes)
        # A namespaced policy generates only into its own namespace.
        generator = Generator(generated.add, namespace)
        values = request_values.of(evaluation, generator=generator)
        try:
            if not all_hold(conditions, values):
                return None
            for generate in filter(None, generations):
                generate(values, generated)
            properties = annotation_texts(annotations, values, quote='"')
        except EvaluationError as error:
            return GENERATING.unevaluated(error)
        made = tuple(generated.objects)
        # A simulated cluster reports itself what it rejects.
        checked = made if evaluation.scope.external.writes is None else ()
        return Outcome(
            RuleStatus.PASS,
            "policy evaluated successfully",
            generated=made,
            properties=properties,
            note="; ".join(text for one in checked for text in identity_problems(one)),
        )

    return run


def _apply(
    template: ManifestTemplate, values: Sequence[object], generated: Generated, namespace: str
) -> None:
    try:
        rendered = template.render(values)
    except EvaluationError as error:
        raise EvaluationError(f"failed to render generation template: {error}") from None
    by_namespace: dict[str, list[KubernetesObject]] = {}
    for obj in rendered:
        own = object_key(obj).namespace
        if namespace and own not in {"", namespace}:
            raise EvaluationError(
                f'cross-namespace generation denied: a policy in namespace "{namespace}" '
                f'cannot generate resources into namespace "{own}"'
            )
        by_namespace.setdefault(own or namespace, []).append(obj)
    for target, objects in by_namespace.items():
        try:
            generated.add(target, objects)
        except ValueError as error:
            raise EvaluationError(f"failed to generate resources: {error}") from None


def _compile_entry(node: Generation, compiler: Compiler, namespace: str) -> _Generate | None:
    template, text = node.template, node.expression
    if text is not None and template is None:
        path = (*node.path, "expression")
        expression = compiler.compile(text, path, BOOL, decides=False)
        return lambda values, _: expression.value(values)
    if template is None or text is not None:
        # A rule of Kyverno's CRD requires this; a policy that violates it is not loaded.
        compiler.reject("", node.path, "exactly one of expression or template must be set")
        return None
    path = (*template.path, "value")
    try:
        interpolates = template.interpolate == "cel"
        compiled = compile_template(template.value, compiler, interpolates=interpolates)
    except TemplateError as error:
        compiler.reject(template.value, path, str(error))
        return None
    count = compiler.trace.to(path).declare(PointKind.EXPRESSION, "evaluated")

    def run(values: Sequence[object], generated: Generated) -> None:
        _apply(compiled, values, generated, namespace)
        if count:
            count(0)

    return run


GENERATING = CelKind("GeneratingPolicy", Stage.CEL_GENERATE, _compile, later=True)
