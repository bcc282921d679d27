"""Ask Kyverno what policies of its CEL kinds say of a pack of objects, and write it beside them.

Run it as `python tests/differential/record_cel_kinds.py PATH-TO-KYVERNO`; `cel_kinds.jsonl` is
written anew, with the policies that stand in it. It takes a while: each is asked alone, and one
that ends the command for every object alone.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from kyvsim.yaml.text import load_all

FILE = Path(__file__).with_name("cel_kinds.jsonl")
PACK = json.loads(Path(__file__).with_name("cel_kinds_pack.json").read_text("utf-8"))
UNREAD = "(an image that cannot be read)"
_REGISTRY = re.compile(r'(Get "https?://|failed to get imagedata: ).*', re.DOTALL)
_ENDED = re.compile(r"Error: failed to apply deleting policies on resource: (.*)")
_NOBODY = "http://127.0.0.1:1"
"""Where no registry answers."""


def policy(entry, name="p"):
    """Return the policy of an entry."""
    version = f"policies.kyverno.io/{entry['version']}"
    return {
        "apiVersion": version,
        "kind": entry["kind"],
        "metadata": {"name": name},
        "spec": entry["spec"],
    }


def named(obj):
    """Return what a row calls an object."""
    meta = obj.get("metadata") or {}
    return "/".join((obj.get("kind", ""), meta.get("namespace") or "", meta.get("name") or ""))


def row(rule, result, message, resource, properties):
    """Return a row as it is kept: what a registry answers is none of our business."""
    kept = {key: value for key, value in (properties or {}).items() if key != "process"}
    shown = _REGISTRY.sub(UNREAD, message)
    return [rule, result, shown, resource, *([kept] if kept else [])]


def answer(stdout, stderr, objects, generated):
    """Return what Kyverno said of some objects, None where one of them ended the command."""
    at = stdout.find('{"kind"')
    if at < 0:
        if "failed to compile" in stdout + stderr:
            return {"refused": True}
        found = _ENDED.search(stdout + stderr)
        if found is None:
            return {"rows": []}
        return {"errors": [[objects[0], found[1]]]} if len(objects) == 1 else None
    results = json.JSONDecoder().raw_decode(stdout[at:])[0].get("results") or []
    rows = [
        row(
            one.get("rule", ""),
            one["result"],
            one.get("message", ""),
            named({"kind": of["kind"], "metadata": of}),
            one.get("properties"),
        )
        for one in results
        for of in one["resources"]
    ]
    return {"rows": sorted(rows, key=json.dumps), **({"generated": generated} if generated else {})}


def _run(kyverno, entry, objects):
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "policy.yaml").write_text(json.dumps(policy(entry)))
        (place / "objects.yaml").write_text("\n---\n".join(map(json.dumps, objects)))
        for name in ("context", "definition"):
            (place / f"{name}.yaml").write_text(json.dumps(PACK[name]))
        command = (kyverno, "apply", "policy.yaml", "-r", "objects.yaml", "-o", "out/", "-p")
        command = (*command, "--context-file", "context.yaml", "--crd-paths", "definition.yaml")
        command = (*command, "--output-format", "json")
        world = {**os.environ, "HTTP_PROXY": _NOBODY, "HTTPS_PROXY": _NOBODY}
        done = subprocess.run(
            command, cwd=place, env=world, capture_output=True, text=True, check=False
        )
        made = "".join(one.read_text() for one in sorted(place.glob("out/*")))
    return answer(done.stdout, done.stderr, [*map(named, objects)], [*filter(None, load_all(made))])


def _ask(kyverno, entry):
    whole = _run(kyverno, entry, PACK["objects"])
    if whole is not None:
        return whole
    parts = [_run(kyverno, entry, [obj]) for obj in PACK["objects"]]
    return {
        "rows": sorted((one for part in parts for one in part.get("rows", ())), key=json.dumps),
        "errors": [one for part in parts for one in part.get("errors", ())],
    }


def main():
    """Ask, and write the file."""
    asked = ("kind", "version", "spec")
    lines = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
    entries = [{name: line[name] for name in asked} for line in lines]
    rows = ({**entry, **_ask(sys.argv[1], entry)} for entry in entries)
    FILE.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), "utf-8")


if __name__ == "__main__":
    main()
