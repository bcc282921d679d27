"""The founding systems and the menagerie get the answers that Kyverno's own command line gave."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CASES = json.loads(Path(__file__).with_name("founding.json").read_text(encoding="utf-8"))
ANSWERED_HERE = {"menagerie, no values": {"config-map", "autogen-config-map"}}
"""Rules that read a ConfigMap among the given resources, where the reference knows of none.

docs/coming-from-kyverno.md
"""


def apply(args):
    return subprocess.run(
        [sys.executable, "-m", "kyvsim", "apply", *args, "--output-format", "json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def plain(data):
    """One text for one value: 1 and 1.0 are the same number, true is none."""
    if isinstance(data, float) and data.is_integer():
        return int(data)
    if isinstance(data, list):
        return [plain(item) for item in data]
    if isinstance(data, dict):
        return {key: plain(value) for key, value in data.items()}
    return data


def text(data):
    return json.dumps(plain(data), sort_keys=True, ensure_ascii=False)


def address(obj):
    return f"{obj.get('namespace') or ''}/{obj['kind']}/{obj.get('name') or ''}"


def verdicts(rows):
    return Counter(
        (r["policy"], r["rule"], address(r["resource"]), r["result"], r.get("message") or "")
        for r in rows
    )


def recorded_verdicts(case):
    return Counter(
        (r["policy"], r["rule"], address(r), r["result"], r["message"]) for r in case["results"]
    )


def without_silent_messages(rows, silent):
    """Where Kyverno gives no message (generate rules), kyvsim may: those texts are left out."""
    cut = Counter()
    for (*key, message), count in rows.items():
        cut[*key, "" if tuple(key) in silent else message] += count
    return cut


def objects(entries, about):
    def place(entry):
        return entry[about] if isinstance(entry[about], str) else address(entry[about])

    return Counter((e["policy"], place(e), text(e["object"])) for e in entries)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_answers_are_kyvernos(case):
    done = apply(case["args"])
    assert done.stdout, done.stderr
    answer = json.loads(done.stdout)
    skipped = ANSWERED_HERE.get(case["name"], set())
    here = [row for row in answer["results"] if row["rule"] in skipped]
    assert {row["result"] for row in here} <= {"pass", "fail"}
    answer["results"] = [row for row in answer["results"] if row["rule"] not in skipped]
    case = {**case, "results": [row for row in case["results"] if row["rule"] not in skipped]}

    wanted = recorded_verdicts(case)
    silent = {tuple(key) for *key, message in wanted if not message}
    assert without_silent_messages(verdicts(answer["results"]), silent) == wanted
    assert answer["summary"] == {
        status: sum(row["result"] == status for row in (*case["results"], *here))
        for status in ("pass", "fail", "warn", "error", "skip")
    }
    assert objects(answer["mutated"], "resource") == objects(case["mutated"], "resource")
    assert objects(answer["generated"], "trigger") == objects(case["generated"], "trigger")
    assert done.returncode == (2 if case["refused"] else case["exit"]), done.stderr


@pytest.mark.parametrize(
    ("case", "reason"),
    [(case, reason) for case in CASES for reason in case["refused"]],
    ids=lambda value: value["name"] if isinstance(value, dict) else "",
)
def test_refusals_give_kyvernos_reason(case, reason):
    done = apply(case["args"])
    _, _, why = reason.partition(": ")  # the policy's name
    _, _, why = why.partition(": Forbidden: ")  # where in it: kyvsim gives file, line and column
    assert why in done.stderr
    assert why in " ".join(d["message"] for d in json.loads(done.stdout)["diagnostics"])


def test_recorded_answers_hold_every_status_and_both_kinds_of_object():
    menagerie = next(case for case in CASES if case["name"] == "menagerie")
    statuses = {row["result"] for row in menagerie["results"]}
    assert statuses == {"pass", "fail", "warn", "error", "skip"}
    assert menagerie["mutated"]
    assert menagerie["generated"]
