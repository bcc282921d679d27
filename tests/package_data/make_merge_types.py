"""Make kyvsim/schema/merge_types.jsonl: the types of Kubernetes 1.32 as structured merges see them.

Usage: make_merge_types.py FOLDER > kyvsim/schema/merge_types.jsonl

FOLDER is `pkg/openapiclient/builtins/1.32` of sigs.k8s.io/kubectl-validate: one OpenAPI v3 document
for each group and version, the schemas by which the reference merges. `read_type` of
kyvsim/schema/merge_types.py says how a type is written.
"""

import json
import sys
from pathlib import Path

from kyvsim.schema.merge_types import Definitions, short_type

QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
RAW = "io.k8s.apimachinery.pkg.runtime.RawExtension"
METADATA = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
FIXED = {QUANTITY: "u", RAW: "*"}
"""Types that the reference writes out in its code."""
GVK = "x-kubernetes-group-version-kind"


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


def make(folder: Path) -> str:
    """Return the table in lines of JSON: the numbers of kinds and of metadata, then each type."""
    table, kinds = Table(), {}
    for path in sorted(folder.glob("*/**/*.json")):
        document = json.loads(path.read_text("utf-8"))
        schemas = document["components"]["schemas"]
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
    sys.stdout.write(make(Path(sys.argv[1])))
