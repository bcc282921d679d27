"""Make the facts of a version of Kyverno, `kyvsim/schema/kyverno-VERSION.json`, from its CRDs.

    python tests/package_data/make_kyverno_facts.py VERSION FOLDER > FILE

FOLDER is `config/crds` of Kyverno's source. The facts are what all else is derived from: this is
needed for another version of Kyverno only. Texts for people are left out; a schema that occurs more
than once is written once, in `schemas`, under a name made of the fields that have it.
"""

import json
import sys
from collections import Counter
from pathlib import Path

import yaml

WIDTH = 100
MINIMUM_SHARED_TEXT = 60
TEXTS = {"items": "string", "type": "array", "x-kubernetes-list-type": "atomic"}
NAMES = {json.dumps(TEXTS, sort_keys=True): "Texts"}
"""Names of schemas that fields of any name have."""
TOO_COMMON = frozenset({"all", "data", "kind", "object", "spec", "status", "type", "variables"})
"""Fields that do not say what their value is."""
FIRST = ("type", "nullable", "default", "enum", "format", "pattern", "required", "properties")


def main():
    """Print the facts."""
    version, folder = sys.argv[1:]
    files = sorted(Path(folder).rglob("*.yaml"))
    found = [yaml.load(file.read_bytes(), yaml.CSafeLoader) for file in files]
    sys.stdout.write(make(version, found))


def make(version, definitions):
    """Return the text of the facts of a version with these CustomResourceDefinitions."""
    schemas = {
        (spec["group"], spec["names"]["kind"], one["name"]): without_texts(
            one["schema"]["openAPIV3Schema"]
        )
        for spec in (definition["spec"] for definition in definitions)
        for one in spec["versions"]
    }
    names = names_of_repeated(schemas)
    kinds = {}
    for definition in definitions:
        spec = definition["spec"]
        known = kinds.setdefault(spec["group"], {})
        known[spec["names"]["kind"]] = kind_facts(spec, schemas, names)
    known = {name: inside(json.loads(text), names) for text, name in names.items()}
    facts = {"kyverno": version, "kinds": kinds, "schemas": dict(sorted(known.items()))}
    return show(facts) + "\n"


def kind_facts(spec, schemas, names):
    """Return what is known of a kind."""
    kind = spec["names"]["kind"]
    facts = {"plural": spec["names"]["plural"], "namespaced": spec["scope"] == "Namespaced"}
    if "shortNames" in spec["names"]:
        facts["short"] = spec["names"]["shortNames"]
    facts["versions"] = {}
    for one in spec["versions"]:
        about = {"stored": True} if one["storage"] else {}
        about |= {} if one["served"] else {"served": False}
        about |= {"deprecated": True} if one.get("deprecated") else {}
        about |= {"status": True} if "status" in (one.get("subresources") or {}) else {}
        schema = schemas[spec["group"], kind, one["name"]]
        facts["versions"][one["name"]] = {**about, "schema": shared(schema, names)}
    return facts


def without_texts(schema):
    """Return a schema without its texts for people."""
    if isinstance(schema, list):
        return [without_texts(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: without_texts(value)
        for name, value in schema.items()
        if not (name in {"description", "title"} and isinstance(value, str))
    }


def children(schema, key):
    """Yield the key of every schema inside one, and the schema."""
    yield from (schema.get("properties") or {}).items()
    for word, ending in (("items", "Item"), ("additionalProperties", "Value")):
        if isinstance(schema.get(word), dict):
            yield key + ending, schema[word]


def names_of_repeated(schemas):
    """Return a name for each schema, by its text, that occurs more than once."""
    places = {}
    for (_, kind, version), schema in schemas.items():
        note_places(schema, (version, kind), places)
    names = {}
    for text, found in places.items():
        if sum(found.values()) == 1 or len(text) < MINIMUM_SHARED_TEXT:
            continue
        plain = json.dumps(inside(json.loads(text), {}), sort_keys=True)
        (above, key), _ = found.most_common(1)[0]
        both = capital(above) + capital(key)
        own = (both,) if key in TOO_COMMON else (capital(key), both)
        numbered = (f"{both}{number}" for number in range(2, 99))
        tries = (NAMES[plain],) if plain in NAMES else (*own, *numbered)
        names[text] = next(one for one in tries if one not in names.values())
    return names


def note_places(schema, place, places):
    """Count under which fields each schema occurs, not again inside one that is repeated."""
    found = places.setdefault(json.dumps(schema, sort_keys=True), Counter())
    found[place] += 1
    if sum(found.values()) == 1:
        for name, child in children(schema, place[1]):
            note_places(child, (place[1], name), places)


def shared(schema, names):
    """Return what stands for a schema: a plain type, its name, or itself."""
    if schema.keys() == {"type"}:
        return schema["type"]
    return names.get(json.dumps(schema, sort_keys=True)) or inside(schema, names)


def inside(schema, names):
    """Return a schema with those inside it replaced by what stands for them."""
    found = dict(schema)
    if "properties" in schema:
        found["properties"] = {
            name: shared(child, names) for name, child in sorted(schema["properties"].items())
        }
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            found[word] = shared(schema[word], names)
    return {name: found[name] for name in (*FIRST, *sorted(found)) if name in found}


def capital(key):
    """Return a key as the name of a schema."""
    return key[:1].upper() + key[1:]


def show(data, depth=0, taken=0):
    """Return data as JSON: what fits into a line stands in one."""
    line = json.dumps(data)
    space = "  " * depth
    if len(space) + taken + len(line) <= WIDTH or not isinstance(data, dict | list) or not data:
        return line
    inner = "  " * (depth + 1)
    if isinstance(data, list):
        parts = [inner + show(one, depth + 1) for one in data]
        return "[\n" + ",\n".join(parts) + f"\n{space}]"
    parts = [
        f"{inner}{json.dumps(name)}: {show(value, depth + 1, len(name) + 5)}"
        for name, value in data.items()
    ]
    return "{\n" + ",\n".join(parts) + f"\n{space}}}"


if __name__ == "__main__":
    main()
