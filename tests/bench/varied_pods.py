"""Pods of which hardly two are alike: what a run takes where nothing comes again.

One to three containers, some with others before them, security contexts, ports, variables, volumes
and annotations by chance: 1.2 kB each. A third of the results of the bench's policies are failures.
"""

import random
from collections.abc import Iterator
from typing import Any

_REGISTRIES = ("docker.io/library", "registry.example.com/apps", "quay.io/other")
_PROFILES = ("RuntimeDefault", "Localhost", "Unconfined")
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/c"


def varied_pods(count: int) -> Iterator[dict[str, Any]]:
    """Yield so many Pods; the same ones each time."""
    chance = random.Random(13)
    for number in range(count):
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": _metadata(chance, number),
            "spec": _spec(chance),
        }


def _metadata(chance: random.Random, number: int) -> dict[str, Any]:
    labels = {"app": f"app-{chance.randrange(900)}", "rev": f"{chance.getrandbits(32):08x}"}
    found = {"name": f"pod-{number}", "namespace": f"ns-{chance.randrange(200)}", "labels": labels}
    if chance.random() < 0.4:
        value = chance.choice(("runtime/default", "localhost/x", "unconfined"))
        found["annotations"] = {chance.choice(("note", _APP_ARMOR)): value}
    return found


def _spec(chance: random.Random) -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": _containers(chance, 3)}
    if chance.random() < 0.3:
        spec["initContainers"] = _containers(chance, 2)
    context: dict[str, Any] = {}
    if chance.random() < 0.4:
        context["runAsNonRoot"] = chance.random() < 0.7
    if chance.random() < 0.3:
        context["seccompProfile"] = {"type": chance.choice(_PROFILES)}
    if chance.random() < 0.15:
        name = chance.choice(("kernel.shm_rmid_forced", "net.core.somaxconn", "net.ipv4.tcp_fin"))
        context["sysctls"] = [{"name": name, "value": str(chance.randrange(100))}]
    if context:
        spec["securityContext"] = context
    if chance.random() < 0.6:
        spec["volumes"] = [
            {"name": f"v{index}", **_volume(chance)} for index in range(chance.randrange(1, 4))
        ]
    return spec | {
        field: True for field in ("hostNetwork", "hostPID", "hostIPC") if chance.random() < 0.08
    }


def _volume(chance: random.Random) -> dict[str, Any]:
    number = chance.randrange(900)
    sources = (
        {"emptyDir": {"sizeLimit": f"{number}Mi"}},
        {"hostPath": {"path": f"/var/{number}"}},
        {"configMap": {"name": f"settings-{number}"}},
        {"secret": {"secretName": f"secret-{number}"}},
        {"nfs": {"server": "files", "path": f"/{number}"}},
    )
    return chance.choice(sources)


def _containers(chance: random.Random, most: int) -> list[dict[str, Any]]:
    return [_container(chance) for _ in range(chance.randrange(1, most + 1))]


def _container(chance: random.Random) -> dict[str, Any]:
    registry, version = chance.choice(_REGISTRIES), chance.randrange(10_000)
    found: dict[str, Any] = {
        "name": f"c-{chance.randrange(1_000)}",
        "image": f"{registry}/app-{chance.randrange(3_000)}:1.{version}",
        "imagePullPolicy": chance.choice(("Always", "IfNotPresent")),
    }
    if chance.random() < 0.6:
        found["ports"] = [{"containerPort": chance.randrange(1024, 65_000)}]
        if chance.random() < 0.1:
            found["ports"][0]["hostPort"] = chance.randrange(1024, 65_000)
    if chance.random() < 0.7:
        found["resources"] = {name: _amounts(chance) for name in ("limits", "requests")}
    if chance.random() < 0.6:
        found["env"] = [
            {"name": f"VARIABLE_{chance.randrange(500)}", "value": f"{chance.getrandbits(40):x}"}
            for _ in range(chance.randrange(1, 4))
        ]
    context = _security_context(chance)
    return found | ({"securityContext": context} if context else {})


def _amounts(chance: random.Random) -> dict[str, str]:
    return {"memory": f"{chance.randrange(16, 4096)}Mi", "cpu": f"{chance.randrange(10, 4000)}m"}


def _security_context(chance: random.Random) -> dict[str, Any]:
    dropped = chance.choice((["ALL"], ["MKNOD"], ["ALL", "NET_RAW"]))
    added = chance.choice(("NET_ADMIN", "NET_BIND_SERVICE", "SYS_TIME"))
    may = {
        "allowPrivilegeEscalation": (0.5, chance.random() < 0.3),
        "privileged": (0.3, chance.random() < 0.2),
        "capabilities": (0.4, {"drop": dropped, "add": [added]}),
        "runAsNonRoot": (0.3, chance.random() < 0.8),
        "runAsUser": (0.2, chance.randrange(3_000)),
        "seccompProfile": (0.3, {"type": chance.choice(_PROFILES)}),
        "seLinuxOptions": (0.1, {"type": chance.choice(("container_t", "svirt_t"))}),
        "procMount": (0.1, chance.choice(("Default", "Unmasked"))),
    }
    return {name: value for name, (often, value) in may.items() if chance.random() < often}
