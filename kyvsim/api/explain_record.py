"""What rules ask while they are evaluated, kept as trees of steps by who follows."""

from collections.abc import Iterator

from kyvsim.model.explanation import RuleExplanation, RuleRun, Step, StepKind, TracedRule
from kyvsim.model.policy import Rule
from kyvsim.model.result import EngineResponse, RuleResult, Stage

MOST_STEPS = 20_000
"""Steps of one rule on one object that are kept: nobody reads more, loops may have a million."""


class Recorder:
    """Follows evaluations, and keeps their steps until they are taken."""

    def __init__(self) -> None:
        self._told: list[tuple[RuleRun, list[Step]]] = []
        self._open: list[tuple[int, list[Step]]] = []
        self._marks = 0
        self._resumed = False
        self._left = MOST_STEPS

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

    def begin(self) -> int:
        """Take notice of a step that begins; 0 where a rule has told enough."""
        if self._left <= 0:
            return 0
        self._left -= 1
        self._marks += 1
        self._open.append((self._marks, []))
        return self._marks

    def end(self, mark: int, step: Step | None) -> None:
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
