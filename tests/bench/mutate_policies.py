"""Sixteen mutate policies for Pods, as data for benches.

Eight strategic merges (plain and with anchors), three JSON patches, five loops with either: the mix
that a library of defaults has.
"""

from typing import Any

_AUTOGEN = "pod-policies.kyverno.io/autogen-controllers"
_CONTAINERS = "request.object.spec.containers"
_NAME = "request.object.metadata.name"
_ELEMENT = "{{ element.name }}"


def policies() -> list[dict[str, Any]]:
    """Return the policies."""
    merges = {
        "add-label": {"metadata": {"labels": {"+(team)": "platform"}}},
        "add-name-label": {
            "metadata": {"labels": {"copied": "{{ request.object.metadata.name }}"}}
        },
        "set-annotation": {"metadata": {"annotations": {"example.com/seen": "true"}}},
        "no-token": {"spec": {"+(automountServiceAccountToken)": False}},
        "add-security-context": {"spec": {"securityContext": {"+(fsGroup)": 2000}}},
        "add-emptydir-limit": {
            "spec": {"volumes": [{"(name)": "?*", "emptyDir": {"+(sizeLimit)": "1Gi"}}]}
        },
        "pull-always": {
            "spec": {"containers": [{"(image)": "*:latest", "imagePullPolicy": "Always"}]}
        },
        "add-requests": {
            "spec": {
                "containers": [
                    {
                        "(name)": "*",
                        "resources": {"requests": {"+(memory)": "64Mi", "+(cpu)": "1m"}},
                    }
                ]
            }
        },
    }
    patches = {
        "dns-config": (
            "- op: add\n  path: /spec/dnsConfig\n"
            "  value:\n    options:\n    - name: ndots\n      value: '2'\n"
        ),
        "grace": "- op: add\n  path: /spec/terminationGracePeriodSeconds\n  value: 45\n",
        "owner": (
            "- op: add\n  path: /metadata/annotations/example.com~1owner\n"
            "  value: \"{{ request.object.metadata.namespace || 'nobody' }}\"\n"
        ),
    }
    loops = {
        "each-image": _merge_each({"image": "mirror.example.com/{{ element.image }}"}),
        "each-context": _merge_each({"securityContext": {"+(allowPrivilegeEscalation)": False}}),
        "each-probe": _merge_each({"+(terminationMessagePolicy)": "FallbackToLogsOnError"}),
        "each-variable": _patch_each(
            "- op: add\n  path: /spec/containers/{{ elementIndex }}/env/-\n"
            '  value: {name: CONTAINER, value: "{{ element.name }}"}\n'
        ),
        "each-policy": _patch_each(
            "- op: add\n  path: /spec/containers/{{elementIndex}}/imagePullPolicy\n"
            "  value: IfNotPresent\n"
        ),
    }
    return [
        *(_policy(name, {"patchStrategicMerge": merge}) for name, merge in merges.items()),
        *(_policy(name, {"patchesJson6902": patch}) for name, patch in patches.items()),
        *(_policy(name, {"foreach": [loop]}) for name, loop in loops.items()),
    ]


def _merge_each(container: dict[str, Any]) -> dict[str, Any]:
    merge = {"spec": {"containers": [{"(name)": _ELEMENT, **container}]}}
    return {"list": _CONTAINERS, "patchStrategicMerge": merge}


def _patch_each(patch: str) -> dict[str, Any]:
    return {"list": _CONTAINERS, "patchesJson6902": patch}


def _policy(name: str, mutate: dict[str, Any]) -> dict[str, Any]:
    rule = {
        "name": name,
        "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
        "mutate": mutate,
    }
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {
            "name": name,
            "annotations": {"pod-policies.kyverno.io/autogen-controllers": "none"},
        },
        "spec": {"rules": [rule]},
    }
