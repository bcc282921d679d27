"""Explanations: records the steps of evaluations, and locates them in policies and manifests."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import chain
from operator import is_
from typing import ParamSpec, TypeVar

from kyvsim.engine.compile import CompiledPolicy, CompiledRule, PolicySet
from kyvsim.engine.evaluate import STAGES, evaluate, evaluate_payload
from kyvsim.engine.policy import RuleInput
from kyvsim.engine.world import World
from kyvsim.kubernetes.objects import Json, Path, text_field
from kyvsim.model.explanation import (
    ObjectExplanation,
    RuleExplanation,
    RuleRun,
    Step,
    StepKind,
    TracedRule,
    Value,
)
from kyvsim.model.policy import Rule
from kyvsim.model.request import AdmissionRequest, Payload
from kyvsim.model.result import EngineResponse, RuleResult, Stage
from kyvsim.model.source import Document
from kyvsim.model.tracing import PointKind, PolicyPlace, TracedConstruct, with_steps

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")

# The recorder: a tracer that stores steps as trees.

MOST_STEPS = 20_000
"""The maximum of stored steps of one rule on one object: loops may have a million."""


class Recorder:
    """A tracer that stores the steps of evaluations until they are retrieved."""

    takes_steps = True

    def __init__(self) -> None:
        self._rules: list[tuple[RuleRun, list[Step]]] = []
        self._open: list[tuple[int, list[Step]]] = []
        self._marks = 0
        self._resumed = False
        self._left = MOST_STEPS

    def declare(self, place: PolicyPlace, kind: PointKind, outcomes: tuple[str, ...]) -> None:
        """Ignore coverage points."""

    def evaluate(self, run: RuleRun) -> None:
        """Begin a rule."""
        resumed, self._resumed = self._resumed, False
        if resumed and self._is_last(run):
            self._rules[-1] = (run, self._rules[-1][1])
            return
        steps: list[Step] = []
        self._left = MOST_STEPS
        self._rules.append((run, steps))
        self._open = [(0, steps)]

    def resume(self, run: RuleRun) -> None:
        """Return to a rule, or begin it."""
        steps = self._rules[-1][1] if self._is_last(run) else None
        begun = [one.kind is StepKind.EXCEPTION for one in steps or ()]
        # The background evaluates exceptions first: evaluating them again is a new evaluation.
        if steps is None or (any(begun[:1]) and not all(begun)):
            self.evaluate(run)
            self._resumed = True

    def _is_last(self, run: RuleRun) -> bool:
        return bool(self._rules) and self._rules[-1][0].rule is run.rule

    def enter(self) -> int:
        """Begin a step; return its mark, 0 if the rule has reached the maximum."""
        if self._left <= 0:
            return 0
        self._left -= 1
        self._marks += 1
        self._open.append((self._marks, []))
        return self._marks

    def leave(self, mark: int, step: Step | None) -> None:
        """End a step, and the steps inside it that were not ended."""
        if not mark or not self._open:
            return
        if self._open[-1][0] == mark:  # usually, since all steps inside it have ended
            inside = self._open.pop()[1]
        elif all(name != mark for name, _ in self._open):
            return
        else:
            inside = []
            while self._open:
                name, steps = self._open.pop()
                inside = [*steps, *inside]
                if name == mark:
                    break
        if step is None or not self._open:
            return
        whole = step._replace(steps=(*step.steps, *inside)) if inside else step
        # A context entry is a step of the rule, whichever part read it first.
        place = self._open[0] if step.kind is StepKind.CONTEXT else self._open[-1]
        place[1].append(whole)

    def wrap(
        self, run: Callable[_Given, _Found], construct: TracedConstruct[_Given, _Found]
    ) -> Callable[_Given, _Found]:
        """Return a closure that stores a step for each call."""
        return with_steps(self, run, construct)

    def taken(self) -> tuple[TracedRule, ...]:
        """Return the rules evaluated since the last call."""
        found = tuple(TracedRule(run, tuple(steps)) for run, steps in self._rules)
        self._rules.clear()
        self._open.clear()
        return found


# Converts recorded steps to explanations.


def explain(
    policies: PolicySet,
    recorder: Recorder,
    request: AdmissionRequest | Payload,
    result: RuleResult,
    world: World,
    stages: Iterable[Stage] = STAGES,
    *,
    given: RuleInput | None = None,
) -> ObjectExplanation | None:
    """Return how a rule comes to a result, by evaluating policies on a request again.

    The policies were compiled with `recorder` as their tracer; the closures are those of every
    evaluation, so the result is the engine's. `given` is as for `evaluate`. The steps are not
    located yet. None if the rule has a different result this time.
    """
    recorder.taken()
    if isinstance(request, Payload):
        response = evaluate_payload(policies, request, world)
    else:
        response = evaluate(policies, request, world, stages, given=given)
    wanted = _identity(result)
    for rule in explained_rules(recorder.taken(), response):
        if any(_identity(one) == wanted for one in rule.results):
            return ObjectExplanation(response, (rule,))
    return None


def _identity(result: RuleResult) -> tuple[object, ...]:
    return result.rule.name, result.rule.path, result.status, result.path


def explained_rules(
    evaluated: tuple[TracedRule, ...], response: EngineResponse
) -> Iterator[RuleExplanation]:
    """Yield the evaluated rules; a second evaluation was about the old object."""
    by_rule: dict[tuple[Rule, Stage], list[TracedRule]] = {}
    for one in evaluated:
        by_rule.setdefault((one.run.rule, one.run.stage), []).append(one)
    for (run, steps), *again in by_rule.values():
        yield RuleExplanation(
            policy=run.policy,
            rule=run.rule,
            stage=run.stage,
            results=tuple(_results(run, response)),
            steps=steps,
            place=run.policy.document.locate(run.rule.path),
            before=again[-1].steps if again else (),
        )


def _results(run: RuleRun, response: EngineResponse) -> Iterator[RuleResult]:
    """Yield the results of a rule in its stage, which may have a different rule name."""
    for answer in response.responses:
        if answer.policy is run.policy and answer.phase is run.stage.phase:
            yield from (one for one in answer.results if one.rule.is_renamed(run.rule))


def explanation_of(
    response: EngineResponse, traced: tuple[TracedRule, ...], policies: PolicySet
) -> ObjectExplanation:
    """Return how policies came to a response, from the traced steps."""
    rules = (*explained_rules(traced, response), *_never_evaluated(traced, response, policies))
    return ObjectExplanation(response, rules)


def _never_evaluated(
    evaluated: tuple[TracedRule, ...], response: EngineResponse, policies: PolicySet
) -> Iterator[RuleExplanation]:
    """Yield the rules that no stage evaluated, with the reason; each written rule once."""
    kind = text_field(response.trigger, "kind")
    keys = {(traced.run.policy, traced.run.rule.path, traced.run.stage) for traced in evaluated}
    for policy in policies.policies:
        # The first form of each rule in each stage: the written one, if it is compiled.
        first: dict[tuple[object, object], CompiledRule] = {}
        for rule in policy.every:
            first.setdefault((rule.rule.path, rule.stage), rule)
        for rule in first.values():
            if (policy.policy, rule.rule.path, rule.stage) in keys:
                continue
            yield RuleExplanation(
                policy=policy.policy,
                rule=rule.rule,
                stage=rule.stage,
                results=(),
                steps=(_index(policy, rule, kind, is_gone=response.object is None),),
                place=policy.policy.document.locate(rule.rule.path),
            )


def _index(policy: CompiledPolicy, rule: CompiledRule, kind: str, *, is_gone: bool) -> Step:
    """Return why no stage evaluated a rule for an object of a kind."""
    every = [
        form
        for form in policy.every
        if form.rule.path == rule.rule.path and form.stage is rule.stage
    ]
    step = Step(
        StepKind.INDEX,
        "kinds",
        answer=False,
        wanted=Value(sorted({name for form in every for name in form.kinds or ()})),
        found=Value(kind),
        place=policy.policy.document.locate((*rule.rule.path, "match")),
        path=("kind",),
        rooted=True,
    )
    if all(form.kinds is not None and kind not in form.kinds for form in every):
        return step
    if policy.policy.applies_one_rule:
        note = "an earlier rule of the policy applied, and the policy applies only one rule"
    elif is_gone:
        note = "the object is deleted, and the rule ignores deletions"
    else:
        note = "not evaluated in this stage: there was no object for it"
    return step._replace(note=note)


# Locations of steps in an object, and in its manifest.


def with_places(found: ObjectExplanation) -> ObjectExplanation:
    """Return an explanation whose steps have full paths, and locations in the manifest."""
    placed = Placing(found.response.document, object_states(found.response))
    return found._replace(
        rules=tuple(
            rule._replace(
                steps=tuple(placed.step(one, (), shows_all=True) for one in rule.steps),
                before=tuple(placed.step(one, (), shows_all=True) for one in rule.before),
            )
            for rule in found.rules
        )
    )


def object_states(response: EngineResponse) -> tuple[object, ...]:
    """Return the states of a response's object that rules evaluated."""
    found: list[object] = []
    states = (answer.object for answer in response.responses)
    for one in (*states, response.object, response.trigger):
        if one is not None and not any(one is known for known in found):
            found.append(one)
    return tuple(found)


class Placing:
    """Finds the paths and locations of steps in one object, in any state that rules evaluated."""

    def __init__(self, document: Document | None, objects: tuple[object, ...]) -> None:
        """Store the manifest of an object, and its `object_states`."""
        self._document = document
        self._objects = objects
        self._numbers: Numbers = {}
        self._parts: list[Parts] = []

    def is_about(self, document: Document | None, objects: tuple[object, ...]) -> bool:
        """Return whether it locates steps in these states of an object."""
        return (
            self._document is document
            and len(self._objects) == len(objects)
            and all(map(is_, self._objects, objects))
        )

    def way(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        """Return a chain of nested steps with their locations.

        Steps beside the chain are located only if `places` needs them: below the last step, and
        below expressions.
        """
        base: Path | None = ()
        root: Path = ()
        placed = []
        for number, step in enumerate(steps, 1):
            whole = number == len(steps) or step.kind is StepKind.EXPRESSION
            found = self.step(step, base, root, deep=whole)
            placed.append(found)
            root = found.path or root if step.kind is StepKind.TEMPLATE else root
            base = found.path if found.path is not None else base
        return tuple(placed)

    def step(
        self,
        step: Step,
        base: Path | None,
        root: Path = (),
        *,
        deep: bool = True,
        shows_all: bool = False,
    ) -> Step:
        """Return a step with its location; `base` is the path of the surrounding step.

        `root` is that of the surrounding Pod template. Without `deep` the steps inside it are not
        located. With `shows_all` their locations in the policy are found, too.
        """
        if step.kind in {StepKind.ELEMENT, StepKind.TEMPLATE} and step.found is not None:
            path = self._of_value(step.found.data)
        elif step.path is None or step.rooted:
            path = step.path and (*root, *step.path)
        elif not step.path and step.kind is StepKind.PATTERN and self._is_whole(step):
            path = ()
        else:
            path = None if base is None else (*base, *step.path)
        inner = path if path is not None else base
        seen_at = None
        if path is not None and self._document is not None:
            seen_at = self._document.locate(path)
        steps = step.steps
        if deep and steps:
            root = path or root if step.kind is StepKind.TEMPLATE else root
            steps = tuple([self.step(one, inner, root, shows_all=shows_all) for one in steps])
        found, note = step.found, step.note
        if path and found is not None and found.data is None and not self._has(path):
            found, note = None, note or "absent"
        return Step(
            step.kind,
            step.name,
            step.text,
            step.answer,
            step.wanted,
            found,
            note,
            step.located() if shows_all else step.place,
            path,
            path is not None,
            seen_at,
            steps,
            None if shows_all else step.locate,
        )

    def _is_whole(self, step: Step) -> bool:
        """Return whether a pattern checked the whole object, which is also possible in a loop."""
        return step.found is not None and any(step.found.data == one for one in self._objects)

    def _has(self, path: Path) -> bool:
        return any(_is_there(obj, path) for obj in self._objects)

    def _of_value(self, value: object) -> Path | None:
        """Return the path of a part of the object if it is unique."""
        if value.__class__ is not dict and value.__class__ is not list:
            return None
        if not self._parts:
            self._parts = [Parts(obj, self._numbers) for obj in self._objects]
        number = number_of(value, self._numbers)
        exact = (parts.path_of(value, number) for parts in self._parts)
        equal = (parts.only_path_of(number) for parts in self._parts)
        return next((path for path in chain(exact, equal) if path is not None), None)


def _is_there(value: Json, path: Path) -> bool:
    for step in path:
        is_map = value.__class__ is dict and step in value
        if not is_map and not (value.__class__ is list and step in range(len(value))):
            return False
        value = value[step]
    return True


# The paths of the maps and lists of an object, found by identity or by value.
#
# An object is traversed once for all elements of all loops over it.

Numbers = dict[object, int]
"""A number for each distinct value, by its content: equal values have the same."""


class Parts:
    """The paths of an object's maps and lists."""

    def __init__(self, obj: object, numbers: Numbers) -> None:
        """Store an object, and the numbers of values, which other objects share."""
        self._equal: dict[int, list[tuple[object, Path]]] = {}
        self._numbers = numbers
        self._add(obj, ())

    def path_of(self, value: object, number: int) -> Path | None:
        """Return the first path of this map or list itself, which has a number."""
        return next((path for one, path in self._equal.get(number, ()) if one is value), None)

    def only_path_of(self, number: int) -> Path | None:
        """Return the path of a value with a number if it is unique."""
        equal = self._equal.get(number, ())
        return equal[0][1] if len(equal) == 1 else None

    def _add(self, value: object, path: Path) -> int:
        if value.__class__ is not dict and value.__class__ is not list:
            return number_of(value, self._numbers)
        content = _content(value, lambda key, one: self._add(one, (*path, key)))
        number = self._numbers.setdefault(content, len(self._numbers))
        self._equal.setdefault(number, []).append((value, path))
        return number


def number_of(value: object, numbers: Numbers) -> int:
    """Return the number of a value, a new one if no equal value has one."""
    content = _content(value, lambda _, one: number_of(one, numbers))
    return numbers.setdefault(content, len(numbers))


def _content(value: object, number_at: Callable[[str | int, object], int]) -> Hashable:
    """Return a key that equal values share, made of the numbers of their children."""
    if value.__class__ is dict:
        return frozenset((key, number_at(key, one)) for key, one in value.items())
    if value.__class__ is list:
        return tuple(number_at(index, one) for index, one in enumerate(value))
    return value
