"""The schemas that CustomResourceDefinitions give their kinds."""

from collections.abc import Iterable

from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, text_field
from kyvsim.schema.node import Definitions, Node


def defined_schema(api_version: str, kind: str, definitions: Iterable[Json]) -> Node | None:
    """Return the schema of a kind in a version, None where no definition has one.

    A definition that keeps all unknown fields has none.
    """
    group, version = split_api_version(api_version)
    for definition in definitions:
        spec = definition.get("spec") or {}
        if (text_field(spec, "group"), text_field(spec.get("names"), "kind")) != (group, kind):
            continue
        if spec.get("preserveUnknownFields") is True:
            return None
        for served in spec.get("versions") or ():
            root = (served.get("schema") or {}).get("openAPIV3Schema")
            if served.get("name") == version and root is not None:
                return Definitions().node(root)
    return None
