"""Names that an API server takes, told for objects that a rule generates.

Source of the rules: k8s.io/apimachinery pkg/api/validation (RFC 1123), k8s.io/kubernetes
pkg/apis/*/validation for the kinds with rules of their own.
"""

import re
from collections.abc import Iterable

from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import Json, object_key

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_SUBDOMAIN = 253
_ANY_PATH = "rbac.authorization.k8s.io"
"""The group whose names may be anything that fits into a path."""


def name_problems(generated: Iterable[Json]) -> list[str]:
    """Return what is wrong with names and namespaces of objects, a sentence each."""
    return [text for obj in generated for text in _problems(obj)]


def _problems(obj: Json) -> Iterable[str]:
    key = object_key(obj)
    group = split_api_version(key.api_version)[0]
    if group == _ANY_PATH:
        good, form = bool(key.name) and "/" not in key.name and "%" not in key.name, "path segment"
    elif not group and key.kind in {"Namespace", "Service"}:
        good, form = _LABEL.fullmatch(key.name) is not None, "RFC 1123 label"
    else:
        fits = len(key.name) <= _LONGEST_SUBDOMAIN and _SUBDOMAIN.fullmatch(key.name)
        good, form = bool(fits), "RFC 1123 name"
    if not good:
        yield f"no API server takes {key.kind} `{key.name}`: the name is no valid {form}"
    if key.namespace and not _LABEL.fullmatch(key.namespace):
        what = f"namespace `{key.namespace}` of {key.kind} `{key.name}`"
        yield f"no API server takes {what}: it is no valid RFC 1123 label"
