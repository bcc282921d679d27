"""Names of objects, and what policies say of themselves, as reports show them."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.kubernetes.objects import Json, ObjectKey, object_key
from kyvsim.model.policy import SEVERITIES, Policy

_DOCUMENTATION = frozenset({"documentation", "documentation-url", "docs", "url"})
_KUBERNETES = "https://kubernetes.io/docs/reference/access-authn-authz"
_PAGES: Mapping[str, str] = MappingProxyType(
    {
        "ValidatingPolicy": "validating-policy/",
        "MutatingPolicy": "mutating-policy/",
        "GeneratingPolicy": "generating-policy/",
        "DeletingPolicy": "deleting-policy/",
        "ImageValidatingPolicy": "image-validating-policy/",
        "CleanupPolicy": "cleanup-policy/",
        "ClusterCleanupPolicy": "cleanup-policy/",
        "ValidatingAdmissionPolicy": f"{_KUBERNETES}/validating-admission-policy/",
        "MutatingAdmissionPolicy": f"{_KUBERNETES}/mutating-admission-policy/",
    }
)
"""Pages on kinds of policies: below Kyverno's, or a whole address."""


def title(obj: Json) -> str:
    """Return `namespace/Kind/name`, without the namespace for a cluster-scoped object."""
    key = object_key(obj)
    return key_title(key if key.name else key._replace(name=_generated_name(obj)))


def key_title(key: ObjectKey) -> str:
    """Return the same of an object's key."""
    return "/".join(part for part in (key.namespace, key.kind or "?", key.name) if part)


def short_title(obj: Json) -> str:
    """Return `Kind namespace/name`, as a sentence names an object."""
    key = object_key(obj)
    return f"{key.kind or '?'} {'/'.join(part for part in (key.namespace, key.name) if part)}"


def identity(obj: Json) -> dict[str, str]:
    """Return apiVersion, kind, namespace and name; missing parts are empty texts."""
    return identity_of(object_key(obj))


def identity_of(key: ObjectKey) -> dict[str, str]:
    """Return the same of an object's key."""
    return {
        "apiVersion": key.api_version,
        "kind": key.kind,
        "namespace": key.namespace,
        "name": key.name,
    }


def severity_of(policy: Policy) -> str:
    """Return how severe a policy calls what it finds, one of SEVERITIES; "" where it says none."""
    said = policy.annotations.get("policies.kyverno.io/severity")
    return said if said in SEVERITIES else ""


def category_of(policy: Policy) -> str:
    """Return the category that a policy counts itself among, or ""."""
    said = policy.annotations.get("policies.kyverno.io/category")
    return said if said.__class__ is str else ""


def documentation_of(policy: Policy) -> str:
    """Return the address of a policy's documentation: its own, or that of its kind.

    Kyverno knows no annotation for it. Whatever its prefix is, one named `documentation`,
    `documentation-url`, `docs` or `url` counts if its value is a web address.
    """
    for key, value in policy.annotations.items():
        if key.rpartition("/")[2].lower() in _DOCUMENTATION and _is_address(value):
            return str(value)
    page = _PAGES.get(policy.kind.removeprefix("Namespaced"), "cluster-policy/")
    return page if _is_address(page) else f"https://kyverno.io/docs/policy-types/{page}"


def _is_address(value: Json) -> bool:
    return isinstance(value, str) and bool(re.fullmatch(r"https?://[!-~]+", value))


def _generated_name(obj: Json) -> str:
    meta = obj.get("metadata") if obj.__class__ is dict else None
    prefix = meta.get("generateName") if meta.__class__ is dict else None
    return f"{prefix}*" if prefix.__class__ is str else ""
