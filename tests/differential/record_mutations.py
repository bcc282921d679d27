"""Ask the reference program again about mutations.jsonl, and rewrite it.

Usage: python tests/differential/record_mutations.py PATH-TO-KYVERNO
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from kyvsim.yaml.text import load_one

AT_ONCE = 50
DATA = Path(__file__).with_name("mutations.jsonl")


def question(number, row):
    """Return the rule and the object of a row; both bear its number as their name."""
    given = row["object"]
    name = f"n{number}"
    metadata = {**given.get("metadata", {}), "name": name, "namespace": "default"}
    kind = f"{given['apiVersion']}/{given['kind']}"
    match = {"any": [{"resources": {"kinds": [kind], "names": [name]}}]}
    return {"name": name, "match": match, "mutate": row["mutate"]}, {**given, "metadata": metadata}


def policy(rules):
    annotations = {"pod-policies.kyverno.io/autogen-controllers": "none"}
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "asked", "annotations": annotations},
        "spec": {"background": False, "rules": rules},
    }


def ask(kyverno, rows):
    """Return the rows with the reference's answers: result, and message or patched object."""
    rules, objects = zip(*(question(*item) for item in enumerate(rows)), strict=True)
    with tempfile.TemporaryDirectory() as folder:
        asked, given, out = (Path(folder, name) for name in ("policy.yaml", "given.yaml", "out"))
        out.mkdir()
        asked.write_text(json.dumps(policy(rules)), "utf-8")
        given.write_text("\n---\n".join(map(json.dumps, objects)), "utf-8")
        command = [kyverno, "apply", asked, "-r", given, "-o", out, "-p", "--output-format", "json"]
        printed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        report = json.JSONDecoder().raw_decode(printed, printed.index('{"kind":"ClusterReport"'))[0]
        found = {row["rule"]: row for row in report["results"]}
        return [
            {**row, **answer(found[f"n{number}"], out / f"n{number}-mutated.yaml")}
            for number, row in enumerate(rows)
        ]


def answer(row, printed):
    if row["result"] == "pass":
        return {"result": "pass", "patched": load_one(printed.read_text("utf-8"))}
    return {"result": row["result"], "message": row["message"]}


def main():
    rows = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
    asked = [{"object": row["object"], "mutate": row["mutate"]} for row in rows]
    answers = [
        row for at in range(0, len(asked), 50) for row in ask(sys.argv[1], asked[at : at + 50])
    ]
    DATA.write_text("".join(f"{json.dumps(row)}\n" for row in answers), "utf-8")


if __name__ == "__main__":
    main()
