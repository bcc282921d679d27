import json
from pathlib import Path

DATA = Path(__file__).parents[2] / "kyvsim" / "sim" / "server" / "definitions.json"


def test_definitions_are_what_the_script_makes(script, crd_schemas):
    made = script("make_definitions").make(json.loads(crd_schemas))
    assert made == DATA.read_text(encoding="utf-8")


def test_every_reference_points_to_a_shared_schema():
    table = json.loads(DATA.read_text(encoding="utf-8"))
    found = []

    def walk(schema):
        if isinstance(schema, int):
            found.append(schema)
            return
        inner = [*schema.get("properties", {}).values()]
        inner += [schema[name] for name in ("items", "additionalProperties") if name in schema]
        for child in inner:
            if not isinstance(child, bool):
                walk(child)

    for schema in (*table["kinds"].values(), *table["shared"]):
        walk(schema)
    assert set(found) == set(range(len(table["shared"])))
