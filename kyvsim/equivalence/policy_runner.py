"""One of the two policy sets: its result in a case, and which of its parts were evaluated."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from kyvsim.engine.compile import PolicySet
from kyvsim.engine.evaluate import evaluate
from kyvsim.engine.world import World
from kyvsim.equivalence.cases import Case, details_of
from kyvsim.equivalence.lookups import (
    LookupLog,
    RecordingCluster,
    RecordingImages,
    is_image,
    recorded,
)
from kyvsim.equivalence.objects import NAMESPACE, bindings, with_roles
from kyvsim.kubernetes.discovery import crd_kinds, is_namespaced, plural, split_api_version
from kyvsim.kubernetes.objects import Json, ObjectKey, object_key
from kyvsim.kubernetes.quantities import with_floats
from kyvsim.model.comparison import CaseResult
from kyvsim.model.explanation import RuleRun, Step, StepKind
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import EngineResponse, Phase, PolicyResponse, RuleResult, RuleStatus
from kyvsim.model.tracing import Point
from kyvsim.simulator.admission.review import enforces
from kyvsim.suite.coverage import PointCounter

_BOOKKEEPING = ("app.kubernetes.io/managed-by", "generate.kyverno.io/", "generating-policy")
_REFUSING = frozenset({RuleStatus.FAIL, RuleStatus.ERROR})
_ADMITTING = frozenset({Phase.MUTATE, Phase.VERIFY_IMAGES, Phase.VALIDATE})


class CaseEffect(NamedTuple):
    """What a set of policies does in one case."""

    denied: bool
    """Whether a rule fails or ends in an error before the object is stored."""
    blocked: bool
    """Whether one does so that enforces: others only report it."""
    object: Json
    """The object as it is left."""
    changed: bool
    generated: tuple[Json, ...]
    """Created objects, without Kyverno's own labels, and changes of other objects."""
    deleted: bool
    """Whether a policy that deletes would."""
    said: tuple[CaseResult, ...]
    later: tuple[str, ...] = ()
    """Later effects: when and how the object is deleted, how generated objects are kept in sync."""
    unanswered: bool = False
    """Whether something was looked up in vain."""
    answered: bool = False
    """Whether all that was looked up was there, if anything is ever looked up."""
    open: tuple[ObjectKey, ...] = ()
    """What could be made to be there for it."""

    @property
    def acts(self) -> bool:
        """Whether anything comes of it at all."""
        return self.denied or self.deleted or bool(self.generated) or self.changed


_Part: TypeAlias = tuple[object, ...]


class StepCounter:
    """A tracer that counts the different results of each step.

    If the parts of a step must hold together, it also counts how many of them held at once: parts
    that held one by one do not show that the whole can hold.
    """

    def __init__(self) -> None:
        self._known: set[tuple[object, ...]] = set()
        self._parts: set[_Part] = set()
        self._open: list[tuple[set[_Part], set[_Part]] | None] = []
        """Of each step that has begun the expressions right inside that were false, and true."""
        self.failed_entries = 0
        """How often an entry of a context could not be loaded."""

    def evaluate(self, run: RuleRun) -> None:
        """Ignore which rule it is: locations are unique."""

    def resume(self, run: RuleRun) -> None:
        """Take no notice of which rule it is."""

    def begin(self) -> int:
        """Take a step that begins."""
        self._open.append(None)
        return 1

    def end(self, mark: int, step: Step | None) -> None:
        """Keep what a step came to."""
        del mark
        inner = self._open.pop()
        if step is None:
            return
        kind = step.kind
        if kind is StepKind.CONTEXT and step.answer is RuleStatus.ERROR:
            self.failed_entries += 1
        # Which element or which image it is makes no difference: else every new image would be new.
        is_any = kind is StepKind.IMAGE or step.name.startswith("[")
        name = "" if is_any else step.name
        part = (kind, step.place, name, step.text)
        if kind is StepKind.EXPRESSION and self._open and isinstance(step.answer, bool):
            around = self._open[-1]
            if around is None:
                around = self._open[-1] = (set(), set())
            around[step.answer].add(part)
        held = inner and (len(inner[False]), len(inner[True]))
        self._known.add((part, _answer(step), held))
        if kind is not StepKind.FINDING:
            self._parts.add(part)

    @property
    def count(self) -> int:
        """How many different answers there were."""
        return len(self._known)

    @property
    def parts(self) -> int:
        """How many parts were asked at all; what is only found where one fails is none."""
        return len(self._parts)


def _answer(step: Step) -> object:
    if step.answer is not None or step.found is None:
        return step.answer
    data = step.found.data
    return data.__class__, bool(data)


class CaseWorld:
    """What there is besides the object of a case: the same for both sides."""

    def __init__(
        self,
        world: World,
        given: Sequence[Json],
        definitions: Sequence[Json],
        *,
        stores: bool = False,
        binds: frozenset[str] = frozenset(),
    ) -> None:
        """Take a world to which the given objects are added.

        `stores` says whether policies look at it once the object of a case is there, `binds`
        in which namespaces they ask for roles, none where they do not: "" is that of a case.
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
        self._last: tuple[Case, World] | None = None
        """The world of the last case with answers that were made for it."""

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
            details=self._details(case) if case.part else None,
        )

    def _details(self, case: Case) -> Mapping[str, Json]:
        group, _, kind = case.parent or ("", "", "")
        return details_of(case, plural(group, kind, self._kinds))

    def _read(self, obj: Json) -> Json:
        meta = obj.get("metadata") if obj.__class__ is dict else None
        if meta.__class__ is not dict or meta.get("namespace"):
            return with_floats(obj)
        key = object_key(obj)
        if not is_namespaced(split_api_version(key.api_version)[0], key.kind, self._kinds):
            return with_floats(obj)
        return with_floats({**obj, "metadata": {**meta, "namespace": NAMESPACE}})

    def of(self, request: AdmissionRequest, case: Case) -> World:
        """Return the world of a request: its Namespace is there, as one always is."""
        return self._found(request, case)._replace(arriving=request.subject, spares_triggers=True)

    def _found(self, request: AdmissionRequest, case: Case) -> World:
        if self._stores:
            return self._around(request.namespace, case, request.object)
        if case.there or self._binds:
            if self._last is None or self._last[0] is not case:
                self._last = case, self._around(request.namespace, case)
            return self._last[1]
        key = (request.namespace, tuple(case.namespace_labels.items()))
        if key not in self._worlds:
            self._worlds[key] = self._around(request.namespace, case)
        return self._worlds[key]

    def _around(self, name: str, case: Case, stored: Json | None = None) -> World:
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


class PolicyRunner:
    """A policy set that is evaluated case by case."""

    def __init__(
        self,
        policies: PolicySet,
        case_world: CaseWorld,
        marks: StepCounter | None = None,
        tally: PointCounter | None = None,
        *,
        has_lookups: bool = False,
    ) -> None:
        """Set the tracer and the coverage sink, if the policies were compiled with tracing.

        `has_lookups` says whether they look up anything at all.
        """
        self._has_lookups = has_lookups
        self.policies = policies
        self._case_world = case_world
        self._marks = marks or StepCounter()
        self._tally = tally or PointCounter()

    @property
    def reached(self) -> int:
        """How many different answers the parts of the policies gave so far."""
        return self._marks.count

    @property
    def opened(self) -> int:
        """Return how many parts of the policies gave any answer so far."""
        return self._marks.parts

    def points(self) -> tuple[Point, ...]:
        """Return the coverage counted so far."""
        return self._tally.points()

    def respond(self, request: AdmissionRequest, case: Case) -> EngineResponse:
        """Return the response of the policies to the request of a case."""
        return evaluate(self.policies, request, self._case_world.of(request, case))

    def effect(self, request: AdmissionRequest, case: Case) -> CaseEffect:
        """Return what the policies do with the request of a case."""
        lookups, failed = self._case_world.lookups, self._marks.failed_entries
        lookups.forget()
        found = effect_of(self.respond(request, case), _namespace(request, case))
        if not self._has_lookups:
            return found._replace(answered=True)
        vain = bool(lookups.missed) or self._marks.failed_entries > failed
        return found._replace(
            unanswered=vain,
            answered=lookups.found > 0 and not vain,
            open=(*lookups.missed, *lookups.placeholders),
        )


def _namespace(request: AdmissionRequest, case: Case) -> Json:
    """Return the Namespace of a request as far as actions depend on it; None where it has none."""
    if not request.namespace:
        return None
    return {"metadata": {"name": request.namespace, "labels": dict(case.namespace_labels)}}


def effect_of(response: EngineResponse, namespace: Json = None) -> CaseEffect:
    """Return what comes of a response to a request in a Namespace, None for none."""
    results = [(answer, one) for answer in response.responses for one in answer.results]
    refusals = [
        (answer, one)
        for answer, one in results
        if one.status in _REFUSING
        and answer.phase in _ADMITTING
        and not one.rule.facts.spares_triggers
    ]
    return CaseEffect(
        denied=bool(refusals),
        blocked=any(_blocks(answer, one, namespace) for answer, one in refusals),
        object=response.object,
        changed=any(answer.changed for answer in response.responses)
        and response.object != response.trigger,
        generated=tuple(sorted(_made(results), key=_identity)),
        deleted=any(
            answer.phase is Phase.DELETE and one.status is RuleStatus.PASS
            for answer, one in results
        ),
        said=tuple(
            CaseResult(answer.policy.key, one.rule.name, one.status.value, one.message)
            for answer, one in results
        ),
        later=tuple(sorted({text for answer, one in results for text in _later(answer, one)})),
    )


def _blocks(answer: PolicyResponse, one: RuleResult, namespace: Json) -> bool:
    """Return whether a request is denied for a refusal, by the action of its rule or policy.

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
    """Yield the later effects of a result, from the facts of the policy."""
    if one.status is not RuleStatus.PASS:
        return
    if answer.phase is Phase.DELETE:
        facts = answer.policy.facts
        yield f"it runs on the schedule `{facts.schedule}`, {facts.propagation}"
    elif one.generated:
        yield from (
            f"generated objects have `{name}: true`"
            for name, on in one.rule.facts.upkeep.items()
            if on
        )


def _made(results: Sequence[tuple[PolicyResponse, RuleResult]]) -> Iterator[Json]:
    for _, one in results:
        yield from map(_plain, one.generated)
        yield from (target.object for target in one.targets if target.changed)


def _plain(obj: Json) -> Json:
    """Return an object without the labels by which Kyverno knows what it made.

    A rule can write anything but a map there, which stays as it is.
    """
    meta = obj.get("metadata") or {}
    if meta.__class__ is not dict:
        return obj
    labels = meta.get("labels") or {}
    if labels.__class__ is dict:
        labels = {
            key: value
            for key, value in labels.items()
            if not any(one in key for one in _BOOKKEEPING)
        }
    kept = {name: value for name, value in meta.items() if name != "labels"}
    return {**obj, "metadata": {**kept, "labels": labels} if labels else kept}


def _identity(obj: Json) -> tuple[str, ...]:
    return tuple(object_key(obj))
