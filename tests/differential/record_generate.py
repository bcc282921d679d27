"""Ask Kyverno what the entries of GeneratingPolicies in `generate.jsonl` generate.

Run it as `python tests/differential/record_generate.py PATH-TO-KYVERNO`; the file is written anew,
with the entries that stand in it.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from kyvsim.yaml.text import load_all

FILE = Path(__file__).with_name("generate.jsonl")
TRIGGER = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "team-a", "labels": {"team": "a"}},
}
_ERROR = re.compile(r"error: (failed to .*?)\s+pass: ", re.DOTALL)


def policy(entry):
    """Return the policy that has one entry."""
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["namespaces"],
    }
    return {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "GeneratingPolicy",
        "metadata": {"name": "p"},
        "spec": {"matchConstraints": {"resourceRules": [rule]}, "generate": [entry]},
    }


def answer(log, generated):
    """Return what Kyverno said of an entry."""
    if "failed to compile policy" in log:
        return {"refused": True}
    found = _ERROR.search(log)
    if found:
        return {"error": found[1]}
    return {"generated": list(load_all(generated))}


def _ask(kyverno, entry):
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "policy.yaml").write_text(json.dumps(policy(entry)))
        (place / "trigger.yaml").write_text(json.dumps(TRIGGER))
        command = (kyverno, "apply", "policy.yaml", "-r", "trigger.yaml", "-o", "out/")
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
        made = "".join(one.read_text() for one in sorted(place.glob("out/*")))
        return answer(done.stdout + done.stderr, made)


def main():
    """Ask, and write the file."""
    entries = [json.loads(line)["entry"] for line in FILE.read_text("utf-8").splitlines()]
    rows = ({"entry": entry, **_ask(sys.argv[1], entry)} for entry in entries)
    FILE.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), "utf-8")


if __name__ == "__main__":
    main()
