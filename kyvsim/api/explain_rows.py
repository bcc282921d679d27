"""Explanations of single results for reports: recorded steps, placed in policies and manifests."""

from collections.abc import Callable, Hashable, Iterator
from itertools import chain
from operator import is_
from typing import TypeAlias

from kyvsim.engine.compile import CompileOptions, PolicySet
from kyvsim.engine.evaluate import STAGES, evaluate, evaluate_payload
from kyvsim.engine.policy import RuleInput, open_request
from kyvsim.engine.world import World
from kyvsim.kubernetes.objects import Json, Path
from kyvsim.languages import compile_policies
from kyvsim.model.explanation import (
    ObjectExplanation,
    RuleExplanation,
    RuleRun,
    Step,
    StepKind,
    TracedRule,
)
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.request import AdmissionRequest, Payload
from kyvsim.model.result import EngineResponse, Phase, RuleResult, RuleStatus, Stage
from kyvsim.model.source import Document
from kyvsim.model.tracing import PointKind, PolicyPlace
from kyvsim.report.explanations import Explain, FailureExplanation, reasons_of
from kyvsim.report.results import Row

# Where the maps and lists of an object stand, to be asked for by what they are or what they
# equal.
#
# A loop asks so for each of its elements: an object is gone through once for all of them.

Numbers = dict[object, int]
"""A number for each distinct value that was seen, by its content: equal values have one."""


class Parts:
    """The paths of an object's maps and lists."""

    def __init__(self, obj: Json, numbers: Numbers) -> None:
        """Take an object, and the numbers that its values share with those of others."""
        self._equal: dict[int, list[tuple[Json, Path]]] = {}
        self._numbers = numbers
        self._add(obj, ())

    def path_of(self, value: Json, number: int) -> Path | None:
        """Return the first place at which this very map or list stands, which has a number."""
        return next((path for one, path in self._equal.get(number, ()) if one is value), None)

    def only_path_of(self, number: int) -> Path | None:
        """Return where a value with a number stands, if that is one place only."""
        equal = self._equal.get(number, ())
        return equal[0][1] if len(equal) == 1 else None

    def _add(self, value: Json, path: Path) -> int:
        if value.__class__ is not dict and value.__class__ is not list:
            return number_of(value, self._numbers)
        content = _content(value, lambda key, one: self._add(one, (*path, key)))
        number = self._numbers.setdefault(content, len(self._numbers))
        self._equal.setdefault(number, []).append((value, path))
        return number


def number_of(value: Json, numbers: Numbers) -> int:
    """Return the number of a value, a new one if none that equals it was seen."""
    content = _content(value, lambda _, one: number_of(one, numbers))
    return numbers.setdefault(content, len(numbers))


def _content(value: Json, number_at: Callable[[str | int, Json], int]) -> Hashable:
    """Return what values that are equal have in common, by the numbers of what is in them."""
    if value.__class__ is dict:
        return frozenset((key, number_at(key, one)) for key, one in value.items())
    if value.__class__ is list:
        return tuple(number_at(index, one) for index, one in enumerate(value))
    return value  # type: ignore[no-any-return]


# Where in an object, and in its manifest, the steps of an explanation looked.


def with_places(found: ObjectExplanation) -> ObjectExplanation:
    """Return an explanation whose steps have whole paths, and places in the manifest."""
    placed = Placing(found.response.document, object_states(found.response))
    return found._replace(
        rules=tuple(
            rule._replace(
                steps=tuple(placed.step(one, ()) for one in rule.steps),
                before=tuple(placed.step(one, ()) for one in rule.before),
            )
            for rule in found.rules
        )
    )


def object_states(response: EngineResponse) -> tuple[Json, ...]:
    """Return the object of a response in each state in which rules saw it."""
    found: list[Json] = []
    states = (answer.object for answer in response.responses)
    for one in (*states, response.object, response.trigger):
        if one is not None and not any(one is known for known in found):
            found.append(one)
    return tuple(found)


class Placing:
    """Finds places in one object, in whatever state rules saw it."""

    def __init__(self, document: Document | None, objects: tuple[Json, ...]) -> None:
        """Take the manifest of an object, and its `object_states`."""
        self._document = document
        self._objects = objects
        self._numbers: Numbers = {}
        self._parts: list[Parts] = []

    def is_about(self, document: Document | None, objects: tuple[Json, ...]) -> bool:
        """Return whether it finds places of these states of an object."""
        return (
            self._document is document
            and len(self._objects) == len(objects)
            and all(map(is_, self._objects, objects))
        )

    def way(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        """Return a way, of which each step is among those of the one before, with its places.

        Of steps beside the way only those have places that `places` looks at: below the last step,
        and below expressions.
        """
        base: Path | None = ()
        placed = []
        for number, step in enumerate(steps, 1):
            whole = number == len(steps) or step.kind is StepKind.EXPRESSION
            found = self.step(step, base, deep=whole)
            placed.append(found)
            base = found.path if found.path is not None else base
        return tuple(placed)

    def step(self, step: Step, base: Path | None, *, deep: bool = True) -> Step:
        """Return a step, whose surroundings are about what is at `base`, with its place.

        Without `deep` the steps inside it stay without places.
        """
        if step.kind is StepKind.ELEMENT and step.found is not None:
            path = self._of_value(step.found.data)
        elif step.path is None or step.rooted:
            path = step.path
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
            steps = tuple([self.step(one, inner) for one in steps])
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
            step.place,
            path,
            path is not None,
            seen_at,
            steps,
        )

    def _is_whole(self, step: Step) -> bool:
        """Return whether a pattern looked at the object, as it may inside a loop, too."""
        return step.found is not None and any(step.found.data == one for one in self._objects)

    def _has(self, path: Path) -> bool:
        return any(_is_there(obj, path) for obj in self._objects)

    def _of_value(self, value: Json) -> Path | None:
        """Return where a part of the object stands, if that can be said."""
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


# What rules ask while they are evaluated, kept as trees of steps by who follows.

MOST_STEPS = 20_000
"""Steps of one rule on one object that are kept: nobody reads more, loops may have a million."""


class Recorder:
    """Follows evaluations, and keeps their steps until they are taken."""

    takes_steps = True

    def __init__(self) -> None:
        self._told: list[tuple[RuleRun, list[Step]]] = []
        self._open: list[tuple[int, list[Step]]] = []
        self._marks = 0
        self._resumed = False
        self._left = MOST_STEPS

    def declare(self, place: PolicyPlace, kind: PointKind, outcomes: tuple[str, ...]) -> None:
        """Count nothing."""

    def evaluate(self, run: RuleRun) -> None:
        """Take notice of a rule that begins to be evaluated."""
        resumed, self._resumed = self._resumed, False
        if resumed and self._is_reported(run):
            self._told[-1] = (run, self._told[-1][1])
            return
        steps: list[Step] = []
        self._left = MOST_STEPS
        self._told.append((run, steps))
        self._open = [(0, steps)]

    def resume(self, run: RuleRun) -> None:
        """Take notice that a rule is asked on, or before it begins: what is told is its own."""
        steps = self._told[-1][1] if self._is_reported(run) else None
        begun = [one.kind is StepKind.EXCEPTION for one in steps or ()]
        # The background asks exceptions first: another round of them is another evaluation.
        if steps is None or (any(begun[:1]) and not all(begun)):
            self.evaluate(run)
            self._resumed = True

    def _is_reported(self, run: RuleRun) -> bool:
        return bool(self._told) and self._told[-1][0].rule is run.rule

    def enter(self) -> int:
        """Take notice of a step that begins; 0 where a rule has told enough."""
        if self._left <= 0:
            return 0
        self._left -= 1
        self._marks += 1
        self._open.append((self._marks, []))
        return self._marks

    def leave(self, mark: int, step: Step | None) -> None:
        """Take a step that has ended; what was left open inside has ended with it."""
        if not mark or not self._open:
            return
        if self._open[-1][0] == mark:  # nearly always: what began inside it has ended
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
        # An entry of the context belongs to the rule, whoever first asked for it.
        place = self._open[0] if step.kind is StepKind.CONTEXT else self._open[-1]
        place[1].append(whole)

    def taken(self) -> tuple[TracedRule, ...]:
        """Return what was told since it was last taken."""
        found = tuple(TracedRule(run, tuple(steps)) for run, steps in self._told)
        self._told.clear()
        self._open.clear()
        return found


def explained_rules(
    told: tuple[TracedRule, ...], response: EngineResponse
) -> Iterator[RuleExplanation]:
    """Yield the rules that were evaluated; a second time was about the object before."""
    turns: dict[tuple[Rule, Stage], list[TracedRule]] = {}
    for one in told:
        turns.setdefault((one.run.rule, one.run.stage), []).append(one)
    for (run, steps), *again in turns.values():
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
    """Yield what a rule said in its turn; a result may have been given another name."""
    for answer in response.responses:
        if answer.policy is run.policy and answer.phase is run.stage.phase:
            yield from (one for one in answer.results if one.rule.is_renamed(run.rule))


# Single results explained: the policy is evaluated once more, on the object that the rule saw.
#
# The closures are those of `explain`, so the verdict is the engine's. Only what failed is asked,
# and only as often as it is shown: a run that passes pays nothing.

_Ask: TypeAlias = Callable[[PolicySet, EngineResponse, Row], EngineResponse | None]


def compile_explain(
    options: CompileOptions, world: World, payloads: tuple[Payload, ...]
) -> Explain:
    """Return what explains results of a run in a world, with payloads.

    `options` are those of its policies, but for who listens. What is asked about is compiled when
    it is first asked: a rule that validates, else its policy, whose rules see what others changed.
    Of a rule that failed the body alone is asked: it applied, or it had not failed.
    """
    recorder = Recorder()
    followed = options._replace(tracer=recorder)
    known: dict[tuple[Policy, Path | None, bool], list[tuple[Rule | None, PolicySet]]] = {}
    evaluate_again = _compile_evaluate(world, payloads)

    def compiled(row: Row) -> PolicySet:
        only = row.result.rule if row.result.phase is Phase.VALIDATE else None
        failed = row.result.status is RuleStatus.FAIL
        forms = known.setdefault((row.policy, only.path if only else None, failed), [])
        for form, policies in forms:
            # A result that is told by another name has a rule made for it.
            if form is only or (form and only and form.is_renamed(only)):
                return policies
        alone = followed._replace(only=only, settled=failed and only is not None)
        policies, _ = compile_policies((row.policy,), alone)
        forms.append((only, policies))
        return policies

    placing = Placing(None, ())  # failures of one object share what is worked out about it

    def explain(response: EngineResponse, row: Row) -> tuple[FailureExplanation, ...]:
        nonlocal placing
        policies = compiled(row)
        recorder.taken()
        again = evaluate_again(policies, response, row)
        told = recorder.taken()
        if again is None:
            return ()
        rules = explained_rules(told, again)
        found = next((one for one in rules if _has(one, row)), None)
        if found is None:
            return ()
        states = object_states(again)
        if not placing.is_about(response.document, states):
            placing = Placing(response.document, states)
        return reasons_of(found, row.result, placing.way)

    return explain


def _compile_evaluate(world: World, payloads: tuple[Payload, ...]) -> _Ask:
    """Return what evaluates policies on the object that the rule of a row was evaluated on."""
    opened = _compile_opened(world)

    def evaluate_again(
        policies: PolicySet, response: EngineResponse, row: Row
    ) -> EngineResponse | None:
        if response.request is None:
            payload = next((one for one in payloads if one.document is response.document), None)
            return evaluate_payload(policies, payload, world) if payload else None
        request, around, given = opened(response, row)
        phases = {
            answer.phase
            for answer in response.responses
            if answer.policy is row.policy
            and any(_is_same(one, row.result) for one in answer.results)
        }
        stages = (stage for stage in STAGES if stage.phase in phases)
        return evaluate(policies, request, around, [*stages], given=given)

    return evaluate_again


_Opened: TypeAlias = tuple[AdmissionRequest, World, RuleInput | None]
"""A request, the world around it, and what rules are evaluated on, if that is the same for all."""


def _compile_opened(world: World) -> Callable[[EngineResponse, Row], _Opened]:
    """Return what opens the request of a response for a row; failures of one object share it."""
    last: tuple[EngineResponse, Json, _Opened] | None = None

    def opened(response: EngineResponse, row: Row) -> _Opened:
        nonlocal last
        if last is not None and last[0] is response and last[1] is row.resource:
            return last[2]
        request = response.request
        if request is None:
            raise ValueError("a payload is not a request")
        if request.object is not None:
            request = request._replace(object=row.resource)
        around = world._replace(arriving=response.document.data if response.document else None)
        # Given values differ from policy to policy.
        given = None if world.values else open_request(request, around, "")
        found = request, around, given
        last = response, row.resource, found
        return found

    return opened


def _is_same(one: RuleResult, other: RuleResult) -> bool:
    return one.rule is other.rule and one.status is other.status and one.path == other.path


def _has(found: RuleExplanation, row: Row) -> bool:
    result = row.result
    return any(
        (one.rule.name, one.rule.path, one.status, one.path)
        == (result.rule.name, result.rule.path, result.status, result.path)
        for one in found.results
    )
