"""Ask two releases of Kyverno the same questions, and write their answers beside them.

Run it as `python tests/differential/record_releases.py 1.19.0=PATH 1.19.1=PATH`; answers that are
missing in `releases.jsonl` and `release_expressions.jsonl` are added.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

CASES = Path(__file__).with_name("releases.jsonl")
EXPRESSIONS = Path(__file__).with_name("release_expressions.jsonl")
OBJECT = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a", "namespace": "dev"},
    "data": {"nil": None, "replicas": 3},
}
_CONFIG_MAPS = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["configmaps"],
}


def policy(expression):
    """Return a policy whose message is the value of an expression."""
    return {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ValidatingPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {"resourceRules": [_CONFIG_MAPS]},
            "validations": [{"expression": "false", "messageExpression": f"string({expression})"}],
        },
    }


def files_of(expression):
    """Return the files of a run that shows an expression."""
    return {"policy.yaml": json.dumps(policy(expression)), "resource.yaml": json.dumps(OBJECT)}


ARGUMENTS = ["policy.yaml", "--resource", "resource.yaml"]


def rows_of(results):
    """Return the rows of a report as they are kept, sorted."""
    kept = (
        [one["policy"].rpartition("/")[2], one.get("rule") or "", one["result"], one["message"]]
        for one in results
    )
    return sorted(kept)


def _ask(kyverno, arguments, files):
    """Return the rows; "refused" if there are none and the command failed, "died" if it did."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text, "utf-8")
        command = (kyverno, "apply", *arguments, "-p", "--output-format", "json")
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    at = done.stdout.find('{"')
    if at < 0:
        died = "goroutine " in done.stdout + done.stderr
        return "died" if died else "refused" if done.returncode else []
    return rows_of(json.JSONDecoder().raw_decode(done.stdout[at:])[0]["results"])


def main():
    """Ask, and write the files."""
    programs = dict(one.split("=", 1) for one in sys.argv[1:])
    for file in (CASES, EXPRESSIONS):
        entries = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        for entry in entries:
            files = entry.get("files") or files_of(entry["expression"])
            arguments = entry.get("args") or ARGUMENTS
            answers = entry.setdefault("answers", {})
            for release, path in programs.items():
                if release not in answers:
                    answers[release] = _ask(path, arguments, files)
        lines = (f"{json.dumps(entry, ensure_ascii=False)}\n" for entry in entries)
        file.write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    main()
