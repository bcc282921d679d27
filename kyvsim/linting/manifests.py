"""Checks of manifests that are given together: names that lead to nothing in another of them."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.discovery import is_builtin_group
from kyvsim.kubernetes.labels import is_subdomain
from kyvsim.kubernetes.objects import (
    Json,
    ObjectKey,
    Path,
    labels,
    metadata,
    object_key,
    text_field,
    value_at,
)
from kyvsim.kubernetes.quantities import parse_quantity
from kyvsim.linting.lookups import resource_problem
from kyvsim.model.diagnostic import Diagnostic, likely
from kyvsim.model.source import Document

_TEMPLATES: tuple[tuple[str, ...], ...] = (
    ("spec", "template"),
    ("spec", "jobTemplate", "spec", "template"),
    (),
)
_CONTAINERS = ("containers", "initContainers")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_KEYED = (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret"))


def dangling_names(manifests: Iterable[Document]) -> Iterator[Diagnostic]:
    """KV363: a port or key that the container, Service, ConfigMap or Secret of the name lacks.

    Only objects among the manifests are known; names of others prove nothing.
    """
    given = {object_key(one.data): one for one in manifests}
    for key, document in given.items():
        for path, pod in _pods(document.data):
            yield from _in_pod(document, path, pod, key.namespace, given)
            if key.kind == "StatefulSet":
                yield from _unknown_volumes(document, path, pod)
        if key.kind == "Service":
            yield from _target_ports(document, key.namespace, given)
        elif key.kind == "Ingress":
            yield from _backends(document, key.namespace, given)


def rejected_values(manifests: Iterable[Document]) -> Iterator[Diagnostic]:
    """KV233: values that exclude each other, for which an API server rejects the object.

    upstream: k8s.io/kubernetes pkg/apis/policy/validation, pkg/apis/autoscaling/validation,
    pkg/apis/core/validation (ValidateResourceRequirements)
    """
    for document in manifests:
        spec = document.data.get("spec")
        found: list[tuple[Path, str]] = []
        if {"minAvailable", "maxUnavailable"} <= (spec.keys() if isinstance(spec, dict) else set()):
            found.append((("maxUnavailable",), "cannot be set together with `minAvailable`"))
        name = value_at(spec, ("externalName",))
        if isinstance(name, str) and name and not is_subdomain(name.rstrip(".")):
            found.append((("externalName",), "must be a host name, without scheme, port and path"))
        least, most = (value_at(spec, (field,)) for field in ("minReplicas", "maxReplicas"))
        if isinstance(least, int) and isinstance(most, int) and least > most:
            found.append((("maxReplicas",), f"must not be less than `minReplicas`, {least}"))
        for start, pod in _pods(document.data):
            for at, container in _each(value_at(pod, ("spec",)), *_CONTAINERS):
                place = (*start[1:], *(("spec",) if start else ()), *at, "resources", "requests")
                for name, limit in _above_limits(container):
                    found.append(((*place, name), f"must not be more than the limit, {limit}"))
        kind = object_key(document.data).kind
        for path, problem in found:
            text = f"an API server rejects this {kind}: `{path[-1]}` {problem}"
            yield warn(document, "KV233", text, ("spec", *path))


def _above_limits(container: Json) -> Iterator[tuple[str, Json]]:
    requests, limits = (
        value_at(container, ("resources", field)) for field in ("requests", "limits")
    )
    for name, amount in requests.items() if isinstance(requests, dict) else ():
        limit = value_at(limits, (name,))
        low, high = (parse_quantity(str(one)) for one in (amount, limit))
        if low is not None and high is not None and low > high:
            yield name, limit


def ignored_rules(manifests: Iterable[Document]) -> Iterator[Diagnostic]:
    """KV364: rules of a NetworkPolicy whose direction is not among its `policyTypes`.

    upstream: k8s.io/api networking/v1 types.go
    """
    for document in manifests:
        if document.data.get("kind") != "NetworkPolicy":
            continue
        spec = document.data.get("spec")
        types = value_at(spec, ("policyTypes",))
        if not isinstance(types, list):
            continue
        for field, name in (("ingress", "Ingress"), ("egress", "Egress")):
            if value_at(spec, (field,)) and types and name not in types:
                text = f"these rules have no effect: add `{name}` to `policyTypes`"
                yield warn(document, "KV364", text, ("spec", field))


_FILTER = re.compile(r"\[([^\[\]]*)\]")
_IN_JSON: Mapping[str, tuple[type, str]] = {
    "webhooks": (dict, 'an object, such as `{"namespaceSelector": {}}`'),
    "webhookAnnotations": (dict, "an object of strings"),
    "webhookLabels": (dict, "an object of strings"),
    "matchConditions": (list, "a list of conditions"),
}


def ignored_settings(manifests: Iterable[Document]) -> Iterator[Diagnostic]:
    """KV368: settings in Kyverno's ConfigMap that it cannot read, or filters for nothing.

    upstream: pkg/config/types.go, pkg/config/config.go, which logs errors and goes on
    """
    for document in manifests:
        key, data = object_key(document.data), document.data.get("data")
        if (key.kind, key.name) != ("ConfigMap", "kyverno") or not isinstance(data, dict):
            continue
        for name, text in data.items():
            problem = ""
            if not isinstance(text, str) or "{{" in text:
                continue
            if name == "resourceFilters":
                problem = _filter_problem(text)
            elif name in _IN_JSON:
                kind, form = _IN_JSON[name]
                try:
                    is_read = isinstance(json.loads(text), kind)
                except (ValueError, RecursionError):
                    is_read = False
                problem = "" if is_read else f"the setting is ignored: it must be {form} in JSON"
            if problem:
                yield warn(document, "KV368", problem, ("data", name))


def _filter_problem(text: str) -> str:
    """Return why a part of the setting `resourceFilters` filters nothing, or ""."""
    beside = _FILTER.sub(" ", text).strip(", \n\t")
    if beside:
        line = beside.split("\n")[0].strip("[] ")
        return f"`{line}` is ignored: each filter is in brackets (write `[{line}]`)"
    for one in _FILTER.findall(text):
        parts = one.split(",")
        meant = ",".join(part.strip() for part in parts)
        if len(parts) > 3:
            return f"`[{one}]` has {len(parts)} parts instead of kind, namespace and name"
        if one != meant:
            return f"`[{one}]` filters nothing, since spaces count: write `[{meant}]`"
    return ""


_ROLES = ("Role", "ClusterRole")


def unknown_role_resources(manifests: Iterable[Document]) -> Iterator[Diagnostic]:
    """KV163: a resource in the rules of a role that its groups do not have."""
    for document in manifests:
        is_role = document.data.get("kind") in _ROLES
        for at, rule in _each(document.data, "rules") if is_role else ():
            groups, names = (rule.get(field) for field in ("apiGroups", "resources"))
            if not (isinstance(groups, list) and isinstance(names, list)):
                continue
            for index, name in enumerate(names):
                problems = [
                    resource_problem(group, str(name).partition("/")[0])
                    for group in groups
                    if is_builtin_group(group)
                ]
                if problems and len(problems) == len(groups) and all(problems):
                    yield warn(document, "KV163", problems[0], (*at, "resources", index))


def _pods(obj: Json) -> Iterator[tuple[Path, Json]]:
    """Yield the Pod of a workload or a Pod itself, with its path."""
    for path in _TEMPLATES:
        pod = value_at(obj, path)
        if _each(value_at(pod, ("spec",)), "containers"):
            yield path, pod
            return


def _each(holder: Json, *fields: str) -> list[tuple[Path, Json]]:
    """Return the elements of lists that are maps, with the path of each."""
    found: list[tuple[Path, Json]] = []
    for field in fields:
        elements = value_at(holder, (field,))
        for index, one in enumerate(elements if isinstance(elements, list) else ()):
            if isinstance(one, dict):
                found.append(((field, index), one))
    return found


def _port_names(pod: Json) -> set[str]:
    containers = _each(value_at(pod, ("spec",)), *_CONTAINERS)
    return {text_field(port, "name") for _, one in containers for _, port in _each(one, "ports")}


def _in_pod(
    document: Document,
    start: Path,
    pod: Json,
    namespace: str,
    given: Mapping[ObjectKey, Document],
) -> Iterator[Diagnostic]:
    for at, container in _each(value_at(pod, ("spec",)), *_CONTAINERS):
        path = (*start, "spec", *at)
        names = {text_field(port, "name") for _, port in _each(container, "ports")}
        for probe in _PROBES:
            for action in ("httpGet", "tcpSocket"):
                port = value_at(container, (probe, action, "port"))
                if isinstance(port, str) and not port.isdigit() and port not in names:
                    text = f"the container has no port named `{port}`{_known(port, names)}"
                    yield warn(document, "KV363", text, (*path, probe, action, "port"))
        for where, variable in _each(container, "env"):
            for field, kind in _KEYED:
                reference = value_at(variable, ("valueFrom", field))
                name, key = (text_field(reference, part) for part in ("name", "key"))
                source = given.get(ObjectKey("v1", kind, namespace, name))
                if source is None or value_at(reference, ("optional",)) or not key:
                    continue
                maps = (source.data.get(one) or {} for one in ("data", "stringData", "binaryData"))
                keys = {each for one in maps for each in one}
                if key not in keys:
                    text = f"the {kind} `{name}` has no key `{key}`{_known(key, keys)}"
                    place = (*path, *where, "valueFrom", field, "key")
                    yield warn(document, "KV363", text, place)


def _unknown_volumes(document: Document, start: Path, pod: Json) -> Iterator[Diagnostic]:
    """Yield the mounts of a StatefulSet without a volume; API servers only check those of Pods."""
    claims = [metadata(one) for _, one in _each(document.data["spec"], "volumeClaimTemplates")]
    spec = value_at(pod, ("spec",))
    volumes = (volume for _, volume in _each(spec, "volumes"))
    names = {text_field(one, "name") for one in (*claims, *volumes)}
    for at, container in _each(spec, *_CONTAINERS):
        for where, mount in _each(container, "volumeMounts"):
            name = text_field(mount, "name")
            if name not in names:
                text = f"there is no volume or claim template `{name}`{_known(name, names)}"
                yield warn(document, "KV363", text, (*start, "spec", *at, *where, "name"))


def _known(name: str, names: Iterable[str]) -> str:
    every = sorted(filter(None, names))
    return likely(name, every) or (
        f" (it has {', '.join(f'`{one}`' for one in every)})" * bool(every)
    )


def _target_ports(
    document: Document, namespace: str, given: Mapping[ObjectKey, Document]
) -> Iterator[Diagnostic]:
    selector = value_at(document.data, ("spec", "selector"))
    pods = [
        pod
        for key, one in given.items()
        if key.namespace == namespace
        for _, pod in _pods(one.data)
        if isinstance(selector, dict) and selector and selector.items() <= labels(pod).items()
    ]
    names = {name for pod in pods for name in _port_names(pod)}
    for at, port in _each(document.data.get("spec"), "ports") if pods else ():
        target = port.get("targetPort")
        if isinstance(target, str) and not target.isdigit() and target not in names:
            text = (
                f"the Pods that this Service selects have no port named `{target}`"
                f"{_known(target, names)}"
            )
            yield warn(document, "KV363", text, ("spec", *at, "targetPort"))


def _backends(
    document: Document, namespace: str, given: Mapping[ObjectKey, Document]
) -> Iterator[Diagnostic]:
    for at, rule in _each(document.data.get("spec"), "rules"):
        for where, one in _each(rule.get("http"), "paths"):
            service = value_at(one, ("backend", "service"))
            name = text_field(service, "name")
            source = given.get(ObjectKey("v1", "Service", namespace, name))
            ports = [port for _, port in _each(source.data.get("spec"), "ports")] if source else []
            for field, key in (("number", "port"), ("name", "name")):
                port = value_at(service, ("port", field))
                if ports and port and port not in [each.get(key) for each in ports]:
                    known = {str(each.get(key)) for each in ports if each.get(key)}
                    text = f"the Service `{name}` has no port `{port}`{_known(str(port), known)}"
                    place = ("backend", "service", "port", field)
                    yield warn(document, "KV363", text, ("spec", *at, "http", *where, *place))
