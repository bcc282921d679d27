"""Where the CPU time of `kyvsim apply` goes: a table of stages, for `docs/performance.md`.

Run it as `python tests/bench/bench_stages.py [--pods N] [--runs N] [--write]`. Twenty policies over
Pods as documents, Pods as a cluster dumps them, and such a dump as one List in YAML and JSON. The
last line puts the whole beside what PyYAML's C loader takes for such a text, measured in the same
run: seconds depend on the machine, this ratio hardly does. It parses a tenth of the Pods, once:
with all of them it would take most of the time of the bench. `--write` measures whole runs besides
and renews the page, in a few minutes; with `--library` also those of `bench_published.py`.
"""

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from bench_published import lines as published_lines
from bench_published import options_of
from pod_dump import write_documents, write_list
from pod_policies import pods, policies_text
from runs import python, write_objects

PAGE = Path(__file__).resolve().parent.parent.parent / "docs/performance.md"
BEGIN, END = "<!-- {}: begin -->\n", "<!-- {}: end -->\n"
WHOLE_RUNS = ("apply", "cel", "mutate", "simulate", "memory")
PARSED = 10
"""One Pod of so many is parsed by PyYAML."""
POLICIES = "policies: read, check, compile"
FILES = "files: read, decode"
OBJECTS = "cut into documents, YAML or JSON to objects"
RECORDS = "documents, namespaces, checks of the input"
STAGES = (
    "process start",
    "imports",
    POLICIES,
    FILES,
    OBJECTS,
    RECORDS,
    "evaluation",
    "report",
    "write",
)
ONLY_PARSING = "the same text by PyYAML's C loader"


def main() -> None:
    """Measure and print, or write the page."""
    options = _options()
    if options.measure:
        print(json.dumps(_MEASURES[options.measure](options.policies, options.resources)))
        return
    with tempfile.TemporaryDirectory() as folder:
        table = "\n".join(_table(Path(folder), options.pods, options.runs)) + "\n"
    print(table)
    if options.write:
        page = _with_part(PAGE.read_text(), "stages", table)
        page = _with_part(page, "runs", "\n".join(_whole_runs()) + "\n")
        if options.library:
            published = published_lines(options.library, options.pack, options.reference)
            page = _with_part(page, "published", "\n".join(_block(published)) + "\n")
        PAGE.write_text(page)


def _with_part(page: str, name: str, text: str) -> str:
    """Return the page with another text between the marks of a part."""
    begin, end = BEGIN.format(name), END.format(name)
    before, _, rest = page.partition(begin)
    return f"{before}{begin}{text}{end}{rest.partition(end)[2]}"


def _whole_runs() -> Iterator[str]:
    """Yield what the benches of whole runs say, and where they ran."""
    return _block(line for name in WHOLE_RUNS for line in _loaded(f"bench_{name}").lines())


def _block(lines: Iterable[str]) -> Iterator[str]:
    processors = f"{os.cpu_count()} processors, Python {platform.python_version()}"
    busy = f"{os.getloadavg()[0]:.1f} processes busy at the start"
    yield f"Measured on {datetime.now(UTC):%Y-%m-%d}, {processors}, {busy}:"
    yield from ("", "```text")
    for line in lines:
        print(line, flush=True)
        yield line
    yield "```"


def _options() -> argparse.Namespace:
    parser = options_of(argparse.ArgumentParser(description=__doc__.splitlines()[0]))
    parser.add_argument("--pods", type=int, default=2_000)
    parser.add_argument("--runs", type=int, default=3, help="the shortest of so many counts")
    parser.add_argument("--write", action="store_true", help=f"write the table into {PAGE.name}")
    parser.add_argument("--measure", choices=tuple(_MEASURES), help=argparse.SUPPRESS)
    parser.add_argument("policies", nargs="?", help=argparse.SUPPRESS)
    parser.add_argument("resources", nargs="?", help=argparse.SUPPRESS)
    return parser.parse_args()


def _table(folder: Path, count: int, runs: int) -> list[str]:
    policy_file = folder / "policies.yaml"
    policy_file.write_text(policies_text())
    inputs = _inputs(folder / "all", count)
    found = {name: _stages(policy_file, file, runs) for name, file in inputs.items()}
    few = max(1, count // PARSED)
    for name, file in _inputs(folder / "few", few).items():
        found[name][ONLY_PARSING] = _parsing(file) * count / few
    lines = [
        f"{count:,} Pods x 20 policies, seconds of CPU and per cent:",
        "",
        "| stage | " + " | ".join(inputs) + " |",
        "| --- |" + " ---: |" * len(inputs),
    ]
    wholes = {name: sum(times[one] for one in STAGES) for name, times in found.items()}
    for stage in STAGES:
        cells = (
            f"{times[stage]:.2f} ({100 * times[stage] / wholes[name]:.0f} %)"
            for name, times in found.items()
        )
        lines.append(f"| {stage} | " + " | ".join(cells) + " |")
    lines.append("| **all** | " + " | ".join(f"**{one:.2f}**" for one in wholes.values()) + " |")
    parsed = {name: times[ONLY_PARSING] for name, times in found.items()}
    ratios = (f"{one:.2f} ({wholes[name] / one:.2f} x)" for name, one in parsed.items())
    return [*lines, f"| {ONLY_PARSING} | " + " | ".join(ratios) + " |"]


def _inputs(folder: Path, count: int) -> dict[str, Path]:
    folder.mkdir()
    return {
        "documents": write_objects(folder / "plain.yaml", pods(count)),
        "dump": write_documents(folder / "dump.yaml", count),
        "YAML List": write_list(folder / "list.yaml", count),
        "JSON List": write_list(folder / "list.json", count),
    }


def _stages(policy_file: Path, file: Path, runs: int) -> dict[str, float]:
    """Return seconds by stage; what cannot be told apart in one process is a difference."""
    found = [
        {
            "process start": python("-c", "pass").cpu,
            **{key: value for name in _MEASURES for key, value in _child(name, policy_file, file)},
        }
        for _ in range(runs)
    ]
    best = {stage: min(one[stage] for one in found) for stage in found[0]}
    objects, files = (
        best[OBJECTS],
        best[FILES],
    )
    loading = best["loading"] - best[POLICIES]
    best[RECORDS] = max(0.0, loading - objects - files)
    best["report"] = max(0.0, best["evaluation and report"] - best["evaluation"])
    return best


def _child(measure: str, policy_file: Path, file: Path) -> list[tuple[str, float]]:
    command = [sys.executable, __file__, "--measure", measure, str(policy_file), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout).items())


def _loaded(module: str) -> Any:
    """Return a module: when it is imported is part of what is measured."""
    return importlib.import_module(module)


class _Clock:
    """Notes the CPU time since it was last asked, under a name."""

    def __init__(self) -> None:
        self.found: dict[str, float] = {}
        self._last = time.process_time()

    def note(self, name: str) -> None:
        now = time.process_time()
        self.found[name] = now - self._last
        self._last = now


def _measure_reading(_policies: str, file: str) -> Mapping[str, float]:
    documents, files = _loaded("kyvsim.load.documents"), _loaded("kyvsim.load.files")
    clock = _Clock()
    sources = [*files.read_sources((file,))]
    clock.note(FILES)
    kept = [[*documents.parse_documents(one, documents.AS_RESOURCES)] for one in sources]
    clock.note(OBJECTS)
    assert kept
    return clock.found


def _measure_evaluation(policy_file: str, file: str) -> Mapping[str, float]:
    clock = _Clock()
    _loaded("kyvsim.cli.apply")
    api = _loaded("kyvsim.api")
    clock.note("imports")
    api.open_application(api.ApplyInputs((policy_file,)))
    clock.note(POLICIES)
    run = api.open_application(api.ApplyInputs((policy_file,), (file,)))
    clock.note("loading")
    for _ in run.responses:
        pass
    clock.note("evaluation")
    return clock.found


def _measure_report(policy_file: str, file: str) -> Mapping[str, float]:
    api, text, style = map(
        _loaded, ("kyvsim.api.apply", "kyvsim.report.text", "kyvsim.report.style")
    )
    inputs = _loaded("kyvsim.api.inputs")
    run = api.open_application(inputs.ApplyInputs((policy_file,), (file,)))
    clock = _Clock()
    options = style.RenderOptions(show=style.Show.OBJECTS)
    pieces = [*api.render_document(text.begin_text, run, options)]
    clock.note("evaluation and report")
    with open("/dev/null", "wb") as out:
        out.writelines(piece.encode() for piece in pieces)
    clock.note("write")
    return clock.found


def _parsing(file: Path) -> float:
    """Return the seconds that PyYAML takes for a file."""
    clock = _Clock()
    with file.open("rb") as text:
        for _ in yaml.load_all(text, Loader=yaml.CSafeLoader):
            pass
    clock.note(ONLY_PARSING)
    return clock.found[ONLY_PARSING]


_MEASURES: Mapping[str, Callable[[str, str], Mapping[str, float]]] = {
    "reading": _measure_reading,
    "evaluation": _measure_evaluation,
    "report": _measure_report,
}


if __name__ == "__main__":
    main()
