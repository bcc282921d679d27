"""Ask the reference program again about jp_functions.jsonl, and rewrite it.

Usage: python tests/differential/record_jp.py PATH-TO-KYVERNO
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROWS = Path(__file__).with_name("jp_functions.jsonl")
PREFIX = "Error: error evaluating JMESPath expression: "


def ask(kyverno, expression, data):
    """Return the row of one question."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as given:
        json.dump(data, given)
        given.flush()
        command = [kyverno, "jp", "query", "-c", "-i", given.name, expression]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    row = {"expr": expression, "input": data}
    if done.returncode == 0:
        return {**row, "output": json.loads(done.stdout.partition("\n")[2])}
    message = done.stderr.splitlines()[0].removeprefix(PREFIX).strip()
    return {**row, "error": True, "message": message}


def main():
    rows = map(json.loads, ROWS.read_text("utf-8").splitlines())
    answers = [ask(sys.argv[1], row["expr"], row["input"]) for row in rows]
    ROWS.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in answers), "utf-8")


if __name__ == "__main__":
    main()
