"""Ask Kyverno what rows of test manifests come to, and write it beside them.

Run it as `python tests/differential/record_manifests.py PATH-TO-KYVERNO`; `manifests.jsonl` is
written anew, with the manifests that stand in it.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FILE = Path(__file__).with_name("manifests.jsonl")
_COLOURED = re.compile(r"\x1b\[[0-9;]*m")
_TABLE = re.compile(r"^ ?(\[|null$)", re.MULTILINE)


def written(entry, folder):
    """Write the manifest of an entry and what it names into a folder."""
    for name, documents in entry["files"].items():
        text = "\n---\n".join(json.dumps(one, ensure_ascii=False) for one in documents)
        Path(folder, name).write_text(text, "utf-8")


def rows(found):
    """Return rows in a fixed order: policy, rule, resource, result, reason."""
    return sorted([policy, rule, shown(name), *rest] for policy, rule, name, *rest in found)


def shown(resource):
    """Return what a row calls a resource, without the empty places of what it has not."""
    return "/".join(filter(None, resource.split("/")))


def _ask(kyverno, entry):
    with tempfile.TemporaryDirectory() as folder:
        written(entry, folder)
        command = (kyverno, "test", folder, "--output-format", "json", "--remove-color")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    text = _COLOURED.sub("", done.stdout)
    begun = _TABLE.search(text)
    if begun is None:
        raise SystemExit(f"{entry['about']}: {done.stderr}{text}")
    columns = ("POLICY", "RULE", "RESOURCE", "RESULT", "REASON")
    found = json.JSONDecoder().raw_decode(text[begun.start(1) :])[0] or ()
    return rows([row[name] for name in columns] for row in found)


def main():
    """Ask, and write the file."""
    lines = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
    answered = (
        {"about": line["about"], "files": line["files"], "rows": _ask(sys.argv[1], line)}
        for line in lines
    )
    FILE.write_text(
        "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in answered), "utf-8"
    )


if __name__ == "__main__":
    main()
