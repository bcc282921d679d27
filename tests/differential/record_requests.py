"""Asks the reference what expressions decide on requests, and writes the answers beside them."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ANSWERS = Path(__file__).parent / "requests.jsonl"


def main() -> None:
    """Ask every question of the file again; the argument is the path of Kyverno's command."""
    reference = sys.argv[1]
    asked = [json.loads(line) for line in ANSWERS.read_text().splitlines()]
    found = [{**question(one), **answer(reference, one)} for one in asked]
    ANSWERS.write_text("".join(f"{json.dumps(one)}\n" for one in found))


def question(entry):
    """Return an entry without its answer."""
    return {key: entry[key] for key in ("mode", "payload", "expression")}


def answer(reference, entry):
    """Return what the reference says of an entry."""
    policy = {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ValidatingPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "evaluation": {"mode": entry["mode"]},
            "validations": [{"expression": entry["expression"]}],
        },
    }
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "policy.yaml").write_text(json.dumps(policy))
        Path(folder, "payload.json").write_text(json.dumps(entry["payload"]))
        option = f"--{entry['mode'].lower()}-payload"
        command = [reference, "apply", "policy.yaml", option, "payload.json", "-p"]
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    refused = re.search(r"ERROR: <input>:\d+:\d+: (.*)", done.stderr)
    if refused:
        return {"refused": refused[1]}
    (row,) = yaml.safe_load(done.stdout)["results"]
    return {"result": row["result"], "message": row.get("message", "")}


if __name__ == "__main__":
    main()
