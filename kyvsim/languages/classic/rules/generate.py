"""`generate`: objects that the background controller would create for a trigger.

Source of the rules: upstream pkg/background/generate/generator.go, pkg/background/common/labels.go.
A rule that is evaluated passes; its note reports why objects are not generated (a missing source, a
variable without value).
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from kyvsim.engine.compile.compiled import CompiledBody, Evaluation, Outcome
from kyvsim.engine.compile.tracing import APPLIED, traced_template
from kyvsim.engine.conditions import ConditionError, ConditionsResult, compile_conditions
from kyvsim.engine.context import MISSING_INPUT, JSONContext
from kyvsim.jmespath import QueryError, compile_template
from kyvsim.kubernetes.discovery import parse_kind_selector, split_api_version
from kyvsim.kubernetes.labels import compile_selector
from kyvsim.kubernetes.objects import (
    Json,
    KubernetesObject,
    ObjectKey,
    labels,
    metadata,
    object_key,
    text_field,
)
from kyvsim.kubernetes.validation import identity_problems
from kyvsim.languages.classic.rule_type import RuleContext, RuleType
from kyvsim.languages.classic.rules.loops import compile_elements, compile_list, hints_for_list
from kyvsim.model.background import GeneratePattern, Generation
from kyvsim.model.policy import Policy, Rule, RuleFacts
from kyvsim.model.ports import STEPS_OF_AN_OBJECT, ClusterView
from kyvsim.model.result import Phase, RuleStatus
from kyvsim.model.simulation import FailureCause
from kyvsim.policy.rule import ForEachGeneration, Generate, GenerateTarget, PolicyNode, RuleNode

_LABEL = "generate.kyverno.io/"


class GenerateError(Exception):
    """A downstream object that cannot be generated."""


class SourceMissingError(GenerateError):
    """The source of a copy does not exist."""


class Sources(NamedTuple):
    """The objects that a rule may copy."""

    cluster: ClusterView
    made: Sequence[KubernetesObject] = ()
    """The objects that earlier rules generated."""

    def get(
        self, api_version: str, kind: str, namespace: str, name: str
    ) -> KubernetesObject | None:
        """Return the object, or None."""
        key = ObjectKey(api_version, kind, namespace, name)
        made = next((one for one in self.made if object_key(one) == key), None)
        return made or self.cluster.get(*key)

    def list(self, api_version: str, kind: str, namespace: str) -> Iterator[KubernetesObject]:
        """Yield the objects of a kind in a namespace ("" for all)."""
        yield from self.cluster.list(api_version, kind, namespace)
        for one in self.made:
            key = object_key(one)
            of_kind = (key.api_version, key.kind) == (api_version, kind)
            if of_kind and namespace in {"", key.namespace} and not self.cluster.get(*key):
                yield one


def downstream_of(pattern: Json) -> ObjectKey:
    """Return the target of a pattern whose variables are replaced."""
    parts = [pattern.get(field) or "" for field in ("apiVersion", "kind", "namespace", "name")]
    if any(part.__class__ is not str for part in parts):
        raise GenerateError(
            "apiVersion, kind, namespace and name of a generated object must be strings"
        )
    return ObjectKey(*parts)


def _downstreams(pattern: Json, sources: Sources) -> Iterator[KubernetesObject]:
    """Yield the objects that a pattern describes: copies of sources, or the object of `data`.

    A source that would be its own copy is skipped.
    """
    if (pattern.get("clone") or {}).get("name"):
        target, clone = downstream_of(pattern), pattern["clone"]
        namespace, name = clone.get("namespace") or "", clone["name"]
        if (namespace, name) == (target.namespace, target.name):
            return
        source = sources.get(target.api_version, target.kind, namespace, name)
        if source is None:
            place = target._replace(namespace=namespace, name=name)
            raise SourceMissingError(f"source resource {'/'.join(place)} not found")
        yield from_source(source, target)
    elif (pattern.get("cloneList") or {}).get("kinds"):
        # Copies of the sources that `cloneList` selects, under their own names.
        clones, namespace = pattern["cloneList"], pattern.get("namespace") or ""
        selects = compile_selector(clones["selector"]) if clones.get("selector") else None
        for text in clones["kinds"]:
            group, version, kind, _ = parse_kind_selector(text)
            api_version = version if group == "*" else f"{group}/{version}"
            for source in sources.list(api_version, kind, clones.get("namespace") or ""):
                key = object_key(source)
                if key.namespace != namespace and not (selects and not selects(labels(source))):
                    yield from_source(source, ObjectKey(api_version, kind, namespace, key.name))
    else:
        data = pattern.get("data")
        yield from_data({} if data is None else data, downstream_of(pattern))


def from_data(data: object, target: ObjectKey) -> KubernetesObject:
    """Return the object that `data` describes, with the target's name."""
    if data.__class__ is not dict:
        raise GenerateError(f"data of {'/'.join(target)} is not a mapping")
    return _named(data, target)


def from_source(source: KubernetesObject, target: ObjectKey) -> KubernetesObject:
    """Return a copy of `source` with the target's name and labels that identify the source."""
    key = object_key(source)
    group, version = split_api_version(key.api_version)
    dropped = ["uid", "selfLink", "creationTimestamp", "managedFields", "resourceVersion"]
    if key.namespace != target.namespace:
        dropped.append("ownerReferences")
    meta = {name: value for name, value in metadata(source).items() if name not in dropped}
    meta["labels"] = {
        **labels(source),
        f"{_LABEL}clone-source": "",
        f"{_LABEL}source-group": group,
        f"{_LABEL}source-version": version,
        f"{_LABEL}source-kind": key.kind,
        f"{_LABEL}source-namespace": key.namespace,
        f"{_LABEL}source-uid": text_field(metadata(source), "uid"),
    }
    return _named({**source, "metadata": meta}, target)


def _named(data: Json, target: ObjectKey) -> KubernetesObject:
    meta = dict(metadata(data))
    for field, value in (("name", target.name), ("namespace", target.namespace)):
        if value:
            meta[field] = value
        else:
            meta.pop(field, None)
    kind = text_field(data, "kind") or target.kind
    return {**data, "apiVersion": target.api_version, "kind": kind, "metadata": meta}


def with_owner_labels(
    downstream: KubernetesObject, policy: Policy, rule: Rule, trigger: KubernetesObject
) -> Json:
    """Return the downstream with the labels that name its rule and trigger."""
    key = object_key(trigger)
    group, version = split_api_version(key.api_version)
    owned = {
        **labels(downstream),
        "app.kubernetes.io/managed-by": "kyverno",
        f"{_LABEL}policy-name": policy.name,
        f"{_LABEL}policy-namespace": policy.namespace,
        f"{_LABEL}rule-name": rule.name,
        f"{_LABEL}trigger-version": version,
        f"{_LABEL}trigger-group": group,
        f"{_LABEL}trigger-kind": key.kind,
        f"{_LABEL}trigger-namespace": key.namespace,
        f"{_LABEL}trigger-uid": text_field(metadata(trigger), "uid"),
    }
    return {**downstream, "metadata": {**metadata(downstream), "labels": owned}}


class GeneratedSet(NamedTuple):
    """The objects that a rule, or one element of its loops, generates, without owner labels."""

    objects: tuple[KubernetesObject, ...] = ()
    problem: str = ""
    """The reason why nothing is generated."""
    place: str = ""
    """The loop and the element with the problem, as upstream writes them."""
    reason: FailureCause = FailureCause.OTHER


GeneratedSets = Callable[[JSONContext], Iterable[GeneratedSet]]


def _compile_set(
    context: RuleContext,
    target: GenerateTarget,
    preconditions: Callable[[JSONContext], ConditionsResult] | None = None,
) -> Callable[[JSONContext, str], GeneratedSet]:
    """Return a function that generates the objects of a target; its argument is upstream's path."""
    template = compile_template(dict(target.fields), context.system)
    template = traced_template(template, "the object to generate", context.trace.to(target.path))
    meter = context.system.meter

    def make(scope: JSONContext, place: str) -> GeneratedSet:
        external, found = scope.external, []
        try:
            if preconditions is not None and not preconditions(scope).met:
                return GeneratedSet()
            filled = template.value if template.constant else template.render(scope)
            own = external.sources(context.policy.key) if external.sources else external.cluster
            for one in _downstreams(filled, Sources(own, external.made)):
                meter.spend(STEPS_OF_AN_OBJECT)
                found.append(one)
        except SourceMissingError as error:
            return GeneratedSet(problem=str(error), place=place, reason=FailureCause.SOURCE_MISSING)
        except (ConditionError, GenerateError, QueryError) as error:
            return GeneratedSet(problem=str(error), place=place, reason=FailureCause.NO_VALUE)
        return GeneratedSet(tuple(found))

    return make


def compile_generated(context: RuleContext) -> GeneratedSets:
    """Return a function that yields the objects of a generate rule; problems do not end loops.

    Raises the errors of `compile_template`.
    """
    generate = _generate_of(context)
    if generate.foreach:
        loops = [_compile_loop(context, *one) for one in enumerate(generate.foreach)]
        return lambda scope: (found for loop in loops for found in loop(scope))
    make = _compile_set(context, generate.target)
    return lambda scope: (make(scope, ""),)


def _generate_of(context: RuleContext) -> Generate:
    generate = context.rule.tree.generate
    if generate is None:
        raise ValueError(f"rule {context.rule.name} has no generate section")
    return generate


def _compile_loop(context: RuleContext, number: int, loop: ForEachGeneration) -> GeneratedSets:
    system, trace = context.system, context.trace.to(loop.path)
    list_of = compile_list(loop.list, system, trace)
    elements_of = compile_elements(loop.context, 0, system, trace)
    preconditions = compile_conditions(loop.preconditions, system, trace.at("preconditions"))
    make = _compile_set(context, loop.target, preconditions)
    start = f"failed to process {number} foreach in rule {context.rule.name}"

    def make_each(scope: JSONContext) -> Iterator[GeneratedSet]:
        try:
            values = list_of(scope)
        except QueryError as error:
            scope.hints += hints_for_list(loop.list, error)
            place = f"failed to evaluate {number} foreach list"
            yield GeneratedSet(problem=str(error), place=place, reason=FailureCause.LIST_FAILED)
            return
        for index, _, own in elements_of(scope, enumerate(values)):
            yield make(own, f"{start}: failed to process {index} element")

    return make_each


def _hints_for_source(scope: JSONContext) -> tuple[str, ...]:
    """Return how to provide the source of a copy; () in a cluster, which has all objects."""
    if scope.external.account is not None:
        return ()
    return (f"{MISSING_INPUT}add the source to the resources, in tests as `cloneSourceResource`",)


def _compile(context: RuleContext) -> CompiledBody:
    sets_of = compile_generated(context)
    generate = _generate_of(context)
    clone_list = generate.target.clone_list
    copies_all = clone_list is not None and any(clone_list[1:])
    synchronizes = generate.synchronize is True

    def evaluate(evaluation: Evaluation) -> Outcome:
        made: list[KubernetesObject] = []
        for found in sets_of(evaluation.scope):
            if found.problem:
                note = f"nothing is generated: {found.problem}"
                if found.reason is FailureCause.SOURCE_MISSING:
                    evaluation.scope.hints += _hints_for_source(evaluation.scope)
                return Outcome(RuleStatus.PASS, "", note=note)
            made += found.objects
        trigger = evaluation.request.subject
        if copies_all and not made:
            chosen = clone_list and clone_list.selector
            labels_of = f": {json.dumps(chosen)}" if chosen else ""
            note = (
                "nothing is generated: no object has the namespace, kinds and labels that "
                f"`cloneList` selects{labels_of}"
            )
            evaluation.scope.hints += _hints_for_source(evaluation.scope)
            return Outcome(RuleStatus.PASS, "", note=note)
        # Objects of earlier elements exist for later ones: they are updated if the rule
        # synchronizes, and left unchanged if not.
        kept: dict[ObjectKey, KubernetesObject] = {}
        again: list[str] = []
        which = "last" if synchronizes else "first"
        for one in made:
            key = object_key(one)
            if key in kept:
                again.append(
                    f"{key.title} is generated more than once by this rule: the {which} one "
                    "takes effect"
                )
            if synchronizes or key not in kept:
                kept[key] = one
        owned = tuple(
            with_owner_labels(one, context.policy, context.rule, trigger) for one in kept.values()
        )
        problems = [text for one in owned for text in identity_problems(one)]
        if problems:
            place = context.policy.document.locate(generate.path)
            problems[-1] += f" (generated at {place})"
        note = "; ".join((*again, *problems))
        return Outcome(RuleStatus.PASS, "", generated=owned, note=note)

    return evaluate


def _facts(facts: RuleFacts, rule: RuleNode, policy: PolicyNode) -> RuleFacts:
    generate = rule.generate
    if generate is None or "generate" not in rule.operations:
        return facts
    existing, loops = generate.generate_existing, generate.foreach
    generation = Generation(
        whole=_pattern_facts(generate.target),
        loops=None
        if loops is None
        else tuple(_pattern_facts(one.target, one.list) for one in loops),
        synchronizes=generate.synchronize is True,
        looks_back=(policy.generate_existing if existing is None else existing) is True,
        orphans=generate.orphan_downstream_on_policy_delete is True,
    )
    settings = {
        "synchronize": generate.synchronize,
        "orphanDownstreamOnPolicyDelete": generate.orphan_downstream_on_policy_delete,
        "useServerSideApply": policy.use_server_side_apply,
    }
    upkeep = {name: value for name, value in settings.items() if value is not None}
    return facts._replace(generation=generation, upkeep=upkeep)


def _pattern_facts(target: GenerateTarget, elements: str = "") -> GeneratePattern:
    # Sources are compared with those of an earlier version of the policy, regardless of paths.
    clone = target.clone and target.clone._replace(path=())
    clone_list = target.clone_list and target.clone_list._replace(path=())
    return GeneratePattern(
        api_version=target.api_version,
        kind=target.kind,
        namespace=target.namespace,
        name=target.name,
        has_data=target.data is not None,
        clone=clone if clone and any(clone) else None,
        clone_list=clone_list if clone_list and any(clone_list) else None,
        list=elements,
    )


_ENDS = APPLIED._replace(
    number_of=lambda outcome: APPLIED.number_of(outcome) if outcome.generated else None
)

RULE_TYPE = RuleType(("generate",), Phase.GENERATE, _compile, facts=_facts, ends=lambda _: _ENDS)
