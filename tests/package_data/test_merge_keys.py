"""The merge keys are those of the schema that they are made from, and of newer ones."""

import json
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "kyvsim" / "patch" / "merge_keys.json"
MODULES = Path(os.environ.get("GOMODCACHE", Path.home() / "go" / "pkg" / "mod"))
SWAGGER = (
    MODULES / "sigs.k8s.io/kustomize/kyaml@v0.21.1/openapi/kubernetesapi" / "v1_21_2" / "swagger.pb"
)
NEWER = ROOT.parent / "shared" / "schemas" / "kubernetes.json"


@pytest.fixture
def make(script):
    return script("make_merge_keys")


def test_the_table_is_what_the_script_makes(make):
    if not SWAGGER.exists():
        pytest.skip("kyaml's schema is not here")
    assert make.make(SWAGGER.read_bytes()) == TABLE.read_text("utf-8")


def test_a_newer_schema_agrees_on_lists_of_pods():
    if not NEWER.exists():
        pytest.skip("no facts of a newer schema here")
    facts = json.loads(NEWER.read_text("utf-8"))["merge"]
    types = json.loads(TABLE.read_text("utf-8"))["types"]
    ours = {}
    for entry in types:
        ours |= {name: way[0] for name, way in entry.items() if isinstance(way, list)}
    for kind in ("Container", "PodSpec", "ServiceSpec", "ServiceAccount", "NodeStatus"):
        for name, fact in facts[f"io.k8s.api.core.v1.{kind}"].items():
            if name in ours and name != "ports" and "key" in fact:
                assert ours[name] == ",".join(fact.get("keys", [fact["key"]])), (kind, name)


def varint(number):
    return bytes([number]) if number < 0x80 else bytes([number & 0x7F | 0x80]) + varint(number >> 7)


def part(number, *contents):
    data = b"".join(item if isinstance(item, bytes) else item.encode() for item in contents)
    return varint(number << 3 | 2) + varint(len(data)) + data


def mark(name, text):
    return part(31, part(1, f"x-kubernetes-{name}"), part(2, part(2, text)))


def test_the_script_reads_protocol_buffers(make):
    array = part(22, part(1, "array"))
    merged = array + mark("patch-strategy", "merge,retainKeys\n") + mark("patch-merge-key", "id\n")
    fields = {
        "one": merged,
        "two": merged + mark("list-map-keys", "- a\n- b\n"),
        "set": array + mark("patch-strategy", "merge\n"),
        "no": array + mark("patch-merge-key", "id\n"),
        "inner": part(1, "#/definitions/leaf"),
    }
    properties = [part(1, part(1, name), part(2, schema)) for name, schema in fields.items()]
    kind = mark("group-version-kind", "- group: g.io\n  kind: Thing\n  version: v1\n")
    thing = part(1, part(1, "thing"), part(2, part(25, *properties), kind))
    items = part(23, part(1, part(1, "#/definitions/thing")))
    way = part(1, part(1, "list"), part(2, merged + items))
    outer = part(1, part(1, "outer"), part(2, part(25, way)))
    leaf = part(1, part(1, "leaf"), part(2, part(25, part(1, part(1, "x"), part(2, merged)))))
    table = json.loads(make.make(part(9, thing, outer, leaf)))
    assert table["kinds"]["g.io/v1/Thing"] == 1
    assert table["types"][:3] == [
        {"x": ["id"]},
        {"inner": 0, "one": ["id"], "set": [""], "two": ["a,b"]},
        {"list": ["id", 1]},
    ]
