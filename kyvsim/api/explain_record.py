"""What rules ask while they are evaluated, kept as trees of steps by who follows."""

from kyvsim.light.named_tuple import NamedTuple
from kyvsim.model.explanation import RuleRun, Step, StepKind


class Told(NamedTuple):
    """One evaluation of a rule, and what it told."""

    run: RuleRun
    steps: tuple[Step, ...]


class Recorder:
    """Follows evaluations, and keeps their steps until they are taken."""

    def __init__(self) -> None:
        self._told: list[tuple[RuleRun, list[Step]]] = []
        self._open: list[tuple[int, list[Step]]] = []
        self._marks = 0

    def evaluate(self, run: RuleRun) -> None:
        """Take notice of a rule that begins to be evaluated."""
        steps: list[Step] = []
        self._told.append((run, steps))
        self._open = [(0, steps)]

    def begin(self) -> int:
        """Take notice of a step that begins."""
        self._marks += 1
        self._open.append((self._marks, []))
        return self._marks

    def end(self, mark: int, step: Step | None) -> None:
        """Take a step that has ended; what was left open inside has ended with it."""
        if all(name != mark for name, _ in self._open):
            return
        inside: list[Step] = []
        while self._open:
            name, steps = self._open.pop()
            inside = [*steps, *inside]
            if name == mark:
                break
        if step is None or not self._open:
            return
        whole = step._replace(steps=(*step.steps, *inside))
        # An entry of the context belongs to the rule, whoever first asked for it.
        place = self._open[0] if step.kind is StepKind.CONTEXT else self._open[-1]
        place[1].append(whole)

    def taken(self) -> tuple[Told, ...]:
        """Return what was told since it was last taken."""
        found = tuple(Told(run, tuple(steps)) for run, steps in self._told)
        self._told.clear()
        self._open.clear()
        return found
