"""Make `kyverno.json` and `cel.json` of `kyvsim/load/schemas` from the schemas of Kyverno's CRDs.

    python tests/package_data/make_schemas.py ../shared/schemas/kyverno.json cel.json

Prints the text of the file that is named last. The CEL kinds have a file of their own, so that
whoever has none does not read them. Schemas that occur more than once are written once, in
`shared`, and are referred to by their index. Of each schema only what `kyvsim.load.structure`
reads is kept.
"""

import json
import runpy
import sys
from pathlib import Path

KINDS = (
    "kyverno.io/v1/ClusterPolicy",
    "kyverno.io/v1/Policy",
    "kyverno.io/v2beta1/ClusterPolicy",
    "kyverno.io/v2beta1/Policy",
    "kyverno.io/v2/PolicyException",
    "kyverno.io/v2beta1/PolicyException",
    "kyverno.io/v2/CleanupPolicy",
    "kyverno.io/v2/ClusterCleanupPolicy",
    "kyverno.io/v2beta1/CleanupPolicy",
    "kyverno.io/v2beta1/ClusterCleanupPolicy",
    "kyverno.io/v2/GlobalContextEntry",
    "kyverno.io/v2alpha1/GlobalContextEntry",
    "kyverno.io/v2beta1/GlobalContextEntry",
)
CEL_POLICIES = ("Validating", "Mutating", "Generating", "Deleting", "ImageValidating")
CEL_KINDS = tuple(
    f"policies.kyverno.io/{version}/{name}"
    for policy in CEL_POLICIES
    for name in (f"{policy}Policy", f"Namespaced{policy}Policy")
    for version in ("v1alpha1", "v1beta1", "v1")
    if not (name.startswith("Namespaced") and version == "v1alpha1")
) + tuple(
    f"policies.kyverno.io/{version}/PolicyException" for version in ("v1alpha1", "v1beta1", "v1")
)
FILES = {"kyverno.json": KINDS, "cel.json": CEL_KINDS}
share_repeated = runpy.run_path(str(Path(__file__).with_name("repeated_schemas.py")))[
    "share_repeated"
]
COPIED = ("type", "required", "enum", "maxLength", "minLength", "pattern", "minimum", "nullable")
MINIMUM_SHARED_TEXT = 40

_LABEL_VALUE = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_DNS_SUBDOMAIN = "[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_DNS_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_NAME = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_ANNOTATION_KEY = f"([A-Za-z0-9][-A-Za-z0-9.]*/)?{_LABEL_NAME}"
_TEXT = {"type": "string"}
_OPEN = {"open": True}
_NULLABLE_TEXT = {"type": "string", "nullable": True}
_TIME = {
    **_NULLABLE_TEXT,
    "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:\d\d)$",
}
_OWNER = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("apiVersion", "kind", "name", "uid"), _TEXT),
        "blockOwnerDeletion": {"type": "boolean"},
        "controller": {"type": "boolean"},
    },
}

# The CRDs leave metadata to the API server, which checks it so.
METADATA = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "maxLength": 253, "pattern": f"^{_DNS_SUBDOMAIN}$"},
        "generateName": _TEXT,
        "namespace": {"type": "string", "maxLength": 63, "pattern": f"^({_DNS_LABEL})?$"},
        "labels": {
            "type": "object",
            "keys": f"^({_DNS_SUBDOMAIN}/)?{_LABEL_NAME}$",
            "more": {**_NULLABLE_TEXT, "maxLength": 63, "pattern": f"^{_LABEL_VALUE}$"},
        },
        "annotations": {"type": "object", "keys": f"^{_ANNOTATION_KEY}$", "more": _NULLABLE_TEXT},
        "creationTimestamp": _TIME,
        "deletionTimestamp": _TIME,
        "deletionGracePeriodSeconds": {"type": "integer"},
        "finalizers": {"type": "array", "items": _TEXT},
        "generation": {"type": "integer"},
        "managedFields": _OPEN,
        "ownerReferences": {"type": "array", "items": _OWNER},
        "resourceVersion": _TEXT,
        "selfLink": _TEXT,
        "uid": _TEXT,
    },
}


def compact(schema):
    """Return `schema` in the form that `kyvsim.load.structure` reads."""
    out = {name: schema[name] for name in COPIED if name in schema}
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        out["open"] = True
    if "properties" in schema:
        out["properties"] = {
            name: compact(child) for name, child in sorted(schema["properties"].items())
        }
        defaults = {
            name: child["default"]
            for name, child in schema["properties"].items()
            if "default" in child
        }
        if defaults:
            out["defaults"] = defaults
    if "items" in schema:
        out["items"] = compact(schema["items"])
    if isinstance(schema.get("additionalProperties"), dict):
        out["more"] = compact(schema["additionalProperties"])
    if "oneOf" in schema:
        out["oneOf"] = [name for choice in schema["oneOf"] for name in choice["required"]]
    if "not" in schema:
        out["notAll"] = schema["not"]["required"]
    return out


def make(source, file):
    """Return the text of a file of the package data for the CRD schemas in `source`."""
    kinds = {}
    for kind in FILES[file]:
        schema = compact(source[kind]["schema"])
        schema["properties"]["metadata"] = json.loads(json.dumps(METADATA))
        schema["required"] = sorted({*schema.get("required", ()), "metadata"})
        kinds[kind] = schema
    shared = []

    def refer(schema):
        shared.append(schema)
        return len(shared) - 1

    kinds = share_repeated(kinds, MINIMUM_SHARED_TEXT, refer)
    return json.dumps({"kinds": kinds, "shared": shared}, separators=(",", ":")) + "\n"


if __name__ == "__main__":
    sys.stdout.write(make(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), sys.argv[2]))
