"""Make kyvsim/schema/cel_types.jsonl: the types of Kubernetes 1.35 as its type checker has them.

Usage: make_cel_types.py FOLDER > kyvsim/schema/cel_types.jsonl

FOLDER is `pkg/openapiclient/builtins/1.35` of sigs.k8s.io/kubectl-validate: one OpenAPI v3 document
for each group and version. `short_type` of kyvsim/schema/cel_types.py says how a type is written.
"""

import json
import sys
from pathlib import Path

from kyvsim.schema.cel_types import short_type

METADATA = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
GVK = "x-kubernetes-group-version-kind"


class Table:
    """The objects met so far, each with its number."""

    def __init__(self):
        self.numbers = {}
        self.types = []

    def type(self, name, schemas):
        """Return the type of a named schema: the number of an object, or what it is."""
        if name in self.numbers:
            return self.numbers[name]
        if schemas[name].get("type") != "object":
            return short_type(schemas[name], lambda inner: self.type(inner, schemas))
        number = self.numbers[name] = len(self.types)
        self.types.append(None)
        self.types[number] = short_type(schemas[name], lambda inner: self.type(inner, schemas))
        return number


def make(folder: Path) -> str:
    """Return the table in lines of JSON: the numbers of kinds and of metadata, then each type."""
    table, kinds = Table(), {}
    for path in sorted(folder.glob("*/**/*.json")):
        schemas = json.loads(path.read_text("utf-8"))["components"]["schemas"]
        group = path.parent.name if path.parent.parent.name == "apis" else ""
        api_version = f"{group}/{path.stem}" if group else path.stem
        for name, schema in sorted(schemas.items()):
            # Lists, options and events are in no rule of a policy.
            if "metadata" not in schema.get("properties", {}) or "items" in schema["properties"]:
                continue
            for gvk in schema.get(GVK, ()):
                if (gvk["group"], gvk["version"]) == (group, path.stem):
                    kinds.setdefault(api_version, {})[gvk["kind"]] = table.type(name, schemas)
    lines = ({"kinds": kinds, "metadata": table.numbers[METADATA]}, *table.types)
    return "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in lines)


if __name__ == "__main__":
    sys.stdout.write(make(Path(sys.argv[1])))
