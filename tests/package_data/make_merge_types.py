"""Make kyvsim/schema/merge_types.jsonl: the types of Kubernetes 1.32 as structured merges see them.

Usage: make_merge_types.py FOLDER SOURCES KUBERNETES > kyvsim/schema/merge_types.jsonl

FOLDER is `pkg/openapiclient/builtins/1.32` of sigs.k8s.io/kubectl-validate: one OpenAPI v3 document
for each group and version, the schemas by which the reference merges. SOURCES is k8s.io/api of the
newest release: the schemas lack the values of its types that are marked `+enum`, and do not say
which fields objects may lack: those that are omitted if empty and have no default. KUBERNETES is
k8s.io/kubernetes, with the code of defaults. `read_type` of kyvsim/schema/merge_types.py says how a
type is written.
"""

import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

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
MEMBER = re.compile(r"^\t(?:(\w+) +)?(\S+) +`[^`]*json:\"([^\"]*)\"", re.MULTILINE)
EMPTY_MAP = re.compile(r"make\(|[^&].*\{\}$")
"""Maps that are omitted in spite of a default."""
DEFAULTER = re.compile(r"func SetDefaults_\w+\(obj \*\w+\.(\w+)")
SET = re.compile(r"^\s+(\w+(?:\.\w+)+) = (.*)")
NEVER_OMITTED = {"metav1.ObjectMeta", "metav1.ListMeta", "intstr.IntOrString", "metav1.Time"}
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


class Member(NamedTuple):
    """A field of a struct."""

    type: str
    """The name of its type, without the signs of pointers, lists and packages."""
    json: str
    """Its name in JSON; "" for an embedded struct."""
    may_be_omitted: bool


Structs = dict[tuple[str, str], dict[str, Member]]


def structs_of(sources: Path) -> Structs:
    """Return the fields of each struct, by package and name."""
    bodies = {
        (f"{path.parent.parent.name}.{path.parent.name}", name): body
        for path in sorted(sources.glob("*/*/types.go"))
        for name, body in STRUCT.findall(path.read_text("utf-8"))
    }
    structs: Structs = {one: {} for one in bodies}
    for (package, struct), body in bodies.items():
        for name, kind, tag in MEMBER.findall(body):
            json_name, *options = tag.split(",")
            inner = re.sub(r"^[*\[\]]*(?:\w+\.)?", "", kind)
            is_struct = (package, kind) in bodies or kind in NEVER_OMITTED
            can_be_null = kind.startswith("[]") and json_name
            omitted = can_be_null or (not is_struct and {"omitempty", "omitzero"} & {*options})
            structs[package, struct][name or inner] = Member(inner, json_name, bool(omitted))
    return structs


def defaulted_fields(structs: Structs, kubernetes: Path) -> set[tuple[str, str, str] | str]:
    """Return the fields that have defaults, and the names of those of unknown structs."""
    found: set[tuple[str, str, str] | str] = set()
    for path in sorted(kubernetes.glob("pkg/apis/*/*/*defaults.go")):
        package = f"{path.parent.parent.name}.{path.parent.name}"
        struct = ""
        for line in path.read_text("utf-8").splitlines():
            if header := DEFAULTER.match(line):
                struct = header[1]
            assignment = SET.match(line)
            if not assignment or EMPTY_MAP.match(assignment[2]):
                continue
            variable, *inner, name = assignment[1].split(".")
            if name == "Requests":  # only those with limits get them
                continue
            owner = struct if variable == "obj" else ""
            for one in inner:
                member = structs.get((package, owner), {}).get(one)
                owner = member.type if member else ""
            is_known = name in structs.get((package, owner), ())
            found.add((package, owner, name) if is_known else name)
    return found


def optional_fields(sources: Path, kubernetes: Path) -> dict[str, set[str]]:
    """Return the names of the fields that objects of each struct may lack.

    A struct that is no pointer is never omitted.
    """
    structs = structs_of(sources)
    defaulted = defaulted_fields(structs, kubernetes)

    def fields_of(package, struct):
        for name, member in structs.get((package, struct), {}).items():
            if not member.json:
                yield from fields_of(package, member.type)
            elif member.may_be_omitted and not {name, (package, struct, name)} & defaulted:
                yield member.json

    return {
        f"io.k8s.api.{package}.{struct}": {*fields_of(package, struct)}
        for package, struct in structs
    }


class Table:
    """The types met so far, each with its number."""

    def __init__(self, optional):
        self.numbers = {}
        self.types = []
        self.optional = optional

    def number(self, name, schemas):
        """Return the number of a named schema."""
        if name not in self.numbers:
            number = self.numbers[name] = len(self.types)
            self.types.append(None)
            way = FIXED.get(name)
            named = Definitions(schemas.__getitem__, lambda inner: self.number(inner, schemas))
            self.types[number] = way or short_type(schemas[name], named)
            fields = schemas[name].get("properties", {})
            required = schemas[name].get("required", ())
            optional = [
                one
                for one in sorted(fields)
                if one in self.optional.get(name, ())
                and one not in required
                and "default" not in fields[one]
            ]
            if optional:
                self.types[number]["o"] = optional
        return self.numbers[name]


def make(folder: Path, sources: Path, kubernetes: Path) -> str:
    """Return the table in lines of JSON: the numbers of kinds and of metadata, then each type."""
    table, kinds, enums = Table(optional_fields(sources, kubernetes)), {}, enumerations(sources)
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
    sys.stdout.write(make(*map(Path, sys.argv[1:])))
