"""Coverage of policies by tests, as text, JSON, lcov and HTML."""

from collections.abc import Iterator, Mapping

from kyvsim.kubernetes.objects import path_text
from kyvsim.model.coverage import Coverage, Point, Ratio
from kyvsim.model.tracing import PointKind
from kyvsim.report.object_text import json_document
from kyvsim.report.page import page
from kyvsim.report.style import counted, safe_line


def render_text(coverage: Coverage) -> Iterator[str]:
    """Yield a line for each file, with unreached points below it, and the total at the end."""
    for file in coverage.files:
        yield safe_line(f"{percent_text(file.ratio)}  {file.file}") + "\n"
        for point in file.points:
            missing = [outcome.name for outcome in point.outcomes if not outcome.times]
            if missing:
                place = f"{point.location.file}:{point.location.line}"
                yield f"  {safe_line(f'{place}: {_unreached(point, missing)}')}\n"
    yield f"coverage: {percent_text(coverage.ratio).lstrip()}\n"


def percent_text(ratio: Ratio) -> str:
    """Return a ratio as a percentage with its numbers."""
    if not ratio.total:
        return "nothing to cover"
    return f"{ratio.percent:5.1f}% ({ratio.reached} of {ratio.total})"


def _unreached(point: Point, missing: list[str]) -> str:
    kind, names = point.kind, " or ".join(missing)
    whole = f"rule `{point.rule}`" if point.rule else f"policy `{point.policy}`"
    if kind is PointKind.EXCEPTION:
        return f"exception for `{point.rule}` of policy `{point.policy}` was never applied"
    if kind is PointKind.RULE:
        return f"{whole} never {names}"
    if kind is PointKind.VARIANT:
        suffix = f"-{point.rule}" if point.rule else ""
        forms = [name if name == "as written" else f"as `{name}{suffix}`" for name in missing]
        return f"{whole} never applied {' or '.join(forms)}"
    if kind is PointKind.CONDITION:
        words = f"was never {missing[0]}" if point.hits else "was never evaluated"
    elif kind is PointKind.FOREACH:
        words = f"was never tried with {names}" if point.hits else "never ran"
    else:
        words = _WORDS[kind]
    return f"{whole}: `{path_text(point.inside)}` {words}"


_WORDS: Mapping[PointKind, str] = {
    PointKind.MATCH: "never matched",
    PointKind.EXCLUDE: "never excluded anything",
    PointKind.ALTERNATIVE: "was never chosen",
    PointKind.EXPRESSION: "was never evaluated",
}


def render_html(coverage: Coverage) -> Iterator[str]:
    """Yield the page: for each file, what no test reached, then what was reached."""
    groups = []
    for file in coverage.files:
        entries = []
        for point in file.points:
            missing = [outcome.name for outcome in point.outcomes if not outcome.times]
            times = ", ".join(
                f"{outcome.name} {counted(outcome.times, 'time')}" for outcome in point.outcomes
            )
            entries.append(
                {
                    "status": "not reached" if missing else "reached",
                    "style": "bad" if missing else "good",
                    "policy": point.policy,
                    "rule": " / ".join(filter(None, (point.policy, point.rule))),
                    "place": point.location,
                    "texts": [
                        _unreached(point, missing) if missing else path_text(point.inside),
                        f"{point.kind.value}: {times}",
                    ],
                }
            )
        groups.append(
            {
                "title": percent_text(file.ratio).lstrip(),
                "place": file.file,
                "entries": [one for one in entries if one["style"] == "bad"],
                "folded": [one for one in entries if one["style"] == "good"],
                "folded_as": "reached",
            }
        )
    yield from page(
        "groups.html",
        command="kyvsim test --coverage",
        header="What the tests reached: rules, filters, outcomes of conditions, loops, exceptions",
        ending={
            "line": f"coverage: {percent_text(coverage.ratio).lstrip()}",
            "style": "good" if coverage.ratio.reached == coverage.ratio.total else "warn",
        },
        diagnostics=(),
        subject="By file",
        filters=(("status", "status"), ("policy", "policy"), ("rule", "rule")),
        groups=groups,
        nothing="There is nothing to cover.",
        lists=(),
    )


def render_json(coverage: Coverage) -> Iterator[str]:
    """Yield the document, one file at a time."""
    files = (
        {"file": file.file, **ratio_json(file.ratio), "points": [*map(point_json, file.points)]}
        for file in coverage.files
    )
    yield from json_document(
        "test --coverage", {"files": files, "summary": ratio_json(coverage.ratio)}
    )


def ratio_json(ratio: Ratio) -> dict[str, object]:
    """Return a ratio as JSON data."""
    return {"reached": ratio.reached, "total": ratio.total, "percent": ratio.percent}


def point_json(point: Point) -> dict[str, object]:
    """Return a point with the counts of its outcomes as JSON data."""
    return {
        "kind": point.kind.value,
        "policy": point.policy,
        "rule": point.rule,
        "path": path_text(point.path),
        "line": point.location.line,
        "column": point.location.column,
        "outcomes": {outcome.name: outcome.times for outcome in point.outcomes},
    }


def render_lcov(coverage: Coverage) -> Iterator[str]:
    """Yield the records of each file as an lcov tracefile, for coverage viewers.

    Rules are its functions, points its branches. Source of the format: geninfo(1), "FILES".
    """
    for file in coverage.files:
        yield f"TN:\nSF:{file.file}\n"
        rules = [point for point in file.points if point.kind is PointKind.RULE]
        named: dict[str, Point] = {}
        for rule in rules:
            name = safe_line(f"{rule.policy}/{rule.rule}" if rule.rule else rule.policy)
            # Readers of the format identify a function by its name.
            named[f"{name}:{rule.location.line}" if name in named else name] = rule
        yield from (f"FN:{rule.location.line},{name}\n" for name, rule in named.items())
        yield from (f"FNDA:{rule.hits},{name}\n" for name, rule in named.items())
        yield f"FNF:{len(named)}\nFNH:{sum(bool(rule.hits) for rule in rules)}\n"
        hits: dict[int, int] = {}
        for block, point in enumerate(file.points):
            line = point.location.line
            hits[line] = hits.get(line, 0) + point.hits
            for number, outcome in enumerate(point.outcomes):
                # A dash: the block never ran.
                yield f"BRDA:{line},{block},{number},{outcome.times if point.hits else '-'}\n"
        yield f"BRF:{file.ratio.total}\nBRH:{file.ratio.reached}\n"
        yield from (f"DA:{line},{times}\n" for line, times in sorted(hits.items()))
        yield f"LF:{len(hits)}\nLH:{sum(map(bool, hits.values()))}\nend_of_record\n"
