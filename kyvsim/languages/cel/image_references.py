"""`matchImageReferences`: which images a policy is about.

Source of the rules: upstream pkg/cel/compiler (compiler.go, image.go), pkg/cel/matching/image.go.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kyvsim.cel import BudgetError, CelError, CompileError, compile_expression
from kyvsim.cel.kyverno.environments import image_reference_environment
from kyvsim.cel.types import BOOL
from kyvsim.kubernetes.globs import GlobError, compile_glob
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.cel.expressions import ExpressionProblem
from kyvsim.model.source import Path

_Test = Callable[[str], Any]
_NEITHER = "either glob or expression must be set"


class ImageReferences(NamedTuple):
    """The entries ready to run."""

    tests: tuple[_Test, ...]

    def take(self, image: str) -> bool:
        """Return whether an image is one of them; with no entry all are. Raises CelError."""
        return not self.tests or any(test(image) for test in self.tests)


def compile_references(
    entries: Sequence[Json], path: Path, problems: list[ExpressionProblem]
) -> ImageReferences:
    """Return the entries compiled; what is wrong with them is added to `problems`."""
    tests: list[_Test] = []
    for index, entry in enumerate(entries):
        field = next((name for name in ("glob", "expression") if entry.get(name)), "")
        if not field:
            place = (*path, index)
            problems.append(ExpressionProblem(place, "", _NEITHER, shown=(place, "{}")))
            continue
        text = entry[field]
        try:
            tests.append(compile_glob(text).fullmatch if field == "glob" else _asked(text))
        except (GlobError, CompileError) as error:
            shown = getattr(error, "listing", str(error))
            message = shown or "output is expected to be of type bool"
            problems.append(ExpressionProblem((*path, index, field), text, message))
    return ImageReferences(tuple(tests))


def _asked(text: str) -> _Test:
    program = compile_expression(text, image_reference_environment(), BOOL)

    def test(image: str) -> Any:
        try:
            return program.evaluate((image,))
        except BudgetError as error:
            raise CelError(str(error)) from None

    return test
