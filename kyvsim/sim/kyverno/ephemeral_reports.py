"""Ephemeral reports: what admission said, until it is gathered into the object's report.

Source of the rules: upstream pkg/utils/report (new.go, metadata.go).
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from kyvsim.kube.discovery import plural
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, metadata, object_key, text_field
from kyvsim.model.result import PolicyResponse
from kyvsim.sim.kyverno.report_results import entries, is_reported, summary
from kyvsim.sim.kyverno.users import ADMISSION
from kyvsim.sim.parts import Parts
from kyvsim.sim.server.metadata import with_metadata

API_VERSION = "reports.kyverno.io/v1"
UID_LABEL = "audit.kyverno.io/resource.uid"
_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "ClusterPolicy": "cpol.kyverno.io",
        "Policy": "pol.kyverno.io",
        "GeneratingPolicy": "gpol.kyverno.io",
        "ImageValidatingPolicy": "ivpol.kyverno.io",
        "MutatingPolicy": "mpol.kyverno.io",
        "NamespacedMutatingPolicy": "mpol.kyverno.io",
        "ValidatingPolicy": "vpol.kyverno.io",
    }
)
_OTHERS = "validatingadmissionpolicy.apiserver.io"
"""How labels begin that name policies; upstream knows no other namespaced kind in CEL."""
OWNED_NAMESPACE = "audit.kyverno.io/resource.namespace"
OWNED_NAME = "audit.kyverno.io/resource.name"
MANAGED: Mapping[str, str] = MappingProxyType({"app.kubernetes.io/managed-by": "kyverno"})


def kind_of_report(namespace: str) -> str:
    """Return the kind of ephemeral reports about objects of a namespace, "" for none."""
    return "EphemeralReport" if namespace else "ClusterEphemeralReport"


def write_report(
    parts: Parts, subject: Json, responses: Iterable[PolicyResponse], base: str
) -> None:
    """Create a report on what was said at admission, where there is anything to tell.

    Its name begins with `base`, the uid of the request.
    """
    results = entries(responses, parts)
    if results:
        report = _report(parts, subject, base, results)
        labels = {**metadata(report)["labels"], **_policy_labels(parts, responses)}
        parts.client(ADMISSION).create(with_metadata(report, {"labels": labels}))


def owner_reference(obj: Json) -> Json:
    """Return the reference by which what belongs to an object names it."""
    key = object_key(obj)
    uid = text_field(metadata(obj), "uid")
    return {"apiVersion": key.api_version, "kind": key.kind, "name": key.name, "uid": uid}


def adopted(report: Json, owner: Json) -> Json:
    """Return a report with the object as its owner."""
    reference = owner_reference(owner)
    labels = {**metadata(report)["labels"], UID_LABEL: reference["uid"]}
    return with_metadata(report, {"ownerReferences": [reference], "labels": labels})


def _report(parts: Parts, subject: Json, base: str, results: list[Json]) -> Json:
    key = object_key(subject)
    group, version = split_api_version(key.api_version)
    kind_labels = {
        "audit.kyverno.io/resource.gvr": _resource(parts, group, version, key.kind),
        "audit.kyverno.io/resource.group": group,
        "audit.kyverno.io/resource.version": version,
        "audit.kyverno.io/resource.kind": key.kind,
        "audit.kyverno.io/source": "admission",
        UID_LABEL: text_field(metadata(subject), "uid"),
    }
    meta: dict[str, Json] = {
        "generateName": f"{base}-",
        "labels": {**MANAGED, **kind_labels},
        "annotations": {OWNED_NAMESPACE: key.namespace, OWNED_NAME: key.name},
    }
    if key.namespace:
        meta["namespace"] = key.namespace
    return {
        "apiVersion": API_VERSION,
        "kind": kind_of_report(key.namespace),
        "metadata": meta,
        "spec": {
            "owner": owner_reference(subject),
            "summary": summary(results),
            "results": results,
        },
    }


def _resource(parts: Parts, group: str, version: str, kind: str) -> str:
    return ".".join(filter(None, (plural(group, kind, parts.store.defined), version, group)))


def _policy_labels(parts: Parts, responses: Iterable[PolicyResponse]) -> dict[str, str]:
    """Return a label for each policy told of, with its version."""
    found = {}
    for policy in (one.policy for one in responses if is_reported(one.policy)):
        key = policy.facts.api_version, policy.kind, policy.namespace, policy.name
        version = text_field(metadata(parts.store.get(*key)), "resourceVersion")
        found[f"{_LABELS.get(policy.kind, _OTHERS)}/{policy.name}"] = version
    return found
