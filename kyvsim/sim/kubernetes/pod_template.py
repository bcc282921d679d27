"""From a template to Pods."""

import hashlib
import json
from collections.abc import Mapping

from kyvsim.kube.objects import Json, annotations, labels, object_key
from kyvsim.sim.kubernetes.conditions import has_condition
from kyvsim.sim.kubernetes.owners import owner_reference

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_LENGTH = 10
_DONE = frozenset({"Succeeded", "Failed"})


def pod_of(
    owner: Json, template: Json, name: Mapping[str, str], marks: Mapping[str, str]
) -> dict[str, Json]:
    """Return the Pod of a template: `name` has `name` or `generateName`, `marks` further labels."""
    meta: dict[str, Json] = {**name, "namespace": object_key(owner).namespace}
    held = {**labels(template), **marks}
    if held:
        meta["labels"] = held
    if annotations(template):
        meta["annotations"] = annotations(template)
    meta["ownerReferences"] = [owner_reference(owner)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template.get("spec")}


def template_hash(template: Json) -> str:
    """Return a text that is the same for the same template; upstream's is made in another way."""
    text = json.dumps(template, sort_keys=True)
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
    found = ""
    for _ in range(_LENGTH):
        number, index = divmod(number, len(_ALPHABET))
        found += _ALPHABET[index]
    return found


def is_active(pod: Json) -> bool:
    """Return whether a Pod runs or is going to."""
    return (pod.get("status") or {}).get("phase") not in _DONE


def is_ready(pod: Json) -> bool:
    """Return whether all containers of a Pod are ready."""
    return has_condition(pod, "Ready")
