"""Make kyvsim/patch/merge_keys.json: which lists of which Kubernetes types merge by key.

Usage: make_merge_keys.py SWAGGER_PB > kyvsim/patch/merge_keys.json

SWAGGER_PB is the file `openapi/kubernetesapi/v1_21_2/swagger.pb` of sigs.k8s.io/kustomize/kyaml
v0.21.1: the schema that the reference merges by (an OpenAPI v2 document of Kubernetes v1.21.2 in
protocol buffers, message gnostic `openapi.v2.Document`). Only what a merge can meet is kept: the
fields on a way to a list with the patch strategy "merge".
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

DOCUMENT_DEFINITIONS = 9
NAMED_LIST, NAME, VALUE = 1, 1, 2
REF, TYPE, ITEMS, PROPERTIES, EXTENSIONS = 1, 22, 23, 25, 31
ANY_YAML = 2
PREFIX = "#/definitions/"
KUSTOMIZATION = "kustomize.config.k8s.io/v1beta1/Kustomization"
GENERATORS = ("configMapGenerator", "secretGenerator")
"""Kustomize's own kind, which kyaml adds to the schema: two lists that merge by name."""


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at `at` and the place after it."""
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


def fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield number and content of every length-delimited field of a message."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 2:
            size, at = varint(data, at)
            yield tag >> 3, data[at : at + size]
            at += size
        elif kind == 0:
            _, at = varint(data, at)
        else:
            at += {1: 8, 5: 4}[kind]


def field(data: bytes, number: int) -> bytes | None:
    """Return the last content of one field, or None."""
    found = None
    for known, content in fields(data):
        if known == number:
            found = content
    return found


def named(data: bytes | None) -> dict[str, bytes]:
    """Return the entries of a message that is a list of named values."""
    entries = (content for number, content in fields(data or b"") if number == NAMED_LIST)
    return dict(map(entry, entries))


def entry(data: bytes) -> tuple[str, bytes]:
    """Return name and value of one named value."""
    return (field(data, NAME) or b"").decode(), field(data, VALUE) or b""


def extensions(schema: bytes) -> dict[str, str]:
    """Return the `x-` fields of a schema, each as YAML text."""
    found = dict(entry(content) for number, content in fields(schema) if number == EXTENSIONS)
    return {name: (field(value, ANY_YAML) or b"").decode() for name, value in found.items()}


def yaml_items(text: str) -> list[str]:
    """Return the items of a YAML list of plain words."""
    return [line[2:].strip() for line in text.splitlines() if line.startswith("- ")]


def kinds_of(schema: bytes) -> list[str]:
    """Return `apiVersion/Kind` of every kind that a definition describes."""
    text, kinds, group = extensions(schema).get("x-kubernetes-group-version-kind", ""), [], {}
    for line in text.splitlines():
        if line.startswith("- "):
            group = {}
            kinds.append(group)
        name, _, value = line[2:].partition(":")
        group[name] = value.strip().strip("\"'")
    versions = ("/".join(filter(None, (k.get("group"), k["version"], k["kind"]))) for k in kinds)
    return list(versions)


class Table:
    """The kept types, numbered as they are met; types with the same fields share a number."""

    def __init__(self, definitions: dict[str, bytes]) -> None:
        self.definitions = definitions
        self.types: list[dict[str, object]] = []
        self.numbers: dict[str, int] = {}
        self.known: dict[str, int | None] = {}

    def resolve(self, schema: bytes) -> tuple[str, bytes]:
        """Follow references; the name is "" for a schema that stands in place."""
        name = ""
        while ref := field(schema, REF):
            name = ref.decode().removeprefix(PREFIX)
            schema = self.definitions[name]
        return name, schema

    def number(self, name: str, schema: bytes) -> int | None:
        """Return the number of a resolved type, or None when no list below it merges."""
        if name in self.known:
            return self.known[name]
        if name:
            self.known[name] = None  # a type within itself: cut
        kept = {
            key: way
            for key, value in named(field(schema, PROPERTIES)).items()
            if (way := self.way(value)) is not None
        }
        number = None
        if kept:
            text = json.dumps(kept, sort_keys=True)
            number = self.numbers.setdefault(text, len(self.types))
            if number == len(self.types):
                self.types.append(dict(sorted(kept.items())))
        if name:
            self.known[name] = number
        return number

    def way(self, schema: bytes) -> object:
        """Return what holds at a field: a type's number, [keys] or [keys, element's type]."""
        name, target = self.resolve(schema)
        if field(field(target, TYPE) or b"", NAMED_LIST) != b"array":
            return self.number(name, target)
        marks = extensions(target)
        if "merge" not in marks.get("x-kubernetes-patch-strategy", "").strip().split(","):
            return None
        keys = yaml_items(marks.get("x-kubernetes-list-map-keys", ""))
        if not keys and (key := marks.get("x-kubernetes-patch-merge-key", "").strip()):
            keys = [key]
        items = field(field(target, ITEMS) or b"", NAMED_LIST)
        element = None if items is None else self.number(*self.resolve(items))
        return [",".join(keys)] if element is None else [",".join(keys), element]


def make(document: bytes) -> str:
    """Return the JSON text of the table for an OpenAPI document."""
    definitions = named(field(document, DOCUMENT_DEFINITIONS))
    table = Table(definitions)
    kinds: dict[int, list[str]] = {}
    for name, schema in sorted(definitions.items()):
        number = table.number(name, schema)
        if number is not None and (names := kinds_of(schema)):
            kinds.setdefault(number, []).extend(names)
    table.types.append({name: ["name"] for name in GENERATORS})
    kinds[len(table.types) - 1] = [KUSTOMIZATION]
    kept = {" ".join(sorted(names)): number for number, names in sorted(kinds.items())}
    return json.dumps({"kinds": kept, "types": table.types}, separators=(",", ":")) + "\n"


if __name__ == "__main__":
    sys.stdout.write(make(Path(sys.argv[1]).read_bytes()))
