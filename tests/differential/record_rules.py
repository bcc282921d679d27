"""Ask the reference program again about conditions.jsonl and patterns.jsonl, and rewrite them.

Usage: python tests/differential/record_rules.py PATH-TO-KYVERNO
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
KIND = "Sample"


def sample(name, spec):
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "example.com/v1", "kind": KIND, "metadata": metadata, "spec": spec}


def policy(rules):
    match = {"any": [{"resources": {"kinds": [KIND]}}]}
    named = [
        {"name": f"r{number}", "match": match, "validate": body}
        for number, body in enumerate(rules)
    ]
    head = {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "asked"}}
    return {**head, "spec": {"background": False, "rules": named}}


def ask(kyverno, rules, resources):
    """Return result and message of each (rule, resource) by their numbers."""
    with tempfile.TemporaryDirectory() as folder:
        asked, given = Path(folder, "policy.yaml"), Path(folder, "resources.yaml")
        asked.write_text(json.dumps(policy(rules)), "utf-8")
        documents = [sample(f"s{number}", spec) for number, spec in enumerate(resources)]
        given.write_text("\n---\n".join(map(json.dumps, documents)), "utf-8")
        command = [kyverno, "apply", asked, "-r", given, "-p", "--output-format", "json"]
        printed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    report = json.loads(printed[printed.index('{"') : printed.rindex("}") + 1])
    return {
        (int(row["rule"][1:]), int(row["resources"][0]["name"][1:])): (
            row["result"],
            row.get("message", ""),
        )
        for row in report["results"]
    }


def conditions(kyverno, rows):
    rules, spec = [], {}
    for number, row in enumerate(rows):
        condition = {"operator": row["operator"], "key": row["key"], "value": row["value"]}
        for side in ("key", "value"):
            if row["read"] in (side, "both"):
                spec[f"{side}{number}"] = row[side]
                condition[side] = f"{{{{ request.object.spec.{side}{number} }}}}"
        rules.append({"deny": {"conditions": {"any": [condition]}}})
    answers = ask(kyverno, rules, [spec])
    return [{**row, "met": answers[number, 0][0] == "fail"} for number, row in enumerate(rows)]


def patterns(kyverno, rows):
    rules = [{"pattern": {"spec": row["pattern"]}} for row in rows]
    answers = ask(kyverno, rules, [row["object"] for row in rows])
    return [
        {"pattern": row["pattern"], "object": row["object"], **outcome(*answers[number, number])}
        for number, row in enumerate(rows)
    ]


def outcome(result, message):
    if result == "pass":
        return {"result": result}
    if result == "fail":
        return {"result": result, "path": message.rpartition(" failed at path ")[2]}
    return {"result": result, "message": message.rpartition(" execution error: ")[2]}


def main():
    for name, record in (("conditions", conditions), ("patterns", patterns)):
        file = HERE / f"{name}.jsonl"
        rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        answered = record(sys.argv[1], rows)
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in answered)
        file.write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    main()
