"""Make kyvsim/schema/merge_types.jsonl: the types of Kubernetes 1.32 as structured merges see them.

Usage: make_merge_types.py FOLDER SOURCES > kyvsim/schema/merge_types.jsonl

FOLDER is `pkg/openapiclient/builtins/1.32` of sigs.k8s.io/kubectl-validate: one OpenAPI v3 document
for each group and version, the schemas by which the reference merges. SOURCES is k8s.io/api of the
newest release: the schemas lack the values of its types that are marked `+enum`. `read_type` of
kyvsim/schema/merge_types.py says how a type is written.
"""

import json
import re
import sys
from pathlib import Path

from kyvsim.schema.merge_types import Definitions, short_type

QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
RAW = "io.k8s.apimachinery.pkg.runtime.RawExtension"
METADATA = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
FIXED = {QUANTITY: "u", RAW: "*"}
"""Types that the reference writes out in its code."""
GVK = "x-kubernetes-group-version-kind"
OPEN = re.compile("Condition|Reason|ModifyVolumeStatus")
"""Types to which components, or later releases, may add values."""
ENUM = re.compile(r"// \+enum\n(?://.*\n)*type (\w+) string\n")
CONSTANT = re.compile(r"^\s+\w+ +(?:= )?(\w+)(?: += |\()(\"[^\"]*\")", re.MULTILINE)
STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^\t\w+ +(\[\])?\*?(?:(\w+)\.)?(\w+) +`json:\"(\w+)", re.MULTILINE)


def enumerations(sources: Path) -> dict[tuple[str, str], tuple[bool, list[str]]]:
    """Return whether it is a list, and the values, of each field of a struct that has an enum."""
    texts = {
        f"{path.parent.parent.name}.{path.parent.name}": path.read_text("utf-8")
        for path in sorted(sources.glob("*/*/types.go"))
    }
    enums = {}
    for package, text in texts.items():
        values = CONSTANT.findall(text)
        for name in ENUM.findall(text):
            found = {json.loads(value) for kind, value in values if kind == name}
            is_whole = not re.search(rf"= {name}\((?!\")", text)  # a constant of another type
            if found and is_whole and not OPEN.search(name):
                enums[package, name] = sorted(found)
    fields = {}
    for package, text in texts.items():
        for struct, body in STRUCT.findall(text):
            for many, prefix, name, field in FIELD.findall(body):
                version = prefix.removeprefix("core")
                found = enums.get((f"core.{version}" if prefix else package, name))
                if found:
                    fields[f"io.k8s.api.{package}.{struct}", field] = (bool(many), found)
    return fields


class Table:
    """The types met so far, each with its number."""

    def __init__(self):
        self.numbers = {}
        self.types = []

    def number(self, name, schemas):
        """Return the number of a named schema."""
        if name not in self.numbers:
            number = self.numbers[name] = len(self.types)
            self.types.append(None)
            way = FIXED.get(name)
            named = Definitions(schemas.__getitem__, lambda inner: self.number(inner, schemas))
            self.types[number] = way or short_type(schemas[name], named)
        return self.numbers[name]


def make(folder: Path, sources: Path) -> str:
    """Return the table in lines of JSON: the numbers of kinds and of metadata, then each type."""
    table, kinds, enums = Table(), {}, enumerations(sources)
    for path in sorted(folder.glob("*/**/*.json")):
        document = json.loads(path.read_text("utf-8"))
        schemas = document["components"]["schemas"]
        for (name, field), (is_list, values) in enums.items():
            if field in schemas.get(name, {}).get("properties", ()):
                schema = schemas[name]["properties"][field]
                (schema["items"] if is_list else schema)["enum"] = values
        group = path.parent.name if path.parent.parent.name == "apis" else ""
        api_version = f"{group}/{path.stem}" if group else path.stem
        found = kinds.setdefault(api_version, {})
        for name, schema in sorted(schemas.items()):
            for gvk in schema.get(GVK, ()):
                if (gvk["group"], gvk["version"]) == (group, path.stem):
                    found[gvk["kind"]] = table.number(name, schemas)
    metadata = table.numbers[METADATA]
    lines = ({"kinds": kinds, "metadata": metadata}, *table.types)
    return "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in lines)


if __name__ == "__main__":
    sys.stdout.write(make(Path(sys.argv[1]), Path(sys.argv[2])))
