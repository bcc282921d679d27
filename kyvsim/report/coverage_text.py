"""What tests reached in policies as text: a percentage for each file, and what was not reached."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from kyvsim.model.source import Path
from kyvsim.model.tracing import Coverage, FileCoverage, Point, PointKind, Ratio
from kyvsim.report.style import safe_line


def render(coverage: Coverage) -> Iterator[str]:
    """Yield a line for each file, what was not reached below it, and the sum at the end."""
    for file in coverage.files:
        yield safe_line(f"{percent_text(file.ratio)}  {file.file}") + "\n"
        for line in _unreached(file):
            yield f"  {safe_line(line)}\n"
    yield f"coverage: {percent_text(coverage.ratio).lstrip()}\n"


def percent_text(ratio: Ratio) -> str:
    """Return a ratio as a percentage with the numbers behind it."""
    if not ratio.total:
        return "there is nothing to reach"
    return f"{ratio.percent:5.1f}% ({ratio.reached} of {ratio.total})"


def _unreached(file: FileCoverage) -> Iterator[str]:
    for point in file.points:
        missing = [one.name for one in point.outcomes if not one.times]
        if missing:
            place = f"{point.location.file}:{point.location.line}"
            yield f"{place}: {_subject(point)} {_WORDS[point.kind](point, missing)}"


def _subject(point: Point) -> str:
    if point.kind is PointKind.EXCEPTION:
        return f"exception for `{point.rule}` of policy `{point.policy}`"
    whole = f"rule `{point.rule}`" if point.rule else f"policy `{point.policy}`"
    if point.kind in {PointKind.RULE, PointKind.VARIANT}:
        return whole
    return f"{whole}: `{path_text(point.inside)}`"


def path_text(path: Path) -> str:
    """Return a way into a document, such as `match.any[0]`."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


def _of_variant(point: Point, missing: list[str]) -> str:
    suffix = f"-{point.rule}" if point.rule else ""
    forms = [name if name == "as written" else f"as `{name}{suffix}`" for name in missing]
    return f"never applied {' or '.join(forms)}"


def _of_condition(point: Point, missing: list[str]) -> str:
    return f"was never {missing[0]}" if point.hits else "was never looked at"


def _of_loop(point: Point, missing: list[str]) -> str:
    return f"was never tried with {' or '.join(missing)}" if point.hits else "never ran"


_WORDS: Mapping[PointKind, Callable[[Point, list[str]], str]] = MappingProxyType(
    {
        PointKind.RULE: lambda _, missing: f"never {' or '.join(missing)}",
        PointKind.VARIANT: _of_variant,
        PointKind.MATCH: lambda *_: "never matched",
        PointKind.EXCLUDE: lambda *_: "never excluded anything",
        PointKind.CONDITION: _of_condition,
        PointKind.ALTERNATIVE: lambda *_: "was never chosen",
        PointKind.FOREACH: _of_loop,
        PointKind.EXPRESSION: lambda *_: "was never evaluated",
        PointKind.EXCEPTION: lambda *_: "was never applied",
    }
)
