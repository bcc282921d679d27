"""Ephemeral reports: what one evaluation said, until it is gathered into the object's report.

Source of the rules: upstream pkg/utils/report (new.go, metadata.go).
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kube.discovery import plural
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, metadata, object_key, text_field
from kyvsim.model.request import UserInfo
from kyvsim.model.result import PolicyResponse
from kyvsim.sim.kyverno.report_results import entries, is_reported, summary
from kyvsim.sim.kyverno.users import BACKGROUND
from kyvsim.sim.parts import Parts
from kyvsim.sim.server.metadata import with_metadata

API_VERSION = "reports.kyverno.io/v1"
UID_LABEL = "audit.kyverno.io/resource.uid"
OWNED_NAMESPACE = "audit.kyverno.io/resource.namespace"
OWNED_NAME = "audit.kyverno.io/resource.name"
OWNED_KIND = "audit.kyverno.io/resource.kind"
MANAGED: Mapping[str, str] = MappingProxyType({"app.kubernetes.io/managed-by": "kyverno"})


class Told(NamedTuple):
    """One evaluation of one object."""

    subject: Json
    responses: tuple[PolicyResponse, ...]
    base: str
    """What the report's name begins with."""
    source: str
    """`admission` or `background-scan`; a report of the latter has its owner at once."""


def kind_of_report(namespace: str) -> str:
    """Return the kind of ephemeral reports about objects of a namespace, "" for none."""
    return "EphemeralReport" if namespace else "ClusterEphemeralReport"


def write_report(parts: Parts, user: UserInfo, told: Told) -> None:
    """Create an ephemeral report as a user, where there is anything to tell."""
    results = entries(told.responses, int(parts.clock.now().timestamp()))
    if results:
        parts.client(user).create(_report(parts, told, results))


def write_background_report(parts: Parts, trigger: Json, response: PolicyResponse) -> None:
    """Report what the background controller made or changed for a trigger.

    The results tell the downstreams (`generated`) and the changed objects (`targets`).
    """
    uid = text_field(metadata(trigger), "uid")
    if uid:
        write_report(parts, BACKGROUND, Told(trigger, (response,), uid, "background-scan"))


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


def _report(parts: Parts, told: Told, results: list[Json]) -> Json:
    key = object_key(told.subject)
    group, version = split_api_version(key.api_version)
    kind_labels = {
        "audit.kyverno.io/resource.gvr": _resource(parts, group, version, key.kind),
        "audit.kyverno.io/resource.group": group,
        "audit.kyverno.io/resource.version": version,
        OWNED_KIND: key.kind,
        "audit.kyverno.io/source": told.source,
        UID_LABEL: text_field(metadata(told.subject), "uid"),
    }
    meta: dict[str, Json] = {
        "generateName": f"{told.base}-",
        "labels": {**MANAGED, **kind_labels, **_policy_labels(parts, told.responses)},
        "annotations": {OWNED_NAMESPACE: key.namespace, OWNED_NAME: key.name},
    }
    if key.namespace:
        meta["namespace"] = key.namespace
    report = {
        "apiVersion": API_VERSION,
        "kind": kind_of_report(key.namespace),
        "metadata": meta,
        "spec": {
            "owner": owner_reference(told.subject),
            "summary": summary(results),
            "results": results,
        },
    }
    return report if told.source == "admission" else adopted(report, told.subject)


def _resource(parts: Parts, group: str, version: str, kind: str) -> str:
    return ".".join(filter(None, (plural(group, kind, parts.store.defined), version, group)))


def _policy_labels(parts: Parts, responses: Iterable[PolicyResponse]) -> dict[str, str]:
    """Return a label for each policy told of, with its version."""
    found = {}
    for policy in (one.policy for one in responses if is_reported(one.policy)):
        stored = parts.store.get("kyverno.io/v1", policy.kind, policy.namespace, policy.name)
        prefix = "pol" if policy.namespace else "cpol"
        found[f"{prefix}.kyverno.io/{policy.name}"] = text_field(
            metadata(stored), "resourceVersion"
        )
    return found
