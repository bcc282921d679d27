"""The types of structured merges are those of the schemas that they are made from."""

import json
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "kyvsim" / "schema" / "merge_types.jsonl"
MODULES = Path(os.environ.get("GOMODCACHE", Path.home() / "go" / "pkg" / "mod"))
SOURCES = MODULES / "k8s.io/api@v0.36.3"
KUBERNETES = MODULES / "k8s.io/kubernetes@v1.32.0"
SCHEMAS = (
    MODULES
    / "sigs.k8s.io/kubectl-validate@v0.0.5-0.20260105161640-a97ccfaca20b"
    / "pkg/openapiclient/builtins/1.32"
)


GO = """
// +enum
type Protocol string

const (
\t// A comment.
\tTCP Protocol = "TCP"
\tUDP Protocol = "UDP"
)

type Other string

const A Other = "A"

type Rule struct {
\tProtocol *Protocol `json:"protocol,omitempty"`
\tPorts []Protocol `json:"ports"`
\tType Other `json:"type"`
\tPart `json:",inline"`
\tSet Other `json:"set,omitempty"`
\tByDefault *Part `json:"byDefault,omitempty"`
\tWhole Part `json:"whole,omitempty"`
}

type Part struct {
\tNote string `json:"note,omitempty"`
}
"""
DEFAULTS = """
func SetDefaults_Rule(obj *examplev1.Rule) {
\tif obj.ByDefault == nil {
\t\tobj.ByDefault = &examplev1.Part{Note: "a"}
\t\tobj.Set = make(Other)
\t}
}
"""


@pytest.fixture
def make(script):
    return script("make_merge_types").make


def test_the_table_is_what_the_script_makes(make):
    if not all(one.exists() for one in (SCHEMAS, SOURCES, KUBERNETES)):
        pytest.skip("the schemas of Kubernetes are not here")
    assert make(SCHEMAS, SOURCES, KUBERNETES) == TABLE.read_text("utf-8")


def test_what_the_script_makes_of_a_document(make, tmp_path):
    schemas = {
        "meta.v1.ObjectMeta": {"type": "object", "properties": {"name": {"type": "string"}}},
        "Part": {
            "type": "object",
            "properties": {"id": {"type": "string", "default": ""}, "n": {"type": "integer"}},
        },
        "io.k8s.api.example.v1.Rule": {
            "type": "object",
            "properties": {
                "protocol": {"type": "string"},
                "ports": {"type": "array", "items": {"type": "string"}},
                "type": {"type": "string"},
                **{key: {"type": "string"} for key in ("byDefault", "note", "set", "whole")},
            },
        },
        "Thing": {
            "type": "object",
            "x-kubernetes-group-version-kind": [
                {"group": "example.com", "version": "v1", "kind": "Thing"}
            ],
            "properties": {
                "metadata": {
                    "allOf": [{"$ref": "#/x/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]
                },
                "parts": {
                    "type": "array",
                    "items": {"$ref": "#/components/schemas/Part"},
                    "x-kubernetes-patch-strategy": "merge",
                    "x-kubernetes-patch-merge-key": "id",
                },
                "free": {"type": "object"},
                "rule": {"$ref": "#/components/schemas/io.k8s.api.example.v1.Rule"},
                "whole": {"type": "array", "items": {"type": "boolean"}},
            },
        },
    }
    meta = schemas.pop("meta.v1.ObjectMeta")
    schemas["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"] = meta
    folder = tmp_path / "apis" / "example.com"
    folder.mkdir(parents=True)
    (folder / "v1.json").write_text(json.dumps({"components": {"schemas": schemas}}))
    sources = tmp_path / "sources"
    (sources / "example/v1").mkdir(parents=True)
    (sources / "example/v1/types.go").write_text(GO)
    (tmp_path / "pkg/apis/example/v1").mkdir(parents=True)
    (tmp_path / "pkg/apis/example/v1/defaults.go").write_text(DEFAULTS)
    assert [json.loads(line) for line in make(tmp_path, sources, tmp_path).splitlines()] == [
        {"kinds": {"example.com/v1": {"Thing": 0}}, "metadata": 1},
        {
            "p": {
                "free": {"e": "+"},
                "metadata": 1,
                "parts": {"m": 2, "k": ["id"], "d": {"id": ""}},
                "rule": 3,
                "whole": {"a": "b"},
            }
        },
        {"p": {"name": "s"}},
        {"p": {"id": "s", "n": "n"}},
        {
            "p": {
                "ports": {"a": {"v": ["TCP", "UDP"]}},
                "protocol": {"v": ["TCP", "UDP"]},
                "type": "s",
                **dict.fromkeys(("byDefault", "note", "set", "whole"), "s"),
            },
            "o": ["note", "ports", "protocol", "set"],
        },
    ]
