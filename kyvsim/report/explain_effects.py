"""What a rule that is explained changed or would create, as lines."""

from collections.abc import Iterator

from kyvsim.model.explanation import Step, StepKind
from kyvsim.report.diff import Marked, hunks
from kyvsim.report.object_diff import marked_yaml
from kyvsim.report.object_yaml import yaml_lines


def effect_lines(step: Step) -> Iterator[Marked]:
    """Yield what a rule changed or would create, as lines of YAML with their marks."""
    if step.kind is StepKind.CHANGE and step.found is not None and step.wanted is not None:
        for mark, line in hunks(marked_yaml(step.found.data, step.wanted.data)):
            yield (" ", "...") if mark == "@" else (mark, line)
    if step.kind is StepKind.GENERATED and step.found is not None:
        yield from (("+", line) for line in yaml_lines(step.found.data))
