"""YAML text to plain data, typed as Go and Kubernetes type it.

upstream: sigs.k8s.io/yaml over go-yaml v2, apimachinery's YAMLReader. libyaml, of
which go-yaml is a port, does the parsing; everything above its events is ours.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kyvsim.kube.objects import Json
from kyvsim.kube.yaml_chunks import split_chunks
from kyvsim.kube.yaml_document import read_first, read_one
from kyvsim.kube.yaml_errors import YamlError
from kyvsim.kube.yaml_keys import Keys
from kyvsim.kube.yaml_line_positions import plain_position
from kyvsim.kube.yaml_lines import read_block
from kyvsim.kube.yaml_positions import position_by_events

__all__ = (
    "FirstDocument",
    "Keys",
    "YamlError",
    "find_position",
    "load_all",
    "load_first",
    "load_one",
)


class FirstDocument(NamedTuple):
    """What one chunk of YAML holds."""

    data: Json
    ignored_line: int
    """Line at which text begins that Kubernetes does not read any more; 0 where there is none."""


def _as_text(source: str | bytes) -> str:
    if isinstance(source, str):
        return source
    try:
        return source.decode()
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        raise YamlError("invalid UTF-8", line, 1) from error


def load_one(source: str | bytes, *, floats: bool = False, keys: Keys = Keys.LAST_WINS) -> Json:
    """Return the first document of a text, None where it is empty; the rest is not read.

    `floats` makes every number a float, as Kyverno does with resources; `keys` says what becomes of
    a key that is there twice. Raises YamlError.
    """
    text = _as_text(source).removeprefix("\ufeff")
    # Whether a block's last line ends makes a difference.
    whole = text.endswith("\n")
    if whole or not ("|" in text or ">" in text):
        found = read_block(text if whole else f"{text}\n", floats=floats)
        if found is not None:
            return found
    return read_one(text, floats=floats, keys=keys)


def load_first(text: str, *, floats: bool = False, keys: Keys = Keys.LAST_WINS) -> FirstDocument:
    """Return the first document as `load_one` does, and where text begins that is ignored."""
    return FirstDocument(*read_first(text, floats=floats, keys=keys))


def load_all(
    source: str | bytes, *, floats: bool = False, keys: Keys = Keys.LAST_WINS
) -> Iterator[Json]:
    """Yield the documents of a stream, empty ones left out; options and errors as for `load_one`.

    A line such as `--- junk`, at which Kubernetes silently stops reading, raises YamlError.
    """
    for chunk in split_chunks(_as_text(source)):
        if chunk.bad_separator:
            message = f"invalid document separator `{chunk.bad_separator}`"
            raise YamlError(message, chunk.line, 1)
        if chunk.hidden:
            raise YamlError("a comment hides a document: its line ends in CR or NEL", chunk.line, 1)
        try:
            yield load_one(chunk.text, floats=floats, keys=keys)
        except YamlError as error:
            line = error.line + chunk.line - 1 if error.line else 0
            raise YamlError(error.message, line, error.column) from error


# What most documents begin with: comments, then a word or JSON. There is no need to parse for its
# place.
_PLAIN_START = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*( *)[A-Za-z{]")


def find_position(text: str, path: Sequence[str | int]) -> tuple[int, int]:
    """Return line and column, counted from 1, of the node at `path` in the first document.

    For the entry of a map that is where its key stands. A node that does not exist stands where its
    nearest existing ancestor does; of duplicate keys the last one counts.
    """
    text = text.removeprefix("\ufeff")
    if not path and text[:1].isalpha() and text[0].isascii():
        return 1, 1
    if not path and (first := _PLAIN_START.match(text)):
        return text.count("\n", 0, first.start(1)) + 1, len(first[1]) + 1
    place = plain_position(text, tuple(path))
    if place is not None:
        return place
    return position_by_events(text, path)
