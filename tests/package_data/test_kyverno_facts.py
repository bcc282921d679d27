"""The facts of Kyverno are complete in themselves, and what the script makes of its definitions."""

import json
import os
from pathlib import Path

import pytest
import yaml

from kyvsim.schema.kinds import KYVERNO

pytestmark = pytest.mark.slow

FILE = Path(__file__).parents[2] / "kyvsim" / "schema" / f"kyverno-{KYVERNO}.json"
MODULES = Path(os.environ.get("GOMODCACHE", Path.home() / "go" / "pkg" / "mod"))
CRDS = MODULES / f"github.com/kyverno/kyverno@v{KYVERNO}" / "config" / "crds"


@pytest.fixture
def make(script):
    return script("make_kyverno_facts")


@pytest.fixture
def facts():
    return json.loads(FILE.read_text(encoding="utf-8"))


def test_facts_are_what_the_script_makes(make):
    if not CRDS.exists():
        pytest.skip("Kyverno's source is not here")
    files = sorted(CRDS.rglob("*.yaml"))
    found = [yaml.load(file.read_bytes(), yaml.CSafeLoader) for file in files]
    assert make.make(KYVERNO, found) == FILE.read_text(encoding="utf-8")


def test_facts_are_written_as_the_script_writes_them(make, facts):
    assert make.show(facts) + "\n" == FILE.read_text(encoding="utf-8")


def test_each_kind_is_stored_in_one_version(facts):
    for kinds in facts["kinds"].values():
        for kind in kinds.values():
            assert sum(one.get("stored", False) for one in kind["versions"].values()) == 1


def definition(schema, kind="Thing"):
    names = {"kind": kind, "plural": f"{kind.lower()}s", "shortNames": ["t"]}
    version = {"name": "v1", "served": True, "storage": True}
    spec = {"group": "x.io", "scope": "Cluster", "names": names}
    return {"spec": {**spec, "versions": [{**version, "schema": {"openAPIV3Schema": schema}}]}}


def test_a_repeated_schema_is_written_once(make):
    part = {"type": "object", "properties": {"long": {"type": "string", "enum": ["a", "b", "c"]}}}
    schema = {"type": "object", "properties": {"part": part, "other": part}}
    made = json.loads(make.make("1", [definition(schema), definition(schema, "Second")]))
    assert made["schemas"].keys() == {"Part", "Thing"}
    assert made["schemas"]["Thing"]["properties"] == {"other": "Part", "part": "Part"}
    assert made["kinds"]["x.io"]["Second"] == {
        "plural": "seconds",
        "namespaced": False,
        "short": ["t"],
        "versions": {"v1": {"stored": True, "schema": "Thing"}},
    }


def test_texts_for_people_are_left_out_and_fields_of_that_name_stay(make):
    schema = {
        "description": "a thing",
        "type": "object",
        "properties": {"description": {"type": "string", "description": "what it is"}},
    }
    made = json.loads(make.make("1", [definition(schema)]))
    found = made["kinds"]["x.io"]["Thing"]["versions"]["v1"]["schema"]
    assert found == {"type": "object", "properties": {"description": "string"}}
