"""The schema of an object's metadata as users write it.

Source of the rules: k8s.io/apimachinery pkg/apis/meta/v1/types.go and
pkg/api/validation/objectmeta.go.
"""

from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.kubernetes.objects import Json

_LABEL_VALUE = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_DNS_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_SUBDOMAIN = f"{_DNS_LABEL}([.]{_DNS_LABEL})*"
_LABEL_NAME = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_ANNOTATION_KEY = f"([A-Za-z0-9][-A-Za-z0-9.]*/)?{_LABEL_NAME}"
_LONGEST_KEY = 317
"""A DNS subdomain, a slash and a name."""

_TEXT: Mapping[str, Json] = MappingProxyType({"type": "string", "nullable": True})
_TIME: Mapping[str, Json] = MappingProxyType(
    {**_TEXT, "form": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:\d\d)$"}
)
_OPEN: Mapping[str, Json] = MappingProxyType({"x-kubernetes-preserve-unknown-fields": True})
_OF_OWNERS = ("apiVersion", "kind", "name", "uid")
_OWNER: Mapping[str, Json] = MappingProxyType(
    {
        "type": "object",
        "required": [*_OF_OWNERS],
        "properties": {
            **{name: {"type": "string", "minLength": 1} for name in _OF_OWNERS},
            "blockOwnerDeletion": "boolean",
            "controller": "boolean",
        },
    }
)


def _keys(form: str) -> Json:
    return {"type": "string", "maxLength": _LONGEST_KEY, "form": f"^{form}$"}


OBJECT_META: Mapping[str, Json] = MappingProxyType(
    {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "maxLength": 253, "form": f"^{_DNS_SUBDOMAIN}$"},
            "generateName": "string",
            "namespace": {"type": "string", "maxLength": 63, "form": f"^({_DNS_LABEL})?$"},
            "labels": {
                "type": "object",
                "propertyNames": _keys(f"({_DNS_SUBDOMAIN}/)?{_LABEL_NAME}"),
                "additionalProperties": {**_TEXT, "maxLength": 63, "form": f"^{_LABEL_VALUE}$"},
            },
            "annotations": {
                "type": "object",
                "propertyNames": _keys(_ANNOTATION_KEY),
                "additionalProperties": _TEXT,
            },
            "creationTimestamp": _TIME,
            "deletionTimestamp": _TIME,
            "deletionGracePeriodSeconds": "integer",
            "finalizers": {"type": "array", "items": "string"},
            "generation": "integer",
            "managedFields": _OPEN,
            "ownerReferences": {"type": "array", "items": _OWNER},
            "resourceVersion": "string",
            "selfLink": "string",
            "uid": "string",
        },
    }
)
