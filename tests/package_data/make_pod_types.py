"""Make kyvsim/languages/classic/pod_security/pod_types.json: the Go types that Pods are read as.

Usage: make_pod_types.py API APIMACHINERY > kyvsim/languages/classic/pod_security/pod_types.json

API and APIMACHINERY are the source folders of k8s.io/api and k8s.io/apimachinery v0.36.3. Only
types that are reached from the three roots are kept. A type is a map of its JSON fields, or the
type that it is a name for. Field: `TYPE`, or `GO-NAME TYPE` where it stands in an embedded struct.
"""

import json
import re
import sys
from pathlib import Path

ROOTS = ("v1.Pod", "v1.Deployment", "v1.CronJob")
OWN_READERS = ("resource.Quantity", "intstr.IntOrString", "v1.Time", "v1.MicroTime", "v1.FieldsV1")
"""Types that read their JSON themselves."""
SOURCES = (
    ("api", "core/v1/types.go", "v1"),
    ("api", "apps/v1/types.go", "v1"),
    ("api", "batch/v1/types.go", "v1"),
    ("apimachinery", "pkg/apis/meta/v1/types.go", "v1"),
    ("apimachinery", "pkg/types/uid.go", "types"),
    ("apimachinery", "pkg/types/nodename.go", "types"),
)
STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"^(?:type|\t)\s*(\w+) ((?:map\[|\[\])?[\w.\]]+)$", re.MULTILINE)
FIELD = re.compile(r'^\t(?:(\w+)\s+)?([\w.*\[\]]+)\s+`[^`]*?json:"([^"]*)"', re.MULTILINE)
PLAIN = re.compile(r"(?<![\w.])([A-Z]\w*)")
PACKAGES = re.compile(r"\b(?:metav1|corev1)\.")


def qualified(written: str, package: str) -> str:
    """Return a type's text with its package, as Go prints it."""
    return PACKAGES.sub("v1.", PLAIN.sub(rf"{package}.\1", written))


def read(folders: dict[str, Path]) -> dict[str, object]:
    """Return every type of the sources: `{"v1.Pod": [[Go name, type, JSON tag], …]}`."""
    types: dict[str, object] = {}
    for folder, path, package in SOURCES:
        text = (folders[folder] / path).read_text("utf-8")
        for name, target in NAMED.findall(text):
            types.setdefault(f"{package}.{name}", qualified(target, package))
        for name, body in STRUCT.findall(text):
            fields = [(go, qualified(kind, package), tag) for go, kind, tag in FIELD.findall(body)]
            doubled = types.get(f"{package}.{name}", fields) != fields
            types[f"{package}.{name}"] = None if doubled else fields
    return types


def json_fields(name: str, types: dict[str, object]) -> dict[str, str]:
    """Return the JSON fields of a struct, those of embedded structs among them."""
    found: dict[str, str] = {}
    for go, kind, tag in types[name]:
        key = tag.partition(",")[0]
        if key and key != "-":
            found[key] = kind
        elif not go:
            inner = json_fields(kind, types)
            found.update({field: f"{kind.partition('.')[2]} {one}" for field, one in inner.items()})
    return dict(sorted(found.items()))


def make(types: dict[str, object]) -> str:
    """Return the JSON text of the types that are reached from the roots."""
    kept: dict[str, object] = {}
    waiting = list(ROOTS)
    while waiting:
        name = waiting.pop()
        if name in kept or name in OWN_READERS:
            continue
        known = types[name]
        if known is None:
            raise SystemExit(f"two types are called {name}")
        kept[name] = known if isinstance(known, str) else json_fields(name, types)
        texts = [known] if isinstance(known, str) else kept[name].values()
        waiting += [one for text in texts for one in re.findall(r"\w+\.\w+", text)]
    return json.dumps(dict(sorted(kept.items())), separators=(",", ":")) + "\n"


if __name__ == "__main__":
    sys.stdout.write(
        make(read(dict(zip(("api", "apimachinery"), map(Path, sys.argv[1:]), strict=True))))
    )
