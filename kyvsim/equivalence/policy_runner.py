"""Evaluate policy sets on cases, compare their effects, and assess differences."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, ParamSpec, TypeVar

from kyvsim.cel.values import JoinedList, MadeList, Optional
from kyvsim.engine.compile import PolicySet
from kyvsim.engine.compile.compiled import Outcome
from kyvsim.engine.conditions.block import ConditionsResult
from kyvsim.engine.evaluate import evaluate
from kyvsim.engine.policy import RuleInput, open_request
from kyvsim.engine.world import World
from kyvsim.equivalence.cases import Case, details_of
from kyvsim.equivalence.field_rules import is_accepted, type_of, with_spec
from kyvsim.equivalence.lookups import (
    LookupLog,
    RecordingCluster,
    RecordingImages,
    is_image,
    recorded,
)
from kyvsim.equivalence.objects import (
    NAMESPACE,
    bindings,
    unwrapped,
    with_roles,
    with_template_metadata,
)
from kyvsim.kubernetes.defaults import with_defaults
from kyvsim.kubernetes.discovery import crd_kinds, is_namespaced, split_api_version
from kyvsim.kubernetes.objects import (
    Json,
    KubernetesObject,
    ObjectKey,
    metadata,
    object_key,
    text_field,
)
from kyvsim.kubernetes.quantities import with_floats
from kyvsim.kubernetes.validation import problems_of
from kyvsim.kubernetes.wildcard import has_wildcard
from kyvsim.model.comparison import CaseResult, DifferenceKind, Limit
from kyvsim.model.coverage import Point
from kyvsim.model.explanation import RuleRun, Step, StepKind
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import EngineResponse, Phase, PolicyResponse, RuleResult, RuleStatus
from kyvsim.model.tracing import Count, PointKind, PolicyPlace, TracedConstruct
from kyvsim.schema.merge_types import FindType
from kyvsim.simulator.admission.review import enforces
from kyvsim.suite.coverage import PointCounter

_IDENTITY = json.JSONEncoder(sort_keys=True, default=str)
_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")
_BOOKKEEPING = ("app.kubernetes.io/managed-by", "generate.kyverno.io/", "generating-policy")
_REFUSING = frozenset({RuleStatus.FAIL, RuleStatus.ERROR})
_ADMITTING = frozenset({Phase.MUTATE, Phase.VERIFY_IMAGES, Phase.VALIDATE})


class CaseEffect(NamedTuple):
    """The effect of a policy set in one case."""

    denied: bool
    """Whether a rule fails or ends in an error before the object is stored."""
    blocked: bool
    """Whether an enforcing rule does so: others only report it."""
    object: KubernetesObject
    """The object after the evaluation."""
    changed: bool
    generated: tuple[KubernetesObject, ...]
    """Created objects, without Kyverno's own labels, and changes of other objects."""
    deleted: bool
    """Whether a policy would delete the object."""
    results: tuple[CaseResult, ...]
    later: tuple[str, ...] = ()
    """Later effects: when and how the object is deleted, how generated objects are kept in sync."""
    unanswered: bool = False
    """Whether a lookup found nothing."""
    answered: bool = True
    """Whether all lookups found something; False if there were none although policies have some."""
    open: tuple[ObjectKey, ...] = ()
    """The keys of objects that could be created for lookups."""

    @property
    def acts(self) -> bool:
        """Whether there is any effect."""
        return self.denied or self.deleted or bool(self.generated) or self.changed


_LISTS = frozenset({list, MadeList, JoinedList})
_PLAIN = _LISTS | {dict, str, int, float, type(None)}
"""The classes of results of which a step shows only the value, besides bool."""


@dataclass(eq=False, slots=True)
class _Part:
    """A part of a policy, and its different results."""

    is_expression: bool
    loads: bool
    """Whether it is a context entry, whose failures are counted."""
    answers: set[tuple[object, tuple[int, int] | None]] = field(default_factory=set)


@dataclass(eq=False, slots=True)
class _PartAnswer:
    """A result of a part."""

    part: _Part
    answer: object
    joins: bool
    """Whether the part is a condition, which steps around it count."""
    is_counted: bool = False
    """Whether it was counted without subexpressions."""


class StepCounter:
    """A tracer that counts the different results of each step, and the outcomes of points.

    If the parts of a step must be true together, it also counts how many of them were true at once:
    parts that were true one by one do not show that the whole can be true.
    """

    takes_steps = True

    def __init__(self) -> None:
        self.points = PointCounter()
        self.answers = 0
        """The number of different results of all parts."""
        self.parts = 0
        """The number of evaluated parts, without those that are only evaluated after a failure."""
        self.failed_entries = 0
        """How often a context entry could not be loaded."""
        self._parts: dict[tuple[object, ...], _Part] = {}
        self._open: list[tuple[set[_Part], set[_Part]] | None] = []
        """For each open step, its direct subexpressions that were false, and the true ones."""

    def declare(self, place: PolicyPlace, kind: PointKind, outcomes: tuple[str, ...]) -> Count:
        """Declare a coverage point."""
        return self.points.declare(place, kind, outcomes)

    def evaluate(self, run: RuleRun) -> None:
        """Ignore which rule it is: locations are unique."""

    def resume(self, run: RuleRun) -> None:
        """Ignore which rule it is: locations are unique."""

    def enter(self) -> int:
        """Open a step."""
        self._open.append(None)
        return 1

    def leave(self, mark: int, step: Step | None) -> None:
        """Count the result of a step."""
        del mark
        if step is None:
            self._open.pop()
        else:
            self._count(self._answer_of(step))

    def wrap(
        self, run: Callable[_Given, _Found], construct: TracedConstruct[_Given, _Found]
    ) -> Callable[_Given, _Found]:
        """Return a closure that counts the results of a construct.

        A whole step is only made for the first result of each kind, which most results equal: other
        values of the same type do not count.
        """
        known: dict[object, _PartAnswer] = {}
        opened = self._open

        def wrapper(*given: _Given.args, **named: _Given.kwargs) -> _Found:
            opened.append(None)
            result: _PartAnswer | None = None
            try:
                found = run(*given, **named)
                kind = found.__class__
                key = found if kind is bool else _key_of(kind, found)
                result = known.get(key)
                if result is None:
                    step = construct.complete(construct.begun, found, *given, **named)
                    result = self._answer_of(step)
                    if key is not None:
                        known[key] = result
            finally:
                if result is None:  # an error, whose step is the same each time
                    failure = known.get(RuleStatus.ERROR)
                    if failure is None or failure.part.loads:
                        failure = known[RuleStatus.ERROR] = self._answer_of(construct.failed())
                    self._count(failure)
            if result.is_counted and not result.joins and opened[-1] is None:
                opened.pop()
            else:
                self._count(result)
            return found

        return wrapper

    def _answer_of(self, step: Step) -> _PartAnswer:
        """Return the part of a step, which is new or known, with its result."""
        # Elements and images are not distinguished, or every new image would count as a new result.
        is_any = step.kind is StepKind.IMAGE or step.name.startswith("[")
        key = (step.kind, step.located(), "" if is_any else step.name, step.text)
        part = self._parts.get(key)
        if part is None:
            is_entry = step.kind is StepKind.CONTEXT
            part = self._parts[key] = _Part(step.kind is StepKind.EXPRESSION, is_entry)
            self.parts += step.kind is not StepKind.FINDING
        answer: object = step.answer
        if part.loads and answer is RuleStatus.ERROR:
            self.failed_entries += 1
        if answer is None and step.found is not None:
            answer = step.found.data.__class__, bool(step.found.data)
        return _PartAnswer(part, answer, part.is_expression and isinstance(answer, bool))

    def _count(self, result: _PartAnswer) -> None:
        """End the last step, with the result of its part."""
        inner = self._open.pop()
        part, answer = result.part, result.answer
        if result.joins and self._open:
            around = self._open[-1]
            if around is None:
                around = self._open[-1] = (set(), set())
            around[bool(answer)].add(part)
        if inner is None:
            if result.is_counted:
                return
            result.is_counted = True
        counts = (answer, inner and (len(inner[False]), len(inner[True])))
        if counts not in part.answers:
            part.answers.add(counts)
            self.answers += 1


def _key_of(kind: type, found: Any) -> object:
    """Return a key of a result that determines that of its step; None if there is none."""
    if kind in _PLAIN:
        return kind, bool(found)
    if kind is Outcome:
        return found.status, found.silent
    if kind is ConditionsResult:
        return found.met
    return kind if kind is Optional else None  # steps have the text of one


class CaseWorld:
    """The other objects and data of a case: the same for both sides."""

    def __init__(
        self,
        world: World,
        given: Sequence[KubernetesObject],
        definitions: Sequence[KubernetesObject],
        *,
        stores: bool = False,
        binds: frozenset[str] = frozenset(),
    ) -> None:
        """Create a world with the given objects added.

        `stores` is whether policies look up the object of a case after it is stored, `binds` are
        the namespaces in which they look up roles: "" is that of a case.
        """
        self.lookups = LookupLog()
        self._binds = binds
        self._stores = stores
        self._world = world
        self._mocks = world.external.mocks
        self._given = given
        self._definitions = definitions
        self._kinds = crd_kinds((*definitions, *given))
        self._worlds: dict[tuple[str, tuple[tuple[str, str], ...]], World] = {}

    def request(self, case: Case) -> AdmissionRequest:
        """Return a case as a request: objects as they are read from manifests.

        All their numbers are floats, and namespaced objects have a namespace.
        """
        obj, old = self._read(case.object), self._read(case.old)
        deletes = case.operation is Operation.DELETE
        namespace, user = object_key(obj).namespace, case.user
        if self._binds:
            there = (*case.there, *self._given, *bindings(user, (*self._binds, namespace)))
            user = with_roles(user, there, namespace)
        return AdmissionRequest(
            case.operation,
            None if deletes else obj,
            obj if deletes else old,
            namespace=namespace,
            user=user,
            subresource=case.part,
            parent_kind=case.parent,
            details=details_of(case, self._kinds) if case.part else None,
        )

    def identity(self, case: Case) -> str:
        """Return a key of the request of a case: equal requests have the same results."""
        labels = dict(case.namespace_labels)
        # The default namespace may be omitted; an empty one is the same, but not accepted.
        obj, old = (
            one if one is None or "namespace" in metadata(one) else self._placed(one)
            for one in (case.object, case.old)
        )
        request = (obj, case.operation, old, case.user, labels)
        return _IDENTITY.encode((*request, case.there, case.part, case.parent))

    def _read(self, obj: KubernetesObject | None) -> KubernetesObject | None:
        read: KubernetesObject | None = with_floats(obj and self._placed(obj))
        return read

    def _placed(self, obj: KubernetesObject) -> KubernetesObject:
        """Return an object with a namespace, if its kind is namespaced."""
        meta = obj.get("metadata")
        if isinstance(meta, dict) and not meta.get("namespace"):
            key = object_key(obj)
            if is_namespaced(split_api_version(key.api_version)[0], key.kind, self._kinds):
                return {**obj, "metadata": {**meta, "namespace": NAMESPACE}}
        return obj

    def of(self, request: AdmissionRequest, case: Case) -> World:
        """Return the world of a request, including its Namespace."""
        if self._stores:
            found = self._around(request.namespace, case, request.object)
        elif case.there or self._binds:
            found = self._around(request.namespace, case)
        else:
            key = (request.namespace, tuple(case.namespace_labels.items()))
            if key not in self._worlds:
                self._worlds[key] = self._around(request.namespace, case)
            found = self._worlds[key]
        return found._replace(arriving=request.subject, spares_triggers=True)

    def _around(self, name: str, case: Case, stored: KubernetesObject | None = None) -> World:
        objects = [*(with_floats(one) for one in case.there if not is_image(one)), *self._given]
        if stored is not None:
            there = object_key(stored)
            objects = [stored, *(one for one in objects if object_key(one) != there)]
        if self._binds:
            objects += bindings(case.user, (*self._binds, name))
        labels, placeholder = case.namespace_labels, None
        if name and (
            labels
            or not any(
                one.get("kind") == "Namespace" and object_key(one).name == name for one in objects
            )
        ):
            meta = {"name": name, "labels": {"kubernetes.io/metadata.name": name, **labels}}
            placeholder = {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}
            objects.insert(0, placeholder)
        made = [with_floats(one) for one in case.there if is_image(one)]
        return self._world._replace(
            cluster=RecordingCluster(objects, self._definitions, self.lookups, placeholder),
            images=RecordingImages(self._world.images, made, self.lookups, dict),
            mocks=self._mocks._replace(
                images=RecordingImages(self._mocks.images, made, self.lookups, recorded)
            ),
        )


@dataclass
class PolicyRunner:
    """A policy set that is evaluated on one case after the other."""

    policies: PolicySet
    case_world: CaseWorld
    marks: StepCounter = field(default_factory=StepCounter)
    """The tracer with which the policies were compiled."""
    has_lookups: bool = False
    """Whether the policies look up data."""

    def points(self) -> tuple[Point, ...]:
        """Return the coverage counted so far."""
        return self.marks.points.points()

    def respond(self, case: Case) -> EngineResponse:
        """Return the response of the policies to the request of a case."""
        request = self.case_world.request(case)
        return evaluate(self.policies, request, self.case_world.of(request, case))

    def effect(
        self, request: AdmissionRequest, case: Case, world: World, given: RuleInput | None
    ) -> CaseEffect:
        """Return the effect of the policies on the request of a case.

        `given` is as for `evaluate`.
        """
        lookups, failed = self.case_world.lookups, self.marks.failed_entries
        lookups.forget()
        name, labels = request.namespace, dict(case.namespace_labels)
        namespace = {"metadata": {"name": name, "labels": labels}} if name else None
        found = effect_of(evaluate(self.policies, request, world, given=given), namespace)
        if not self.has_lookups:
            return found
        vain = bool(lookups.missed) or self.marks.failed_entries > failed
        return found._replace(
            unanswered=vain,
            answered=lookups.found > 0 and not vain,
            open=(*lookups.missed, *lookups.placeholders),
        )


def effect_of(response: EngineResponse, namespace: KubernetesObject | None = None) -> CaseEffect:
    """Return the effect of a response to a request in a Namespace, None if it has none."""
    results: list[CaseResult] = []
    made: list[KubernetesObject] = []
    later: set[str] = set()
    denied = blocked = changed = deleted = False
    for answer in response.responses:
        changed |= answer.changed
        for one in answer.results:
            status = one.status
            results.append(CaseResult(answer.policy.key, one.rule.name, status.value, one.message))
            made += map(_plain, one.generated)
            made += (target.object for target in one.targets if target.changed)
            if status is RuleStatus.PASS:
                deleted |= answer.phase is Phase.DELETE
                later.update(_later(answer, one))
            elif status in _REFUSING and answer.phase in _ADMITTING:
                refuses = not one.rule.facts.spares_triggers
                denied |= refuses
                blocked |= refuses and _blocks(answer, one, namespace)
    return CaseEffect(
        denied=denied,
        blocked=blocked,
        object=response.object,
        changed=changed and response.object != response.trigger,
        generated=tuple(sorted(made, key=object_key)),
        deleted=deleted,
        results=tuple(results),
        later=tuple(sorted(later)),
    )


def _blocks(answer: PolicyResponse, one: RuleResult, namespace: KubernetesObject | None) -> bool:
    """Return whether a failure denies a request, by the action of its rule or policy.

    upstream: pkg/webhooks/utils/block.go, where an error of a policy with `Ignore` blocks nothing
    """
    if answer.phase is Phase.MUTATE:
        return True
    facts = answer.policy.facts
    if one.status is RuleStatus.ERROR and not facts.fails_closed:
        return False
    own = one.rule.facts.image_actions
    if own:
        return any(action.lower() == "enforce" for action in own)
    return enforces(answer.policy, one.rule, namespace)


def _later(answer: PolicyResponse, one: RuleResult) -> Iterator[str]:
    """Yield the later effects of a passed rule, from the facts of the policy."""
    if answer.phase is Phase.DELETE:
        facts = answer.policy.facts
        yield f"it runs on the schedule `{facts.schedule}`, {facts.propagation}"
    elif one.generated:
        for name, on in one.rule.facts.upkeep.items():
            if on:
                yield f"generated objects have `{name}: true`"


def _plain(obj: KubernetesObject) -> KubernetesObject:
    """Return an object without the labels that Kyverno adds to generated objects.

    A rule can write anything other than a map there, which is unchanged.
    """
    meta = obj.get("metadata") or {}
    if meta.__class__ is not dict:
        return obj
    labels = meta.get("labels") or {}
    if labels.__class__ is dict:
        own = {key for key in labels if any(one in key for one in _BOOKKEEPING)}
        labels = {key: value for key, value in labels.items() if key not in own}
    kept = {name: value for name, value in meta.items() if name != "labels"}
    return {**obj, "metadata": {**kept, "labels": labels} if labels else kept}


def difference(old: CaseEffect, new: CaseEffect) -> DifferenceKind | None:
    """Return the most important difference between two effects, None if there is none."""
    if old.denied != new.denied:
        return DifferenceKind.DENIAL_LOST if old.denied else DifferenceKind.DENIAL_GAINED
    if old.deleted != new.deleted:
        return DifferenceKind.DELETION
    if old.blocked != new.blocked:
        return DifferenceKind.ENFORCEMENT_LOST if old.blocked else DifferenceKind.ENFORCEMENT_GAINED
    if old.blocked:
        return None  # a denied object is not stored; one with a reported failure is
    if old.object != new.object:
        same = _unordered(old.object) == _unordered(new.object)
        return DifferenceKind.ORDER if same else DifferenceKind.OBJECT
    if old.generated != new.generated:
        same = _unordered([*old.generated]) == _unordered([*new.generated])
        return DifferenceKind.ORDER if same else DifferenceKind.GENERATED
    return None if old.later == new.later else DifferenceKind.LATER


def _unordered(value: object) -> object:
    """Return a value with sorted lists."""
    if value.__class__ is dict:
        return {name: _unordered(one) for name, one in value.items()}
    if value.__class__ is list:
        return sorted(map(_unordered, value), key=lambda one: json.dumps(one, sort_keys=True))
    return value


UNDERIVED = "ReplicationController"
"""The controller for which CEL policies have no autogen rules."""
_SIGNS = frozenset("*?|&!<>=- ")
"""The characters that make a string a pattern."""
_AS_REFUSED = frozenset({None, DifferenceKind.ENFORCEMENT_LOST, DifferenceKind.ENFORCEMENT_GAINED})
"""The only differences if both sides have the same failures."""


class Verdicts(NamedTuple):
    """The effects of both sides in a case."""

    old: CaseEffect
    new: CaseEffect


class CaseDifference(NamedTuple):
    """A difference in a case, and its assessment."""

    difference: DifferenceKind
    accepted: bool
    """Whether an API server would accept the objects without changes."""
    limit: Limit | None
    """Why it does not count, None if it counts."""
    refusals: tuple[frozenset[str], ...]
    """The failing statuses of either side, whatever the names of its rules."""


@dataclass
class PolicyPair:
    """Two sides, and the types of objects."""

    old: PolicyRunner
    new: PolicyRunner
    case_world: CaseWorld
    find: FindType
    """Finds the types of objects."""
    conditions: frozenset[Limit] = frozenset()
    """The conditions of a conversion of one side to the other: differences that violate them are
    not counterexamples.
    """
    patterns: frozenset[str] = frozenset()
    """The strings with operators in the policies of either side."""

    def reached(self) -> tuple[int, int]:
        """Return the number of different results of all parts so far, and the number of parts."""
        marks = (self.old.marks, self.new.marks)
        return sum(one.answers for one in marks), sum(one.parts for one in marks)

    def run(self, case: Case) -> Verdicts:
        """Return the effects of both sides in a case."""
        request = self.case_world.request(case)
        world = self.case_world.of(request, case)
        # Both sides have the same input, but each has to record its own lookups.
        records = self.old.has_lookups or self.new.has_lookups
        given = None if records else open_request(request, world, "")
        return Verdicts(
            *(side.effect(request, case, world, given) for side in (self.old, self.new))
        )

    def finding(self, case: Case, verdicts: Verdicts) -> CaseDifference | None:
        """Return the difference in a case; None if both results are equal."""
        found = difference(*verdicts)
        if found is None:
            return None
        # Whether an API server would accept all objects of a case, and the update of one.
        there = [one for one in case.there if not is_image(one)]
        old = [] if case.old is None else [case.old]
        accepted = all(is_accepted(one, self.find) for one in (case.object, *old, *there))
        accepted = accepted and not (old and any(problems_of(case.object, case.old)))
        refusals = tuple(
            frozenset(one.status for one in effect.results) - {"pass", "skip"}
            for effect in verdicts
        )
        limit = self._limit(case, verdicts, found)
        if limit is None and not accepted:
            limit = Limit.NOT_ACCEPTED
        if limit is None and Limit.READ_TEXTS in self.conditions:
            limit = Limit.READ_TEXTS if self._depends_on(case, has_wildcard) else None
        if limit is None and self.patterns and self._depends_on(case, self.patterns.__contains__):
            limit = Limit.PATTERN_TEXTS
        if limit is None and case.unusual and type_of(case.object, self.find) is None:
            limit = Limit.UNTYPED
        if limit is None and self._agrees_on_defaults(case):
            limit = Limit.DEFAULTS
        return CaseDifference(found, accepted, limit, refusals)

    def _limit(self, case: Case, verdicts: Verdicts, found: DifferenceKind) -> Limit | None:
        if any(effect.unanswered for effect in verdicts):
            return Limit.UNANSWERED
        if found is DifferenceKind.ORDER:
            return Limit.ORDER
        if self._tolerates(case):
            return Limit.EXISTING
        is_silent = not verdicts.new.results
        refused = {one.status for one in verdicts.old.results} - {"pass", "skip"}
        # The new side does not match an operation for which the old one only has errors.
        is_other = case.operation is not Operation.CREATE and refused == {"error"} and is_silent
        if Limit.OTHER_OPERATIONS in self.conditions and is_other:
            return Limit.OTHER_OPERATIONS
        is_deletion = case.operation is Operation.DELETE and is_silent
        if Limit.DELETIONS in self.conditions and is_deletion:
            return Limit.DELETIONS
        if Limit.READ_AMOUNTS in self.conditions and _ends_in_errors(verdicts):
            return Limit.READ_AMOUNTS
        return Limit.REPLICATION_CONTROLLERS if self._derives_less(case, verdicts) else None

    def _agrees_on_defaults(self, case: Case) -> bool:
        """Return whether both sides have the same effect if an API server sets defaults.

        Given objects are not changed.
        """
        if case.given:
            return False
        whole = self._completed(case.object)
        old = None if case.old is None else self._completed(case.old)
        there = tuple(one if is_image(one) else self._completed(one) for one in case.there)
        if whole == case.object and old == case.old and there == case.there:
            return False
        return difference(*self.run(case._replace(object=whole, old=old, there=there))) is None

    def _completed(self, obj: KubernetesObject) -> KubernetesObject:
        """Return an object with the defaults of an API server."""
        kind = type_of(obj, self.find)
        return with_template_metadata(with_spec(with_defaults(obj), kind))

    def _tolerates(self, case: Case) -> bool:
        """Return whether the cause is that one side tolerates existing violations on updates."""
        if case.operation is not Operation.UPDATE or not any(
            rule.tolerates_violations
            for side in (self.old, self.new)
            for policy in side.policies.policies
            for rule in policy.rules
        ):
            return False
        created = (
            case._replace(object=one, operation=Operation.CREATE, old=None)
            for one in (case.object, case.old)
            if one is not None
        )
        return all(effect.denied for one in created for effect in self.run(one))

    def _depends_on(self, case: Case, meant: Callable[[str], bool]) -> bool:
        """Return whether both sides have the same effect with some strings made plain."""
        plain = case._replace(
            object=_with_plain_texts(case.object, meant),
            old=_with_plain_texts(case.old, meant),
            there=tuple(_with_plain_texts(one, meant) for one in case.there),
        )
        return plain != case and difference(*self.run(plain)) is None

    def _derives_less(self, case: Case, verdicts: Verdicts) -> bool:
        """Return whether the cause is that one side has no rules for a ReplicationController."""
        if text_field(case.object, "kind") != UNDERIVED:
            return False
        pod = unwrapped(case.object)
        if pod is None or [bool(effect.results) for effect in verdicts].count(False) != 1:
            return False
        return difference(*self.run(case._replace(object=pod))) in _AS_REFUSED


def _ends_in_errors(verdicts: Verdicts) -> bool:
    """Return whether only the new side fails, and only with errors of parsing strings."""
    refused = [one for one in verdicts.new.results if one.status not in {"pass", "skip"}]
    return not verdicts.old.denied and all(
        one.status == "error" and ("conversion error" in one.message or "quantit" in one.message)
        for one in refused
    )


def _with_plain_texts(value: Json, meant: Callable[[str], bool]) -> Json:
    """Return a value with special characters in some of its strings replaced by letters."""
    if value.__class__ is dict:
        return {name: _with_plain_texts(one, meant) for name, one in value.items()}
    if value.__class__ is list:
        return [_with_plain_texts(one, meant) for one in value]
    if value.__class__ is not str or not meant(value):
        return value
    return "".join("x" if one in _SIGNS else one for one in value)
