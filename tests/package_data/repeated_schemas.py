"""What both scripts that make schemas share: schemas that occur more than once, written once."""

import json
from collections import Counter


def children(schema):
    """Yield the container and key of every schema inside `schema`."""
    for name in schema.get("properties", {}):
        yield schema["properties"], name
    for name in ("items", "more", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            yield schema, name


def share_repeated(schemas, minimum, refer):
    """Return the schemas by name, with each repeated one replaced by what `refer` gives for it.

    A schema whose text is shorter than `minimum` stays where it is. Changes the schemas.
    """
    counts = Counter()
    for schema in schemas.values():
        _count(schema, counts)
    table = {}

    def share(schema):
        text = _canonical(schema)
        if text not in table:
            for container, key in children(schema):
                container[key] = share(container[key])
            if counts[text] == 1 or len(text) < minimum:
                return schema
            table[text] = refer(schema)
        return table[text]

    return {name: share(schema) for name, schema in schemas.items()}


def _canonical(schema):
    return json.dumps(schema, sort_keys=True, separators=(",", ":"))


def _count(schema, counts):
    """Count how often each schema occurs, not counting again inside a repeated one."""
    text = _canonical(schema)
    counts[text] += 1
    if counts[text] == 1:
        for container, key in children(schema):
            _count(container[key], counts)
