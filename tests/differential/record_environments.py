"""Ask Kyverno which expressions compile in policies of each kind in CEL, and write it beside them.

Run it as `python tests/differential/record_environments.py PATH-TO-KYVERNO`; the file is written
anew, with the expressions that stand in it. Each is a variable of one policy of each kind: Kyverno
tells all variables that do not compile.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FILE = Path(__file__).with_name("environments.jsonl")
KINDS = (
    "ValidatingPolicy",
    "NamespacedValidatingPolicy",
    "ValidatingPolicy of mode JSON",
    "MutatingPolicy",
    "GeneratingPolicy",
    "NamespacedGeneratingPolicy",
    "DeletingPolicy",
    "NamespacedDeletingPolicy",
    "ImageValidatingPolicy",
)
OBJECT = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "ns"}}
_RULE = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["configmaps"],
}
_TRUE = [{"expression": "true"}]
_WORK = {
    "ValidatingPolicy": {"validations": _TRUE},
    "MutatingPolicy": {
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": "[]"}}]
    },
    "GeneratingPolicy": {"generate": _TRUE},
    "DeletingPolicy": {"conditions": [{"name": "c", **_TRUE[0]}], "schedule": "* * * * *"},
    "ImageValidatingPolicy": {
        "validations": _TRUE,
        "attestors": [{"name": "a", "cosign": {"key": {"data": "x"}}}],
    },
}
_TOLD = re.compile(r"spec\.variables\[(\d+)\]\.expression: Invalid value: ")
_ERROR = re.compile(r"ERROR: (<input>:\d+:\d+: .*)")


def policy(kind, expressions):
    """Return a policy of one kind that has expressions as variables."""
    name, _, mode = kind.partition(" of mode ")
    names = [{"name": f"v{index}", "expression": one} for index, one in enumerate(expressions)]
    spec = {"matchConstraints": {"resourceRules": [_RULE]}, "variables": names}
    if mode:
        spec["evaluation"] = {"mode": mode}
    meta = {"name": "p", **({"namespace": "ns"} if name.startswith("Namespaced") else {})}
    spec |= _WORK[name.removeprefix("Namespaced")]
    version = "policies.kyverno.io/v1"
    return {"apiVersion": version, "kind": name, "metadata": meta, "spec": spec}


def refusals(said):
    """Return the first error that is told of each variable that does not compile, by its place."""
    _, *parts = _TOLD.split(said)
    found = zip(parts[::2], parts[1::2], strict=True)
    return {int(place): first_error(text) for place, text in found}


def first_error(listing):
    """Return the first line of what is said of an expression."""
    return _ERROR.search(listing)[1].strip()


def _ask(kyverno, kind, expressions):
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "policy.yaml").write_text(json.dumps(policy(kind, expressions)))
        (place / "object.yaml").write_text(json.dumps(OBJECT))
        command = (kyverno, "apply", "policy.yaml", "-r", "object.yaml", "-p")
        command = (*command, "--output-format", "json")
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    report = done.stdout.find('{"kind"')
    if report < 0:
        return refusals(done.stdout + done.stderr)
    (row,) = json.JSONDecoder().raw_decode(done.stdout[report:])[0]["results"]
    return refusals(row.get("message", ""))


def main():
    """Ask, and write the file."""
    lines = FILE.read_text("utf-8").splitlines()
    expressions = [json.loads(line)["expression"] for line in lines]
    answers = {kind: _ask(sys.argv[1], kind, expressions) for kind in KINDS}
    rows = []
    for index, expression in enumerate(expressions):
        refused = {kind: found[index] for kind, found in answers.items() if index in found}
        rows.append({"expression": expression, "refused": refused})
    FILE.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), "utf-8")


if __name__ == "__main__":
    main()
