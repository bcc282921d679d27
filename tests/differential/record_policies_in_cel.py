"""Ask Kyverno what policies in CEL say of one object, and write it beside them.

Run it as `python tests/differential/record_policies_in_cel.py PATH-TO-KYVERNO`; the file is written
anew, with the entries that stand in it. A line holds an `expression`, asked as a variable whose
type and value the message shows, or a `kind` and a `spec`.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

FILE = Path(__file__).with_name("policies_in_cel.jsonl")
OBJECT = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "c", "namespace": "n", "labels": {"a": "x"}},
    "data": {"a": "b", "c": "d"},
}
RULE = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["configmaps"],
}


def policy(entry, name):
    """Return the policy of an entry."""
    spec = entry.get("spec") or {
        "matchConstraints": {"resourceRules": [RULE]},
        "variables": [{"name": "v", "expression": entry["expression"]}],
        "validations": [
            {
                "expression": "false",
                "messageExpression": (
                    "json.marshal(type(variables.v)) + ' ' + json.marshal(dyn(variables.v))"
                ),
            }
        ],
    }
    return {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": entry.get("kind", "ValidatingPolicy"),
        "metadata": {"name": name},
        "spec": spec,
    }


def policies(entries):
    """Return the policies of all entries, by their names."""
    return {f"p{index}": policy(entry, f"p{index}") for index, entry in enumerate(entries)}


def _ask(kyverno, entries):
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        documents = map(json.dumps, policies(entries).values())
        (place / "policies.yaml").write_text("\n---\n".join(documents))
        (place / "object.yaml").write_text(json.dumps(OBJECT))
        command = (kyverno, "apply", "policies.yaml", "-r", "object.yaml", "-p")
        command = (*command, "--output-format", "json")
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    report = json.JSONDecoder().raw_decode(done.stdout[done.stdout.find('{"kind"') :])[0]
    return {
        name: [
            [one.get("rule", ""), one["result"], one.get("message", "")]
            for one in report["results"]
            if one["policy"] == name
        ]
        for name in policies(entries)
    }


def main():
    """Ask, and write the file."""
    entries = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
    answers = _ask(sys.argv[1], entries).values()
    rows = ({**entry, "rows": rows} for entry, rows in zip(entries, answers, strict=True))
    FILE.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), "utf-8")


if __name__ == "__main__":
    main()
