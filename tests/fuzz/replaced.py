"""Replace one node of a policy by a value of another type, and run commands on many such policies.

`python tests/fuzz/replaced.py [--seed N] [--count N] [--policies FOLDER …]` does so for policies of
this repository or of the named folders, and prints each fault once, with the smallest file that
shows it. Faults of single policies are confined to them, so that many share a run; where a run ends
as a whole, its halves are tried.
"""

import argparse
import contextlib
import copy
import io
import json
import random
import re
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2]))

import yaml

from kyvsim.model import ports

_TRACES: list[str] = []


def _traced(error: Exception) -> str:
    """Return what is told of a fault, and note where it came from."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    _TRACES.append(
        " < ".join(f"{Path(one.filename).name}:{one.lineno}" for one in reversed(frames))
    )
    return _TOLD(error)


_TOLD = ports.fault_text
ports.fault_text = _traced  # before anything imports it by name

from kyvsim.cli.main import run as run_kyvsim  # noqa: E402 — see above

Json = Any

ROOT = Path(__file__).parents[2]
FOLDERS = (ROOT / "policies", ROOT / "fixtures")
REPLACEMENTS: tuple[Json, ...] = ("x", "", 5, -1.5, True, None, [], ["x"], [None], {}, {"x": "y"})
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("lint", "policy.yaml"),
    ("apply", "policy.yaml", "-r", "resource.yaml", "--output-format", "json"),
    ("apply", "policy.yaml", "-r", "resource.yaml", "--operation", "DELETE"),
    ("migrate", "policy.yaml"),
    ("explain", "policy.yaml", "-r", "resource.yaml"),
    ("simulate", "policy.yaml", "-r", "resource.yaml", "--max-events", "300"),
)
FAULTS = ("Traceback", "please report it")
TOGETHER = 40
"""So many policies share a run."""


class Replaced(NamedTuple):
    """A policy of which one node was replaced."""

    source: str
    path: tuple[str | int, ...]
    document: Json


class Finding(NamedTuple):
    """What a command said of a policy that it must not say of any."""

    command: tuple[str, ...]
    text: str
    where: str
    replaced: Replaced


def policies_below(*folders: Path) -> Iterator[tuple[str, Json]]:
    """Yield the policies in YAML files below folders, each with the name of its file."""
    for folder in folders:
        for path in sorted(folder.rglob("*.yaml")):
            try:
                found = list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
            except (yaml.YAMLError, UnicodeDecodeError):
                continue
            for one in found:
                if isinstance(one, dict) and str(one.get("kind")).endswith(("Policy", "Exception")):
                    yield str(path), json.loads(json.dumps(one, default=str))


def replacements(source: str, policy: Json) -> Iterator[Replaced]:
    """Yield a policy with each of its nodes replaced by each value, and with each node left out."""
    for path in _paths(policy):
        for value in REPLACEMENTS:
            made = copy.deepcopy(policy)
            holder = made
            for step in path[:-1]:
                holder = holder[step]
            if holder[path[-1]] != value:
                holder[path[-1]] = copy.deepcopy(value)
                yield Replaced(source, path, made)


def _paths(node: Json, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    inner = (
        node.items()
        if isinstance(node, dict)
        else enumerate(node)
        if isinstance(node, list)
        else ()
    )
    for key, value in inner:
        if path or key not in {"apiVersion", "kind"}:
            yield (*path, key)
            yield from _paths(value, (*path, key))


def resources() -> list[Json]:
    """Return objects of the kinds that most policies are about."""
    containers = [{"name": "a", "image": "nginx:latest", "securityContext": {"privileged": True}}]
    spec = {"containers": containers, "volumes": [{"name": "v", "hostPath": {"path": "/"}}]}
    template = {"metadata": {"labels": {"app": "a"}}, "spec": spec}
    selector = {"matchLabels": {"app": "a"}}
    bodies = (
        ("v1", "Pod", {"spec": {**spec, "initContainers": containers}}),
        ("apps/v1", "Deployment", {"spec": {"selector": selector, "template": template}}),
        (
            "batch/v1",
            "CronJob",
            {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}}},
        ),
        ("v1", "Namespace", {}),
        ("v1", "Service", {"spec": {"type": "NodePort", "ports": [{"port": 80}]}}),
        ("v1", "ConfigMap", {"data": {"a": "b"}}),
        ("v1", "Secret", {"type": "Opaque", "data": {"a": "Yg=="}}),
        ("networking.k8s.io/v1", "Ingress", {"spec": {"rules": [{"host": "a.b"}]}}),
        (
            "rbac.authorization.k8s.io/v1",
            "ClusterRole",
            {"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]},
        ),
    )
    clustered = {"Namespace", "ClusterRole"}
    return [
        {
            "apiVersion": api_version,
            "kind": kind,
            "metadata": {
                "name": "default" if kind == "Namespace" else "a",
                **({} if kind in clustered else {"namespace": "default"}),
                "labels": {"app": "a"},
            },
            **body,
        }
        for api_version, kind, body in bodies
    ]


def run(command: Sequence[str], files: dict[str, list[Json]]) -> list[str]:
    """Run a command on files in a folder of their own; return the lines that tell of a fault."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, documents in files.items():
            text = "\n---\n".join(json.dumps(one) for one in documents)
            Path(name).write_text(text, encoding="utf-8")
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            run_kyvsim(list(command))
        texts = []
        for stream in (out, err):
            stream.flush()
            texts.append(stream.buffer.getvalue().decode("utf-8"))  # type: ignore[attr-defined]
    told = re.sub(r"\s+", " ", " ".join(texts))
    return sorted(
        {
            told[max(0, one.start() - 60) : one.end() + 160]
            for fault in FAULTS
            for one in re.finditer(fault, told)
        }
    )


def findings(command: Sequence[str], made: Sequence[Replaced]) -> Iterator[Finding]:
    """Yield what a command does with policies that it must not do, for the first that shows it."""
    files = {
        "policy.yaml": [_named(one.document, n) for n, one in enumerate(made)],
        "resource.yaml": resources(),
    }
    _TRACES.clear()
    told = run(command, files)
    if not told:
        return
    if len(made) == 1:
        yield Finding(tuple(command), told[0], _TRACES[-1] if _TRACES else "", made[0])
        return
    half = len(made) // 2
    for part in (made[:half], made[half:]):
        yield from findings(command, part)


def _named(document: Json, number: int) -> Json:
    """Return a policy under a name of its own, so that several can be given together."""
    meta = document.get("metadata")
    if isinstance(meta, dict) and isinstance(meta.get("name"), str) and meta["name"]:
        return {**document, "metadata": {**meta, "name": f"{meta['name'][:40]}-{number}"}}
    return document


def sample(seed: int, count: int, *folders: Path) -> list[Replaced]:
    """Return about so many policies with a replaced node, spread over the policies of folders."""
    chance = random.Random(seed)
    known = list(policies_below(*folders))
    chance.shuffle(known)
    share = max(1, count // max(1, len(known)))
    made: list[Replaced] = []
    for source, policy in known:
        every = list(replacements(source, policy))
        made += chance.sample(every, min(len(every), share))
    return made


def main() -> int:
    """Run what the options name; return 1 where anything was found."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--count", type=int, default=20_000, help="policies with a replaced node")
    options.add_argument("--policies", type=Path, nargs="*", default=FOLDERS)
    given = options.parse_args()
    made = sample(given.seed, given.count, *given.policies)
    print(f"{len(made)} replacements", flush=True)
    seen: set[str] = set()
    for start in range(0, len(made), TOGETHER):
        for command in COMMANDS:
            for one in findings(command, made[start : start + TOGETHER]):
                key = f"{command[0]} {one.where or one.text[-170:-60]}"
                if key in seen:
                    continue
                seen.add(key)
                print(
                    f"{' '.join(command)}: {one.where}: {one.text}\n"
                    f"  {one.replaced.source} {one.replaced.path}"
                )
                print(f"  {json.dumps(one.replaced.document)}", flush=True)
    print(f"{len(seen)} kinds of faults")
    return int(bool(seen))


if __name__ == "__main__":
    sys.exit(main())
