"""Asks a Kyverno command line the questions of founding.json and writes its answers beside them.

Run by hand (see README.md): `python tests/differential/record_founding.py PATH-TO-KYVERNO`.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
DATA = Path(__file__).with_name("founding.json")
OBJECT = re.compile(
    r"policy (\S+) applied to (\S*):\n(.*?)\n---\n\s*(Mutation|Generate):\n", re.DOTALL
)
SKIPPED = re.compile(r"^Policies Skipped:\n(.*?)^-{70}$", re.DOTALL | re.MULTILINE)


def ask(kyverno, args):
    done = subprocess.run(
        [kyverno, "apply", *args, "--remove-color"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def results(report):
    """Rows of the policy report, sorted: the program itself has no stable order."""
    rows = [
        {
            "policy": row["policy"],
            "rule": row.get("rule", ""),
            "kind": about["kind"],
            "namespace": about.get("namespace", ""),
            "name": about.get("name", ""),
            "result": row["result"],
            "message": row.get("message", ""),
        }
        for row in report["results"] or []
        for about in row["resources"]
    ]
    return sorted(rows, key=lambda row: tuple(row.values()))


def changed(rows):
    """(policy, resource) pairs that a mutate rule says it has changed."""
    return {
        (row["policy"], f"{row['namespace']}/{row['kind']}/{row['name']}")
        for row in rows
        if row["message"].startswith("mutated ")
    }


def objects(text, rows):
    """Mutated objects that did change, and generated ones, in the order in which they are shown."""
    found = {"Mutation": [], "Generate": []}
    for policy, resource, body, kind in OBJECT.findall(text):
        if kind == "Generate" or (policy, resource) in changed(rows):
            key = "trigger" if kind == "Generate" else "resource"
            entry = {"policy": policy, key: resource, "object": yaml.safe_load(body)}
            found[kind].append(entry)
    return found["Mutation"], found["Generate"]


def refused(text):
    found = SKIPPED.search(text)
    return [line.split(". ", 1)[1] for line in found[1].splitlines()] if found else []


def answer(kyverno, case):
    status, text = ask(kyverno, case["args"])
    _, out = ask(kyverno, [*case["args"], "-p", "--output-format", "json"])
    start = out.find('{"kind":"ClusterReport"')
    rows = results(json.JSONDecoder().raw_decode(out[start:])[0]) if start >= 0 else []
    mutated, generated = objects(text, rows)
    return {
        "name": case["name"],
        "args": case["args"],
        "exit": status,
        "refused": refused(text),
        "results": rows,
        "mutated": mutated,
        "generated": generated,
    }


if __name__ == "__main__":
    cases = json.loads(DATA.read_text(encoding="utf-8"))
    answers = [answer(sys.argv[1], case) for case in cases]
    DATA.write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
