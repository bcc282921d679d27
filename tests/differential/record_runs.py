"""Ask Kyverno what whole runs of `apply` say and leave, and write it beside them.

Run it as `python tests/differential/record_runs.py PATH-TO-KYVERNO`; `runs.jsonl` is written anew,
with the questions that stand in it.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from kyvsim.yaml.text import load_all

FILE = Path(__file__).with_name("runs.jsonl")
GIVEN = {
    "policies": "",
    "objects": "--resource",
    "exceptions": "--exception",
    "values": "--values-file",
    "userinfo": "--userinfo",
}
"""What a question may hold, and the option that takes it."""


def written(entry, folder):
    """Write what an entry gives into a folder, and return the paths by their names."""
    paths = {name: Path(folder, f"{name}.yaml") for name in GIVEN if name in entry}
    for name, path in paths.items():
        path.write_text("\n---\n".join(map(json.dumps, entry[name])), "utf-8")
    return paths


def named(obj):
    """Return what a row calls an object."""
    return "/".join((obj.get("kind") or "", obj.get("namespace") or "", obj.get("name") or ""))


def text(obj):
    """Return a text that is the same for the same object, however its numbers are written."""
    return json.dumps(obj, sort_keys=True).replace(".0", "")


def left(found, entry):
    """Return the objects that a run left, without those that it was given, in a fixed order."""
    given = set(map(text, entry["objects"]))
    return sorted((one for one in found if one and text(one) not in given), key=text)


def _ask(kyverno, entry):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out")
        out.mkdir()
        command = [kyverno, "apply", "-o", f"{out}/", "-p", "--output-format", "json"]
        for name, path in written(entry, folder).items():
            command += [GIVEN[name], path] if GIVEN[name] else [path]
        # What Kyverno cuts off a character is no UTF-8.
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", check=False
        )
        made = [one for path in sorted(out.iterdir()) for one in load_all(path.read_text("utf-8"))]
    begin = done.stdout.find('{"kind"')  # without results there is no report
    report = json.JSONDecoder().raw_decode(done.stdout[begin:])[0] if begin >= 0 else {}
    rows = sorted(
        [row["policy"], row.get("rule", ""), named(of), row["result"], row.get("message", "")]
        for row in report.get("results") or []
        for of in row["resources"]
    )
    return {"rows": rows, "left": left(made, entry)}


def main():
    """Ask, and write the file."""
    asked = ("about", *GIVEN)
    lines = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
    entries = [{name: line[name] for name in asked if name in line} for line in lines]
    answered = ({**entry, **_ask(sys.argv[1], entry)} for entry in entries)
    FILE.write_text(
        "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in answered), "utf-8"
    )


if __name__ == "__main__":
    main()
