import json
from pathlib import Path

import pytest

DATA = Path(__file__).parents[2] / "kyvsim" / "load" / "schemas"


@pytest.fixture
def make(script):
    return script("make_schemas")


@pytest.mark.parametrize("file", ["kyverno.json", "cel.json"])
def test_schemas_are_what_the_script_makes(make, crd_schemas, file):
    made = make.make(json.loads(crd_schemas), file)
    assert made == (DATA / file).read_text(encoding="utf-8")


def test_schemas_are_small():
    assert (DATA / "kyverno.json").stat().st_size < 40_000


def test_repeated_schemas_are_written_once(make):
    part = {"type": "object", "properties": {"long": {"type": "string", "enum": ["a", "b", "c"]}}}
    metadata = {"properties": {"x": part, "y": part}, "type": "object"}
    source = {kind: {"schema": metadata} for kind in make.KINDS}
    made = json.loads(make.make(source, "kyverno.json"))
    assert len(set(map(json.dumps, made["kinds"].values()))) == 1
    assert sum("long" in json.dumps(schema) for schema in made["shared"]) == 1
