"""Kyverno's ConfigMap, the identities of its controllers, and the objects of an installation."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.discovery import KindSelector, parse_kind_selector, split_api_version
from kyvsim.kubernetes.labels import Selector, compile_selector
from kyvsim.kubernetes.objects import Json, KubernetesObject, ObjectKey, labels, object_key
from kyvsim.kubernetes.package_data import read_table
from kyvsim.kubernetes.wildcard import matches
from kyvsim.model.request import UserInfo
from kyvsim.model.simulation import Installation
from kyvsim.simulator.api_server import ObjectStore, Review
from kyvsim.simulator.api_server.authorizer import service_account

# The identities of Kyverno's controllers.
# Source of the names: upstream charts/kyverno.

NAMESPACE = "kyverno"
MANAGED: Mapping[str, str] = MappingProxyType({"app.kubernetes.io/managed-by": "kyverno"})
"""The label of objects that Kyverno creates."""

ADMISSION, BACKGROUND, CLEANUP, REPORTS = (
    service_account(NAMESPACE, f"kyverno-{name}-controller")
    for name in ("admission", "background", "cleanup", "reports")
)

# Kyverno's ConfigMap: the users and objects that the webhooks skip.
# Source of the rules: upstream pkg/config (config.go, filters.go), charts/kyverno/values.yaml.

CONFIG_MAP = ("v1", "ConfigMap", NAMESPACE, "kyverno")
_FILTER = re.compile(r"\[([^\[\]]*)\]")
_EXCLUDED = ("excludeGroups", "excludeUsernames", "excludeRoles", "excludeClusterRoles")
_NAME_LABEL = "kubernetes.io/metadata.name"


class _Filter(NamedTuple):
    kind: KindSelector
    namespace: str
    name: str


def settings_of(store: ObjectStore) -> Mapping[str, Json]:
    """Return the data of Kyverno's ConfigMap, empty if it does not exist."""
    config_map = store.get(*CONFIG_MAP)
    return (config_map or {}).get("data") or {}


def is_filtered(key: ObjectKey, store: ObjectStore, subresource: str = "") -> bool:
    """Return whether a resource filter excludes requests for an object."""
    text = settings_of(store).get("resourceFilters") or ""
    is_namespace = key[:2] == ("v1", "Namespace")
    return any(
        (matches(one.namespace, key.namespace) and matches(one.name, key.name))
        # A filter for a namespace also filters the Namespace itself.
        or (is_namespace and matches(one.namespace, key.name))
        for one in _filters_of(text, key.api_version, key.kind, subresource)
    )


def is_selected(namespace: str, review: Review, store: ObjectStore) -> bool:
    """Return whether the selectors of the webhooks match a request.

    `namespace` is that of the object, the object itself if it is a Namespace, "" for other
    cluster-scoped objects, to which namespace selectors do not apply. The labels of the object and
    of its former state count.
    """
    selects = _selectors(settings_of(store).get("webhooks") or "{}")
    if review.request.key[:2] == ("v1", "Namespace") and review.object is not None:
        if namespace and not selects.namespace({_NAME_LABEL: namespace, **labels(review.object)}):
            return False
    elif namespace and not store.cached(_is_selected_namespace, namespace):
        return False
    objects = [one for one in (review.object, review.old) if one is not None]
    return not objects or any(selects.object(labels(one)) for one in objects)


def _is_selected_namespace(store: ObjectStore, namespace: str) -> bool:
    selects = _selectors(settings_of(store).get("webhooks") or "{}")
    return selects.namespace({_NAME_LABEL: namespace, **store.namespace_labels(namespace)})


class _Selectors(NamedTuple):
    namespace: Selector
    object: Selector


def webhook_setting(text: str) -> Mapping[str, Json]:
    """Return the first entry of the setting `webhooks`, {} if it is invalid."""
    with suppress(ValueError):
        setting = json.loads(text)
        first = setting[0] if setting.__class__ is list and setting else setting
        return first if first.__class__ is dict else {}
    return {}


@lru_cache(maxsize=8)
def _selectors(text: str) -> _Selectors:
    """Return the selectors of the setting `webhooks`; an invalid one selects everything."""
    setting = webhook_setting(text)
    names = ("namespaceSelector", "objectSelector")
    try:
        return _Selectors(*(compile_selector(setting.get(name) or {}) for name in names))
    except (ValueError, AttributeError):
        return _Selectors(lambda _: True, lambda _: True)


def is_excluded(user: UserInfo, store: ObjectStore) -> bool:
    """Return whether Kyverno excludes a user; a matching name with `!` includes it again."""
    names = (user.groups, (user.username,), user.roles, user.cluster_roles)
    return bool(store.cached(_is_excluded, names))


def _is_excluded(store: ObjectStore, names: tuple[tuple[str, ...], ...]) -> bool:
    data = settings_of(store)
    words = [
        word
        for field, held in zip(_EXCLUDED, names, strict=True)
        for word in map(str.strip, str(data.get(field) or "").split(","))
        if word and any(matches(word.removeprefix("!"), one) for one in held)
    ]
    return bool(words) and not any(word.startswith("!") for word in words)


@lru_cache(maxsize=8)
def _filters(text: str) -> tuple[_Filter, ...]:
    filters = []
    for part in _FILTER.findall(text):
        kind, namespace, name = [*map(str.strip, part.split(",")), "*", "*"][:3]
        filters.append(_Filter(parse_kind_selector(kind), namespace or "*", name or "*"))
    return tuple(filters)


@lru_cache(maxsize=512)
def _filters_of(text: str, api_version: str, kind: str, subresource: str) -> tuple[_Filter, ...]:
    """Return the filters for a kind, which are few."""
    named = (*split_api_version(api_version), kind, subresource)
    return tuple(
        one
        for one in _filters(text)
        if all(matches(pattern, value) for pattern, value in zip(one.kind, named, strict=True))
    )


# The objects of a new cluster: namespaces, roles, and Kyverno itself.
#
# The table is package data (`installation.json`), made by tests/package_data/make_installation.py:
# it has the objects of the chart with default values. Source of the effect of other values:
# upstream charts/kyverno (templates/*/clusterrole.yaml, templates/config).

_CORE_ROLE = re.compile(r"kyverno:(admission|background|cleanup|reports)-controller:core")
_CORE_EXTRAS = (
    ("networking.k8s.io", "networkpolicies"),
    ("rbac.authorization.k8s.io", "rolebindings"),
    ("", "resourcequotas"),
    ("resource.k8s.io", "resourceclaims"),
)
"""Group and a resource of the background controller's rules that come from default values."""
_TEXTS = ("generateSuccessEvents", "successEventActions", "updateRequestThreshold")
_TEMPLATE = re.compile(r'\{\{-?\s*(?:template|include)\s+"kyverno\.([\w.-]+)"\s+[.$]\s*-?\}\}')
_TEMPLATE_VALUES = MappingProxyType(
    dict.fromkeys(("namespace", "fullname", "config.configMapName"), "kyverno")
    | {"config.metricsConfigMapName": "kyverno-metrics"}
    | {"admission-controller.serviceName": "kyverno-svc"}
)
_OWN_FILTER = f"[*/*,{NAMESPACE},*]"


@lru_cache(maxsize=1)
def _table() -> tuple[KubernetesObject, ...]:
    return tuple(read_table(__file__, "installation.json"))


def installed_objects(installation: Installation) -> Iterator[KubernetesObject]:
    """Yield the installed objects, without uid and creationTimestamp."""
    for obj in _table():
        key = object_key(obj)
        if key == CONFIG_MAP:
            yield {**obj, "data": _configuration(obj["data"], installation)}
        elif key.kind == "ClusterRole" and (role := _CORE_ROLE.fullmatch(key.name)):
            # Values of the chart change the role.
            yield from _roles(obj, f"{role[1]}Controller", installation)
        else:
            yield obj


def _roles(
    core: KubernetesObject, controller: str, installation: Installation
) -> Iterator[KubernetesObject]:
    """Yield the role of a controller, and one with the additional permissions of the values."""
    rules = core["rules"]
    given = installation.value(controller, "rbac", "coreClusterRole", "extraResources")
    if given is not None:
        rules = [
            rule
            for rule in rules
            if "create" not in rule["verbs"]
            or not any(
                group in rule["apiGroups"] and resource in rule["resources"]
                for group, resource in _CORE_EXTRAS
            )
        ]
        rules += given
    sections = (controller, "global") if controller == "admissionController" else ()
    reading = {"verbs": ["get", "list", "watch"]}
    if any(installation.value(one, "crdWatcher") for one in sections):
        rules = [
            {**rule, **reading} if rule["resources"] == ["customresourcedefinitions"] else rule
            for rule in rules
        ]
    yield {**core, "rules": rules}
    extra = installation.value(controller, "rbac", "clusterRole", "extraResources")
    if extra:
        if controller == "reportsController":
            extra = [{**rule, **reading} for rule in extra]
        name = core["metadata"]["name"].removesuffix(":core")
        meta = {"name": f"{name}:additional", "labels": labels(core)}
        role = {"apiVersion": core["apiVersion"], "kind": "ClusterRole"}
        yield {**role, "metadata": meta, "rules": list(extra)}


def _configuration(data: Mapping[str, Json], installation: Installation) -> Json:
    """Return the data of Kyverno's ConfigMap with the values of an installation."""
    given = installation.value("config") or {}
    filters = " ".join(_resource_filters(data["resourceFilters"], given))
    settings = {**data, "resourceFilters": filters}
    for name in (*_EXCLUDED, *_TEXTS):
        value = given.get(name)
        if value is not None and name in _EXCLUDED:
            settings[name] = ",".join(map(str, value))
        elif value is not None:
            settings[name] = str(value).lower() if value.__class__ is bool else str(value)
    webhooks = given.get("webhooks", json.loads(data["webhooks"]))
    if isinstance(webhooks, Mapping):
        # The selectors of the webhooks; they exclude Kyverno's own namespace.
        selector = webhooks.get("namespaceSelector") or {}
        own = {"key": _NAME_LABEL, "operator": "NotIn", "values": [NAMESPACE]}
        tests = [one for one in selector.get("matchExpressions") or () if one != own]
        tests += [own] if given.get("excludeKyvernoNamespace") is not False else []
        selecting = {"namespaceSelector": {**selector, "matchExpressions": tests}}
        settings["webhooks"] = json.dumps({**webhooks, **selecting})
    return {name: value for name, value in settings.items() if value != ""}


def _resource_filters(own: str, given: Mapping[str, Json]) -> list[str]:
    usual = [f"[{one}]" for one in _FILTER.findall(own) if f"[{one}]" != _OWN_FILTER]
    filters = [*_expanded(given["resourceFilters"])] if "resourceFilters" in given else usual
    if given.get("excludeKyvernoNamespace") is not False:
        filters = [_OWN_FILTER, *filters]
    removed = set(_expanded(given.get("resourceFiltersExclude") or ()))
    places = [f",{one}," for one in given.get("resourceFiltersExcludeNamespaces") or ()]
    kept = [one for one in filters if one not in removed and not any(p in one for p in places)]
    added = [*_expanded(given.get("resourceFiltersInclude") or ())]
    further = [f"[*/*,{one},*]" for one in given.get("resourceFiltersIncludeNamespaces") or ()]
    return [*kept, *added, *further]


def _expanded(filters: Iterable[Json]) -> Iterator[str]:
    """Yield filters with the templates of the chart rendered."""

    def value(match: re.Match[str]) -> str:
        controller, _, part = match[1].rpartition(".")
        usual = f"kyverno{':' if part == 'roleName' else '-'}{controller}"
        return _TEMPLATE_VALUES.get(match[1], usual)

    return (_TEMPLATE.sub(value, str(one)) for one in filters)
