"""Where the CPU time of `kyvsim apply` goes: a table of stages, for `docs/performance.md`.

Run it as `python tests/bench/bench_stages.py [--pods N] [--runs N] [--write]`. Twenty policies over
Pods as documents, Pods as a cluster dumps them, and such a dump as one List in YAML and JSON. The
last line puts the whole beside what PyYAML's C loader takes for the same text, measured in the
same run: seconds depend on the machine, this ratio hardly does.
"""

import argparse
import importlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from pod_dump import write_documents, write_list
from pod_policies import pods, policies_text

PAGE = Path(__file__).resolve().parent.parent.parent / "docs/performance.md"
BEGIN, END = "<!-- stages: begin -->\n", "<!-- stages: end -->\n"
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
        before, _, rest = PAGE.read_text().partition(BEGIN)
        _, _, after = rest.partition(END)
        PAGE.write_text(f"{before}{BEGIN}{table}{END}{after}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=3, help="the shortest of so many counts")
    parser.add_argument("--write", action="store_true", help=f"write the table into {PAGE.name}")
    parser.add_argument("--measure", choices=tuple(_MEASURES), help=argparse.SUPPRESS)
    parser.add_argument("policies", nargs="?", help=argparse.SUPPRESS)
    parser.add_argument("resources", nargs="?", help=argparse.SUPPRESS)
    return parser.parse_args()


def _table(folder: Path, count: int, runs: int) -> list[str]:
    policy_file = folder / "policies.yaml"
    policy_file.write_text(policies_text())
    inputs = {
        "documents": _write_plain(folder / "plain.yaml", count),
        "dump": write_documents(folder / "dump.yaml", count),
        "YAML List": write_list(folder / "list.yaml", count),
        "JSON List": write_list(folder / "list.json", count),
    }
    found = {name: _stages(policy_file, file, runs) for name, file in inputs.items()}
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


def _write_plain(file: Path, count: int) -> Path:
    with file.open("w") as out:
        for pod in pods(count):
            out.write("---\n")
            yaml.dump(pod, out, Dumper=yaml.CSafeDumper)
    return file


def _stages(policy_file: Path, file: Path, runs: int) -> Mapping[str, float]:
    """Return seconds by stage; what cannot be told apart in one process is a difference."""
    found = [
        {
            "process start": _cpu(["-c", "pass"]),
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


def _cpu(arguments: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


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
    api, text, look = map(_loaded, ("kyvsim.api", "kyvsim.report.text", "kyvsim.report.run"))
    writing = _loaded("kyvsim.report.writing")
    run = api.open_application(api.ApplyInputs((policy_file,), (file,)))
    clock = _Clock()
    pieces = [*writing.render(text.begin, run, look.Look())]
    clock.note("evaluation and report")
    with open("/dev/null", "wb") as out:
        out.writelines(piece.encode() for piece in pieces)
    clock.note("write")
    return clock.found


def _measure_parsing(_policies: str, file: str) -> Mapping[str, float]:
    clock = _Clock()
    with open(file, "rb") as text:
        for _ in yaml.load_all(text, Loader=yaml.CSafeLoader):
            pass
    clock.note(ONLY_PARSING)
    return clock.found


_MEASURES: Mapping[str, Callable[[str, str], Mapping[str, float]]] = {
    "reading": _measure_reading,
    "evaluation": _measure_evaluation,
    "report": _measure_report,
    "parsing": _measure_parsing,
}


if __name__ == "__main__":
    main()
