"""Ask Kyverno what policies of our own deny and leave before and after they are converted.

Run it as `python tests/differential/record_migrated.py PATH-TO-KYVERNO`; `migrated.jsonl` is
written anew, with the policies and objects that stand in it: each policy is converted again.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from kyvsim.api.migrate import migrate
from kyvsim.load.files import Source
from kyvsim.yaml.text import load_all

FILE = Path(__file__).with_name("migrated.jsonl")
OWN_LABELS = ("app.kubernetes.io/managed-by", "generate.kyverno.io/", "generating-policy")


def converted(policy):
    """Return what becomes of a policy."""
    found = migrate((Source("policy.yaml", json.dumps(policy)),))
    return [dict(made.data) for one in found.conversions for made in one.made]


def written(documents, path):
    """Write documents to a file, and return its path."""
    path.write_text("\n---\n".join(map(json.dumps, documents)), "utf-8")
    return path


def left(found, given):
    """Return the objects that were changed or made, each once, in a fixed order.

    They come without the labels by which Kyverno knows what it made, and with lists in an order
    that says nothing: a conversion may leave elements where they are.
    """
    before = {_text(one) for one in given}
    texts = {_text(one) for one in found if one} - before
    return [json.loads(one) for one in sorted(texts)]


def _text(obj):
    return json.dumps(_plain(obj), sort_keys=True)


def _plain(data):
    """Return data with sorted lists, whole numbers without a fraction, no labels of Kyverno's."""
    if isinstance(data, dict):
        kept = {key: _plain(one) for key, one in data.items() if not key.startswith(OWN_LABELS)}
        return {key: one for key, one in kept.items() if key != "labels" or one}
    if isinstance(data, list):
        return sorted(map(_plain, data), key=lambda one: json.dumps(one, sort_keys=True))
    return int(data) if isinstance(data, float) and data.is_integer() else data


def _answer(kyverno, policies, objects):
    """Return names of objects of which some rule fails or errs, and what is left; names differ."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [
            written(policies, Path(folder, "p.yaml")),
            written(objects, Path(folder, "o.yaml")),
        ]
        out = Path(folder, "out")
        out.mkdir()
        command = [kyverno, "apply", paths[0], "-r", paths[1], "-o", f"{out}/"]
        command += ["-p", "--output-format", "json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        made = [one for path in sorted(out.iterdir()) for one in load_all(path.read_text("utf-8"))]
    report = json.JSONDecoder().raw_decode(done.stdout[done.stdout.index('{"kind"') :])[0]
    rows = [one for one in report.get("results") or () if one["result"] in {"fail", "error"}]
    return sorted({of["name"] for one in rows for of in one["resources"]}), left(made, objects)


def main():
    """Ask, and write the file."""
    lines = []
    for line in map(json.loads, FILE.read_text("utf-8").splitlines()):
        policy, objects = line["policy"], line["objects"]
        becomes = converted(policy)
        sides = {"old": [policy], "new": becomes}
        answers = {side: _answer(sys.argv[1], one, objects) for side, one in sides.items()}
        found = {
            "policy": policy,
            "objects": objects,
            "becomes": becomes,
            "denied": {side: denied for side, (denied, _) in answers.items()},
            "left": {side: objects for side, (_, objects) in answers.items()},
        }
        lines.append(f"{json.dumps(found, ensure_ascii=False)}\n")
    FILE.write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    main()
