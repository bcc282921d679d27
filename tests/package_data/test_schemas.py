import importlib.util
import json
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SOURCE = ROOT.parent / "shared" / "schemas" / "kyverno.json"
DATA = ROOT / "kyvsim" / "load" / "schemas" / "kyverno.json"


def script():
    spec = importlib.util.spec_from_file_location("make_schemas", HERE / "make_schemas.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(not SOURCE.exists(), reason="the CRD schemas are not beside the checkout")
def test_schemas_are_what_the_script_makes():
    source = json.loads(SOURCE.read_text(encoding="utf-8"))
    assert script().make(source) == DATA.read_text(encoding="utf-8")


def test_schemas_are_small():
    assert DATA.stat().st_size < 40_000


def test_repeated_schemas_are_written_once():
    part = {"type": "object", "properties": {"long": {"type": "string", "enum": ["a", "b", "c"]}}}
    metadata = {"properties": {"x": part, "y": part}, "type": "object"}
    source = {kind: {"schema": metadata} for kind in script().KINDS}
    made = json.loads(script().make(source))
    assert len(set(map(json.dumps, made["kinds"].values()))) == 1
    assert sum("long" in json.dumps(schema) for schema in made["shared"]) == 1
