"""GeneratingPolicy and NamespacedGeneratingPolicy of `policies.kyverno.io`.

The entries of `generate` run in order: an expression makes objects by calling `generator.Apply`, a
template describes them. The first that cannot be evaluated ends it, and nothing is generated.

Source of the rules: upstream pkg/cel/policies/gpol (compiler/policy.go, engine/engine.go) and, for
what becomes of the objects, pkg/cel/libs/fake_context.go.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from kyvsim.cel import Program
from kyvsim.cel.kyverno.cluster import Generator
from kyvsim.cel.types import BOOL
from kyvsim.engine.compile.compiled import CompiledBody, Evaluation, Outcome
from kyvsim.kubernetes.discovery import KindTable
from kyvsim.kubernetes.objects import Json, object_key
from kyvsim.languages.cel.expressions import (
    Compiler,
    EvaluationError,
    ExpressionProblem,
    all_hold,
    annotation_texts,
    evaluate,
)
from kyvsim.languages.cel.kind import CelKind, PolicyPart
from kyvsim.languages.cel.template import Template, TemplateError, compile_template
from kyvsim.languages.cel.values import RequestValues
from kyvsim.model.ports import STEPS_OF_AN_OBJECT, Meter
from kyvsim.model.probe import PointKind
from kyvsim.model.result import RuleStatus, Stage
from kyvsim.model.source import Path
from kyvsim.schema.kinds import is_cluster_scoped

_SPEC = ("spec",)

_Generate: TypeAlias = Callable[[Sequence[Any], "Generated"], None]
"""Runs one entry of `generate`; raises EvaluationError."""


class GeneratingPolicy(NamedTuple):
    """A policy as programs."""

    values: RequestValues
    conditions: tuple[Program, ...]
    generations: tuple[_Generate, ...]
    annotations: Mapping[str, Program]
    namespace: str
    """Of a namespaced policy, which generates nothing elsewhere."""
    kinds: KindTable
    """What the given definitions of custom resources tell."""
    meter: Meter
    """Counts the objects that are made."""


class Generated:
    """The objects that one evaluation of a policy makes."""

    def __init__(
        self, policy: GeneratingPolicy, writes: Callable[[str, Json], None] | None = None
    ) -> None:
        """Take what writes objects at once, if this is more than a trial."""
        self.objects: list[Json] = []
        self._policy = policy
        self._writes = writes

    def add(self, namespace: str, objects: Sequence[Json]) -> None:
        """Take objects into a namespace, lists as what they hold; raises ValueError."""
        for one in objects:
            for part in _parts(one):
                self._policy.meter.spend(STEPS_OF_AN_OBJECT)
                if self._writes is not None:
                    self._writes(namespace, part)
                else:
                    self.objects.append(_moved(part, self._target(part, namespace)))

    def _target(self, obj: Json, namespace: str) -> str:
        """Return the namespace of an object, "" for one of a cluster-scoped kind.

        A kind of unknown scope counts as namespaced if a namespace is given. Raises ValueError for
        what no cluster makes. upstream: pkg/cel/libs/context.go `GenerateResources`
        """
        api_version, kind, _, name = object_key(obj)
        is_cluster_wide = is_cluster_scoped(f"{api_version}/{kind}", self._policy.kinds)
        if is_cluster_wide and namespace and self._policy.namespace:
            raise ValueError(
                f'cross-scope generation denied: a policy scoped to namespace "{namespace}" '
                f"cannot generate cluster-scoped resource {api_version}/{kind}"
            )
        if is_cluster_wide is False and not namespace:
            raise ValueError(f"no namespace is given for {kind} `{name}`, which needs one")
        return "" if is_cluster_wide else namespace


def _parts(obj: Json) -> Iterator[Json]:
    items = obj.get("items")
    if items.__class__ is not list:
        yield obj
        return
    for item in items:
        if item.__class__ is not dict:
            raise ValueError("items member is not an object: map[string]interface {}")
        yield item


def _moved(obj: Json, namespace: str) -> Json:
    """Return an object with another namespace; with none at all for ""."""
    metadata = obj.get("metadata", {} if namespace else None)
    if metadata.__class__ is not dict:
        return obj
    placed = {key: value for key, value in metadata.items() if key != "namespace"}
    if namespace:
        placed["namespace"] = namespace
    return {**obj, "metadata": placed}


def _compile(part: PolicyPart) -> CompiledBody:
    spec, compiler = part.spec, part.compiler
    conditions = compiler.conditions(spec.get("matchConditions") or (), (*_SPEC, "matchConditions"))
    variables = compiler.variables(spec.get("variables") or (), (*_SPEC, "variables"))
    generations = [
        _compile_entry(entry, compiler, (*_SPEC, "generate", index), part.policy.namespace)
        for index, entry in enumerate(spec.get("generate") or ())
    ]
    annotations = compiler.annotations(
        spec.get("auditAnnotations") or (), (*_SPEC, "auditAnnotations")
    )
    policy = GeneratingPolicy(
        values=RequestValues(part, variables),
        conditions=conditions,
        generations=tuple(one for one in generations if one),
        annotations=annotations,
        namespace=part.policy.namespace,
        kinds=part.options.kinds,
        meter=part.options.system.meter,
    )
    return lambda evaluation: _evaluated(policy, evaluation)


def _compile_entry(entry: Json, compiler: Compiler, path: Path, namespace: str) -> _Generate | None:
    """Return what runs an entry; None with a problem noted."""
    template, expression = entry.get("template"), entry.get("expression")
    if (template is None) is (expression is None):
        # Kyverno's definition says so in a rule of its own; a policy that breaks it is not loaded.
        text = "exactly one of expression or template must be set"
        compiler.problems.append(ExpressionProblem(path, "", text))
        return None
    if template is None:
        program = compiler.compile(expression, (*path, "expression"), BOOL, decides=False)
        return (lambda values, _: evaluate(program, values)) if program else None
    text, place = template["value"], (*path, "template", "value")
    try:
        compiled = compile_template(
            text, compiler, interpolates=template.get("interpolate") == "cel"
        )
    except TemplateError as error:
        compiler.problems.append(ExpressionProblem(place, text, str(error)))
        return None
    seen = compiler.probe.at(*place[1:]).point(PointKind.EXPRESSION, "evaluated")

    def run(values: Sequence[Any], generated: Generated) -> None:
        _apply(compiled, values, generated, namespace)
        if seen:
            seen(0)

    return run


def _apply(template: Template, values: Sequence[Any], generated: Generated, namespace: str) -> None:
    """Take in what a template makes, each object into the namespace that it names."""
    try:
        rendered = template.render(values)
    except EvaluationError as error:
        raise EvaluationError(f"failed to render generation template: {error}") from None
    by_namespace: dict[str, list[Json]] = {}
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


def _evaluated(policy: GeneratingPolicy, evaluation: Evaluation) -> Outcome | None:
    generated = Generated(policy, evaluation.scope.outside.writes)
    generator = Generator(generated.add, policy.namespace)
    values = policy.values.of(evaluation, generator=generator)
    try:
        if not all_hold(policy.conditions, values):
            return None
        for generate in policy.generations:
            generate(values, generated)
        properties = annotation_texts(policy.annotations, values, quote='"')
    except EvaluationError as error:
        return KIND.unevaluated(error)
    made = tuple(generated.objects)
    return Outcome(
        RuleStatus.PASS, "policy evaluated successfully", generated=made, properties=properties
    )


KIND = CelKind("GeneratingPolicy", Stage.CEL_GENERATE, _compile, later=True)
