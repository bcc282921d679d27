"""JSONPath templates as kubectl has them.

Source of the rules: k8s.io/client-go util/jsonpath.
"""

import json
import re
from collections.abc import Callable, Iterator

from kyvsim.kubernetes.objects import Json

_STEP = re.compile(
    r"""\.\.|\.?(?P<name>(?:\\.|[^\s.\[\]{}'"])+)|\.?\[(?P<inner>(?:[^\[\]'"]|'[^']*'|"[^"]*")*)\]|\.""",
    re.VERBOSE,
)
_FILTER = re.compile(r"""\?\(\s*@(?P<path>[^=!<>]+?)\s*(?P<op>==|!=)\s*(?P<value>.+?)\s*\)""")
_SLICE = re.compile(r"(-?\d*):(-?\d*)")


_MOST_CHARACTERS = 4_000


class JsonPathError(Exception):
    """A template that cannot be followed."""


def print_jsonpath(
    template: str, data: Json, count: Callable[[int], None] = lambda _length: None
) -> str:
    """Return what a template prints of an object; raise JsonPathError where it is no template.

    A field that is missing prints nothing, as with kubectl. `count` gets the length of each piece
    as it is made, and raises where the whole becomes too long.
    """
    if len(template) > _MOST_CHARACTERS:
        raise JsonPathError(f"a template of more than {_MOST_CHARACTERS:,} characters")
    found: list[str] = []
    for text in _printed(_pieces(template), data):
        count(len(text) + 1)
        found.append(text)
    return "".join(found)


def _pieces(template: str) -> list[str]:
    """Return the texts and, with their braces, the expressions of a template in turn."""
    return [one for one in re.split(r"(\{(?:[^{}'\"]|'[^']*'|\"[^\"]*\")*\})", template) if one]


def _printed(pieces: list[str], data: Json) -> Iterator[str]:
    place = 0
    while place < len(pieces):
        piece = pieces[place]
        place += 1
        if not piece.startswith("{"):
            yield piece
            continue
        inner = piece[1:-1].strip()
        if inner.startswith("range "):
            end = _end_of_range(pieces, place)
            for member in find(inner.removeprefix("range ").strip(), data):
                yield from _printed(pieces[place:end], member)
            place = end + 1
        elif inner[:1] in {'"', "'"}:
            yield _text(inner)
        elif inner != "end":
            yield " ".join(map(_shown, find(inner, data)))


def _end_of_range(pieces: list[str], start: int) -> int:
    depth = 1
    for place in range(start, len(pieces)):
        word = pieces[place][1:-1].strip()
        depth += word.startswith("range ") - (word == "end")
        if not depth:
            return place
    raise JsonPathError("unmatched {range}")


def find(path: str, data: Json) -> list[Json]:
    """Return what a path leads to."""
    found = [data]
    at = 0
    path = path.removeprefix("$")
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None or step.end() == at or step[0] == "..":
            raise JsonPathError(f"error parsing jsonpath {path}")
        at = step.end()
        if step["name"] is not None:
            name = _unescaped(step["name"])
            found = [one for value in found for one in _member(value, name)]
        elif step["inner"] is not None:
            found = [one for value in found for one in _inner(value, step["inner"].strip())]
    return found


def _unescaped(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name)


def _member(value: Json, name: str) -> Iterator[Json]:
    if name == "*":
        yield from _every(value)
    elif value.__class__ is dict and name in value:
        yield value[name]


def _every(value: Json) -> Iterator[Json]:
    if value.__class__ is list:
        yield from value
    elif value.__class__ is dict:
        yield from value.values()


def _inner(value: Json, inner: str) -> Iterator[Json]:
    if inner == "*":
        yield from _every(value)
    elif inner[:1] in {"'", '"'}:
        yield from _member(value, _unescaped(inner[1:-1]))
    elif inner.startswith("?"):
        yield from _filtered(value, inner)
    elif value.__class__ is list:
        yield from _items(value, inner)


def _items(value: list[Json], inner: str) -> Iterator[Json]:
    cut = _SLICE.fullmatch(inner)
    if cut:
        first, last = (int(one) if one else None for one in cut.groups())
        yield from value[first:last]
    elif re.fullmatch(r"-?\d+", inner):
        place = int(inner)
        if not -len(value) <= place < len(value):
            text = f"array index out of bounds: index {place}, length {len(value)}"
            raise JsonPathError(f"error executing jsonpath: {text}")
        yield value[place]
    else:
        raise JsonPathError(f"error parsing jsonpath [{inner}]")


def _filtered(value: Json, inner: str) -> Iterator[Json]:
    found = _FILTER.fullmatch(inner)
    if found is None:
        raise JsonPathError(f"error parsing jsonpath [{inner}]")
    text = found["value"]
    try:
        wanted = _text(text) if text[:1] in {"'", '"'} else json.loads(text)
    except ValueError:
        raise JsonPathError(f"error parsing jsonpath [{inner}]") from None
    for member in _every(value):
        met = find(found["path"], member)
        same = bool(met) and met[0] == wanted
        if same == (found["op"] == "=="):
            yield member


def _text(quoted: str) -> str:
    return quoted[1:-1].replace("\\n", "\n").replace("\\t", "\t")


def _shown(value: Json) -> str:
    if value.__class__ is str:
        return str(value)
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
