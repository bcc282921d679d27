"""Ask Kyverno what policies of our own deny before and after they are converted.

Run it as `python tests/differential/record_migrated.py PATH-TO-KYVERNO`; `migrated.jsonl` is
written anew, with the policies and objects that stand in it: each policy is converted again.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from kyvsim.api.migrate import migrate
from kyvsim.load.files import Source

FILE = Path(__file__).with_name("migrated.jsonl")


def converted(policy):
    """Return what becomes of a policy."""
    found = migrate((Source("policy.yaml", json.dumps(policy)),))
    return [dict(made.data) for one in found.conversions for made in one.made]


def written(documents, path):
    """Write documents to a file, and return its path."""
    path.write_text("\n---\n".join(map(json.dumps, documents)), "utf-8")
    return path


def _denied(kyverno, policies, objects):
    """Return the names of objects of which some rule fails or errs; no two have the same."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [
            written(policies, Path(folder, "p.yaml")),
            written(objects, Path(folder, "o.yaml")),
        ]
        command = [kyverno, "apply", paths[0], "-r", paths[1], "-p", "--output-format", "json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.JSONDecoder().raw_decode(done.stdout[done.stdout.index('{"kind"') :])[0]
    rows = [one for one in report.get("results") or () if one["result"] in {"fail", "error"}]
    return sorted({of["name"] for one in rows for of in one["resources"]})


def main():
    """Ask, and write the file."""
    lines = []
    for line in map(json.loads, FILE.read_text("utf-8").splitlines()):
        policy, objects = line["policy"], line["objects"]
        becomes = converted(policy)
        denied = {
            "old": _denied(sys.argv[1], [policy], objects),
            "new": _denied(sys.argv[1], becomes, objects),
        }
        found = {"policy": policy, "objects": objects, "becomes": becomes, "denied": denied}
        lines.append(f"{json.dumps(found, ensure_ascii=False)}\n")
    FILE.write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    main()
