"""Ask Kyverno what calls of CEL functions come to, and write it beside them.

Run it as `python tests/differential/record_cel_functions.py PATH-TO-KYVERNO`;
`cel_functions.jsonl` is written anew, with the expressions that stand in it. Each is a variable of
an ImageValidatingPolicy, since such a policy tells what cannot be compiled as a result.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

FILE = Path(__file__).with_name("cel_functions.jsonl")
OBJECT = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "c", "namespace": "d"},
    "data": {"k": "v", "l": "w"},
}
_CONFIG_MAPS = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["configmaps"],
}
_SHOWN = "json.marshal(dyn(type(variables.v))) + ' ' + json.marshal(dyn(variables.v))"


def policy(number, expression):
    """Return the policy that tells type and value of an expression."""
    return {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ImageValidatingPolicy",
        "metadata": {"name": f"p{number}"},
        "spec": {
            "matchConstraints": {"resourceRules": [_CONFIG_MAPS]},
            "attestors": [{"name": "a", "notary": {"certs": {"value": "x"}}}],
            "variables": [{"name": "v", "expression": expression}],
            "validations": [{"expression": "false", "messageExpression": _SHOWN}],
        },
    }


def written(expressions, folder):
    """Write the policies and the object, and return their paths."""
    policies, objects = Path(folder, "policies.yaml"), Path(folder, "object.yaml")
    documents = (json.dumps(policy(*one), ensure_ascii=False) for one in enumerate(expressions))
    policies.write_text("\n---\n".join(documents), "utf-8")
    objects.write_text(json.dumps(OBJECT), "utf-8")
    return policies, objects


def _ask(kyverno, expressions):
    with tempfile.TemporaryDirectory() as folder:
        policies, objects = written(expressions, folder)
        command = (kyverno, "apply", policies, "-r", objects, "-p", "--output-format", "json")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.JSONDecoder().raw_decode(done.stdout[done.stdout.index('{"kind"') :])[0]
    return {row["policy"]: row["message"] for row in report["results"]}


def main():
    """Ask, and write the file."""
    lines = FILE.read_text("utf-8").splitlines()
    expressions = [json.loads(line)["expression"] for line in lines]
    said = _ask(sys.argv[1], expressions)
    rows = (
        {"expression": one, "message": said[f"p{number}"]} for number, one in enumerate(expressions)
    )
    FILE.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), "utf-8")


if __name__ == "__main__":
    main()
