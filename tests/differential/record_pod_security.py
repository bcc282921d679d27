"""Ask the reference program again about pod_security.jsonl, and rewrite it.

Usage: python tests/differential/record_pod_security.py PATH-TO-KYVERNO
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

DATA = Path(__file__).with_name("pod_security.jsonl")


def policy(number, row):
    match = {"any": [{"resources": {"kinds": ["Pod"], "namespaces": [f"n{number}"]}}]}
    rule = {"name": "r", "match": match, "validate": {"podSecurity": row["podSecurity"]}}
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": f"p{number}"},
        "spec": {"rules": [rule]},
    }


def resource(number, row):
    given = row["object"]
    metadata = {**given.get("metadata", {}), "name": "o", "namespace": f"n{number}"}
    return {**given, "metadata": metadata}


def exceptions(number, row):
    """Return the exceptions of a row: `e0`, `e1` … of its namespace."""
    excepted = [{"policyName": f"p{number}", "ruleNames": ["r", "autogen-*"]}]
    match = {"any": [{"resources": {"kinds": ["*"], "namespaces": [f"n{number}"]}}]}
    return [
        {
            "apiVersion": "kyverno.io/v2",
            "kind": "PolicyException",
            "metadata": {"name": f"e{at}", "namespace": "x"},
            "spec": {"exceptions": excepted, "match": match, "podSecurity": controls},
        }
        for at, controls in enumerate(row.get("exceptions", ()))
    ]


def written(folder, name, documents):
    file = Path(folder, name)
    file.write_text("\n---\n".join(map(json.dumps, documents)), "utf-8")
    return file


def ask(kyverno, rows):
    """Return the rows with the reference's answers: rule, result, message."""
    numbered = list(enumerate(rows))
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(kyverno, "apply", written(folder, "p.yaml", [policy(*one) for one in numbered])),
            *("-r", written(folder, "r.yaml", [resource(*one) for one in numbered])),
            "--exception",
            written(folder, "e.yaml", [each for one in numbered for each in exceptions(*one)]),
            *("-p", "--output-format", "json"),
        ]
        printed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    report = json.JSONDecoder().raw_decode(printed, printed.index('{"kind":"ClusterReport"'))[0]
    found = {row["policy"]: row for row in report["results"]}
    fields = ("rule", "result", "message")
    return [
        {**row, **{field: found[f"p{number}"][field] for field in fields}}
        for number, row in numbered
    ]


def main():
    rows = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
    asked = [
        {name: row[name] for name in ("podSecurity", "exceptions", "object") if name in row}
        for row in rows
    ]
    DATA.write_text("".join(f"{json.dumps(row)}\n" for row in ask(sys.argv[1], asked)), "utf-8")


if __name__ == "__main__":
    main()
