"""The JSON texts of a document before and after a JSON patch, which upstream compares.

upstream: `pkg/engine/mutate/mutation.go` (`Mutate`): the document's text has sorted keys, the patch
library keeps the order of keys and the texts of values that it was given
(github.com/evanphx/json-patch/v5, `partialDoc`).
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

from kyvsim.kube.go_text import to_json
from kyvsim.kube.objects import Json
from kyvsim.patch.json_operations import Operation, prepare_operations, read_patch_text


class _Written(NamedTuple):
    """A number or text of a patch in JSON, as it is written there."""

    text: str


def may_rewrite(text: str, operations: Sequence[Operation]) -> bool:
    """Return whether a patch can leave an equal document with another text."""
    return text[:1] == "[" or any(one.name in {"remove", "move"} for one in operations)


def written_operations(text: str) -> tuple[Operation, ...]:
    """Return the operations of a patch, but for tests, with values that know how they are written.

    A patch in YAML becomes JSON with sorted keys first.
    """
    # Nobody escapes the `<`, `>` and `&` of a text in JSON.
    if text[:1] == "[":
        found = json.loads(text, parse_int=_Written, parse_float=_Written)
        value = _as_written
    else:
        found, value = read_patch_text(text), in_key_order
    operations = (one for one in prepare_operations(found) if one.name != "test")
    return tuple(one._replace(value=value(one.value)) for one in operations)


def in_key_order(value: Json) -> Json:
    """Return a copy of a value in which the keys of all maps are sorted."""
    if value.__class__ is dict:
        return {key: in_key_order(value[key]) for key in sorted(value)}
    return [in_key_order(one) for one in value] if value.__class__ is list else value


def _as_written(value: Json) -> Json:
    if value.__class__ is dict:
        return {key: _as_written(one) for key, one in value.items()}
    if value.__class__ is list:
        return [_as_written(one) for one in value]
    return _Written(json.dumps(value, ensure_ascii=False)) if value.__class__ is str else value


def written_text(value: Json) -> str:
    """Return the JSON text of a value with its keys in their order."""
    kind = value.__class__
    if kind is dict:
        pairs = (f"{to_json(key)}:{written_text(one)}" for key, one in value.items())
        return f"{{{','.join(pairs)}}}"
    if kind is list:
        return f"[{','.join(map(written_text, value))}]"
    return str(value.text) if kind is _Written else to_json(value)
