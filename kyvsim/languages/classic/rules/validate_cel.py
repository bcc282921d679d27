"""`validate.cel`: the rule fails where one of its CEL expressions is not true.

Source of the rules: upstream pkg/engine/handlers/validation/validate_cel.go.
"""

from collections.abc import Iterator, Mapping

from kyvsim.engine.compile.compiled import CompiledBody
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.rule_type import Autogen, PodTemplate, Remark, RuleContext, RuleType
from kyvsim.languages.classic.rules.cel_body import cel_problems, compile_cel
from kyvsim.model.result import Phase


def _compile(context: RuleContext) -> CompiledBody:
    return compile_cel(context)


def _carried(section: Json, _: PodTemplate) -> Json:
    """Return the whole section, as upstream does, unless the body is empty."""
    return section if section["cel"] else None


def _problems(cel: Json) -> Iterator[Remark]:
    """Yield what is missing in the frame of a CEL rule; its expressions are another matter."""
    if any(not entry.get("expression") for entry in cel.get("expressions", ())):
        yield (), "cel.expressions.expression is required"
    yield from _parameter_problems(cel)
    for annotation in cel.get("auditAnnotations", ()):
        for name in ("key", "valueExpression"):
            if not annotation.get(name):
                yield (), f"cel.auditAnnotation.{name} is required"


def _parameter_problems(cel: Json) -> Iterator[Remark]:
    kind, reference = cel.get("paramKind"), cel.get("paramRef")
    if kind is not None:
        for name in ("apiVersion", "kind"):
            if not kind.get(name):
                yield (), f"cel.paramKind.{name} is required"
        if reference is None:
            yield (), "cel.paramRef is required"
    if reference is not None:
        if bool(reference.get("name")) == ("selector" in reference):
            yield (), "one of cel.paramRef.name or cel.paramRef.selector must be set"
        if "parameterNotFoundAction" not in reference:
            yield (), "cel.paramRef.parameterNotFoundAction is required"
        if kind is None:
            yield (), "cel.paramKind is required"


def _broken(rule: Mapping[str, Json]) -> Iterator[Remark]:
    return cel_problems(rule) if rule["validate"]["cel"] else iter(())


def _idle(cel: Json) -> Iterator[Remark]:
    if not cel.get("expressions"):
        yield (), "`cel` has no expressions, so it checks nothing"


RULE_TYPE = RuleType(
    ("validate", "cel"),
    Phase.VALIDATE,
    _compile,
    Autogen(_carried, sources=("object", "oldObject")),
    problems=_problems,
    broken=_broken,
    idle=_idle,
    fields=frozenset({"celPreconditions"}),
    reads_context=False,
    tolerant=False,
)
