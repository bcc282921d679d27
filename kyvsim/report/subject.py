"""Names of objects, and what policies say of themselves, as reports show them."""

from kyvsim.kube.objects import Json, ObjectKey, object_key
from kyvsim.model.policy import SEVERITIES, Policy


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


def _generated_name(obj: Json) -> str:
    meta = obj.get("metadata") if obj.__class__ is dict else None
    prefix = meta.get("generateName") if meta.__class__ is dict else None
    return f"{prefix}*" if prefix.__class__ is str else ""
