"""Published policies on inputs like those of users, beside Kyverno's own command.

Run it as `python tests/bench/bench_published.py --library FOLDER [--pack FILE] [--reference
KYVERNO]`. FOLDER is a checkout of github.com/kyverno/policies, or a part of it; PACK a file of
objects of many kinds, for the line with the whole library. Twenty of the policies are applied: most
validate Pods, one generates a quota for each Namespace, one mutates Pods. The inputs are one
failing Pod, a chart of 60 objects, varied Pods of which a third of the results fail, and the dump
of a cluster. With KYVERNO the last column is how many times as long it takes.
"""

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).parent))
from pod_dump import dumped_pods
from runs import kyvsim, write_objects, write_policies
from varied_pods import varied_pods

POLICIES = (
    *("disallow-host-namespaces", "disallow-host-path", "disallow-host-ports-range"),
    *("disallow-host-process", "disallow-privileged-containers", "disallow-proc-mount"),
    *("disallow-selinux", "restrict-seccomp", "restrict-sysctls", "disallow-privilege-escalation"),
    *("require-run-as-non-root-user", "restrict-volume-types", "disallow-latest-tag"),
    *("require-labels", "require-requests-limits", "require-ro-rootfs"),
    *("restrict-image-registries", "restrict-external-ips"),
    *("add-ns-quota", "mutate-termination-grace-period-seconds"),
)


def lines(library: Path, pack: Path | None, reference: str) -> Iterator[str]:
    """Yield the figures."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        policy_file = write_policies(folder, published(library))
        inputs: dict[str, tuple[Iterable[dict[str, Any]], int]] = {
            "one failing Pod": (islice(varied_pods(1), 1), 5),
            "a chart of 60 objects": (chart(60), 5),
            " 1,000 varied Pods": (varied_pods(1_000), 3),
            "10,000 varied Pods": (varied_pods(10_000), 1),
            " 2,000 objects of a cluster": (dump(2_000), 1),
        }
        measured: list[tuple[str, Path, Path, int]] = []
        for name, (objects, runs) in inputs.items():
            file = write_objects(folder / f"input-{len(measured)}.yaml", objects)
            measured.append((name, policy_file, file, runs))
        if pack:
            measured.append(("the library on a pack", library, pack, 1))
        for name, policies, file, runs in measured:
            yield _line(name, ("apply", str(policies), "--resource", str(file)), runs, reference)


def _line(name: str, command: tuple[str, ...], runs: int, reference: str) -> str:
    kyvsim(*command)  # writes the .pyc files
    costs = [kyvsim(*command) for _ in range(runs)]
    wall, cpu, peak = (statistics.median(part) for part in zip(*costs, strict=True))
    line = f"{name:<28}{wall:6.2f} s, {cpu:5.2f} s of CPU, peak {peak:4.0f} MB"
    if not reference:
        return line
    times = [_seconds(reference, *command) for _ in range(min(runs, 3))]
    return f"{line}, Kyverno {statistics.median(times) / wall:5.1f} x"


def _seconds(*command: str) -> float:
    """Return the seconds of a run of Kyverno; statuses other than 0 and 1 end the bench."""
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode not in {0, 1}:
        raise SystemExit(done.stderr.decode()[-2000:])
    return time.perf_counter() - start


def published(library: Path) -> list[dict[str, Any]]:
    """Return the policies of a library; the first ClusterPolicy of each name."""
    found: dict[str, dict[str, Any]] = {}
    for file in sorted(library.rglob("*.yaml")):
        text = file.read_text()
        if "kind: ClusterPolicy" not in text or "kyverno.io/v1" not in text:
            continue
        for policy in yaml.safe_load_all(text):
            # Tests beside the policies have others, with only a status.
            if policy and policy.get("kind") == "ClusterPolicy" and "spec" in policy:
                is_cel = "cel" in str(file.relative_to(library))
                if not is_cel and policy["metadata"]["name"] in POLICIES:
                    found.setdefault(policy["metadata"]["name"], policy)
    missing = [name for name in POLICIES if name not in found]
    if missing:
        raise SystemExit(f"{library} has no policies named {', '.join(missing)}")
    return [found[name] for name in POLICIES]


def chart(count: int) -> Iterator[dict[str, Any]]:
    """Yield the objects of a chart: services with their accounts, settings and Deployments."""
    for number, pod in enumerate(varied_pods(count // 4)):
        name = f"service-{number}"
        labels = {"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "Helm"}
        meta = {"name": name, "namespace": "shop", "labels": labels}
        selector = {"app.kubernetes.io/name": name}
        ports = [{"name": "http", "port": 80, "targetPort": 8080}]
        template = {"metadata": {"labels": labels}, "spec": pod["spec"]}
        yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}
        yield {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": meta,
            "spec": {"selector": selector, "ports": ports},
        }
        yield _settings(number, meta)
        yield {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": meta,
            "spec": {"replicas": 2, "selector": {"matchLabels": selector}, "template": template},
        }


def dump(count: int) -> Iterator[dict[str, Any]]:
    """Yield objects of a cluster: half Pods, and Deployments, ConfigMaps, Secrets, certificates."""
    chance = random.Random(5)
    for number, pod in enumerate(dumped_pods(count // 2)):
        yield pod
        namespace = pod["metadata"]["namespace"]
        meta = {
            "name": f"thing-{number}",
            "namespace": namespace,
            "uid": f"{chance.getrandbits(64):016x}",
            "resourceVersion": str(chance.randrange(10**7)),
            "creationTimestamp": "2026-01-31T08:00:00Z",
        }
        match number % 4:
            case 0:
                labels = {"app": meta["name"]}
                containers = [
                    {key: one[key] for key in ("name", "image")}
                    for one in pod["spec"]["containers"]
                ]
                template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
                spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
                status = {"observedGeneration": 3, "readyReplicas": 3, "replicas": 3}
                yield {
                    "apiVersion": "apps/v1",
                    "kind": "Deployment",
                    "metadata": meta,
                    "spec": spec,
                    "status": status,
                }
            case 1:
                yield _settings(number, meta)
            case 2:
                data = {"token": "c2VjcmV0" * 40, "ca.crt": "Y2VydA==" * 80}
                yield {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data}
            case _:
                condition = {
                    "type": "Ready",
                    "status": "True",
                    "reason": "Issued",
                    "lastTransitionTime": "2026-01-31T08:00:00Z",
                }
                yield {
                    "apiVersion": "cert-manager.io/v1",
                    "kind": "Certificate",
                    "metadata": meta,
                    "spec": {"secretName": f"tls-{number}", "dnsNames": [f"a{number}.example.com"]},
                    "status": {"conditions": [condition], "notAfter": "2026-05-01T08:00:00Z"},
                }


def _settings(number: int, meta: dict[str, Any]) -> dict[str, Any]:
    data = {f"key-{index}": f"value {number * index}" for index in range(12)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def options_of(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the options that name the library and Kyverno."""
    parser.add_argument("--library", type=Path, help="a checkout of github.com/kyverno/policies")
    parser.add_argument("--pack", type=Path, help="objects for the whole library")
    parser.add_argument("--reference", default="", help="Kyverno's command")
    return parser


if __name__ == "__main__":
    given = options_of(argparse.ArgumentParser(description=__doc__.splitlines()[0])).parse_args()
    if given.library is None:
        raise SystemExit("--library is missing")
    for line in lines(given.library, given.pack, given.reference):
        print(line, flush=True)
