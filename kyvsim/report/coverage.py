"""What tests reached in policies, as text, JSON and lcov."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from kyvsim.kubernetes.objects import Json
from kyvsim.model.source import Path
from kyvsim.model.tracing import Coverage, FileCoverage, Point, PointKind, Ratio
from kyvsim.report.object_text import to_json
from kyvsim.report.style import safe_line


def render_text(coverage: Coverage) -> Iterator[str]:
    """Yield a line for each file, what was not reached below it, and the sum at the end."""
    for file in coverage.files:
        yield safe_line(f"{percent_text(file.ratio)}  {file.file}") + "\n"
        for line in _unreached(file):
            yield f"  {safe_line(line)}\n"
    yield f"coverage: {percent_text(coverage.ratio).lstrip()}\n"


def percent_text(ratio: Ratio) -> str:
    """Return a ratio as a percentage with the numbers behind it."""
    if not ratio.total:
        return "nothing to cover"
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
    return f"was never {missing[0]}" if point.hits else "was never evaluated"


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

# What tests reached in policies as one JSON document, for programs.


def render_json(coverage: Coverage) -> Iterator[str]:
    """Yield the document a file at a time."""
    yield '{"files": ['
    between = "\n  "
    for file in coverage.files:
        yield f"{between}{to_json(_file_json(file))}"
        between = ",\n  "
    yield f'],\n"summary": {to_json(ratio_json(coverage.ratio))}}}\n'


def _file_json(file: FileCoverage) -> Json:
    points = [point_json(point) for point in file.points]
    return {"file": file.file, **ratio_json(file.ratio), "points": points}


def ratio_json(ratio: Ratio) -> dict[str, Json]:
    """Return how much was reached."""
    return {"reached": ratio.reached, "total": ratio.total, "percent": ratio.percent}


def point_json(point: Point) -> Json:
    """Return a point with how often each outcome came up."""
    return {
        "kind": point.kind.value,
        "policy": point.policy,
        "rule": point.rule,
        "path": path_text(point.path),
        "line": point.location.line,
        "column": point.location.column,
        "outcomes": {outcome.name: outcome.times for outcome in point.outcomes},
    }


# What tests reached in policies as an lcov tracefile, for viewers of coverage.
#
# Rules are its functions, points its branches, and their lines its lines. Source of the form:
# geninfo(1), "FILES".


def render_lcov(coverage: Coverage) -> Iterator[str]:
    """Yield the records of each file."""
    for file in coverage.files:
        for line in _records(file):
            yield f"{line}\n"


def _records(file: FileCoverage) -> Iterator[str]:
    yield "TN:"
    yield f"SF:{file.file}"
    rules = [one for one in file.points if one.kind is PointKind.RULE]
    named: dict[str, Point] = {}
    for rule in rules:
        name = safe_line(f"{rule.policy}/{rule.rule}" if rule.rule else rule.policy)
        # Readers of the format know a function by its name alone.
        named[f"{name}:{rule.location.line}" if name in named else name] = rule
    for name, rule in named.items():
        yield f"FN:{rule.location.line},{name}"
    for name, rule in named.items():
        yield f"FNDA:{rule.hits},{name}"
    yield f"FNF:{len(named)}"
    yield f"FNH:{sum(bool(rule.hits) for rule in rules)}"
    for block, point in enumerate(file.points):
        for number, outcome in enumerate(point.outcomes):
            # A dash says that the block was never run at all.
            taken = str(outcome.times) if point.hits else "-"
            yield f"BRDA:{point.location.line},{block},{number},{taken}"
    yield f"BRF:{file.ratio.total}"
    yield f"BRH:{file.ratio.reached}"
    yield from _lines(file)
    yield "end_of_record"


def _lines(file: FileCoverage) -> Iterator[str]:
    hits: dict[int, int] = {}
    for point in file.points:
        hits[point.location.line] = hits.get(point.location.line, 0) + point.hits
    for line, times in sorted(hits.items()):
        yield f"DA:{line},{times}"
    yield f"LF:{len(hits)}"
    yield f"LH:{sum(map(bool, hits.values()))}"
