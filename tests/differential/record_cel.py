"""Ask the reference program again about the expressions of cel.jsonl, and rewrite it.

Usage: python tests/differential/record_cel.py PATH-TO-KYVERNO
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

DATA = Path(__file__).with_name("cel.jsonl")
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "p",
        "namespace": "ns",
        "labels": {"a": "b", "app.kubernetes.io/name": "x"},
        "annotations": {"t": "2020-01-01T00:00:00Z", "q": "500Mi"},
    },
    "spec": {
        "containers": [
            {
                "name": "c1",
                "image": "nginx:1.2",
                "ports": [{"containerPort": 80}, {"containerPort": 8080, "hostPort": 0}],
                "resources": {"limits": {"memory": "500Mi", "cpu": 1}},
            },
            {
                "name": "c2",
                "image": "ghcr.io/x/y@sha256:abc",
                "securityContext": {"runAsUser": 1000, "privileged": False},
            },
        ],
        "replicas": 3,
        "nothing": None,
        "frac": 1.5,
        "empty": {},
        "elist": [],
    },
}


def cel(expression):
    """Return a rule's body that fails with the expression's value, or with its error."""
    shown = f"'%s'.format([dyn({expression})])"
    test = f"dyn({expression}) == dyn(duration('1h'))"
    return {"expressions": [{"expression": test, "messageExpression": shown, "message": "-"}]}


def policy(number, row):
    rule = {
        "name": "r",
        "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
        "validate": {"cel": cel(row["expression"])},
    }
    metadata = {
        "name": f"p{number}",
        "annotations": {"pod-policies.kyverno.io/autogen-controllers": "none"},
    }
    spec = {"rules": [rule]}
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": metadata,
        "spec": spec,
    }


def ask(kyverno, rows):
    """Return the rows with the message that the reference gives."""
    with tempfile.TemporaryDirectory() as folder:
        policies, resource = Path(folder, "p.yaml"), Path(folder, "r.yaml")
        numbered = [json.dumps(policy(number, row)) for number, row in enumerate(rows)]
        policies.write_text("\n---\n".join(numbered), "utf-8")
        resource.write_text(json.dumps(POD), "utf-8")
        command = [kyverno, "apply", policies, "-r", resource, "-p", "--output-format", "json"]
        printed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    report = json.JSONDecoder().raw_decode(printed, printed.index('{"kind":"ClusterReport"'))[0]
    found = {row["policy"]: row["message"] for row in report["results"]}
    return [{**row, "message": found[f"p{number}"]} for number, row in enumerate(rows)]


def main():
    rows = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
    asked = [{"expression": row["expression"]} for row in rows]
    lines = (json.dumps(row, ensure_ascii=False) for row in ask(sys.argv[1], asked))
    DATA.write_text("".join(f"{line}\n" for line in lines), "utf-8")


if __name__ == "__main__":
    main()
