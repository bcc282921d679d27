"""YAML text to plain data, typed as Go and Kubernetes type it.

upstream: sigs.k8s.io/yaml over go-yaml v2, apimachinery's YAMLReader. libyaml, of
which go-yaml is a port, does the parsing; everything above its events is ours.
"""

from collections.abc import Iterator

import yaml
from yaml.events import StreamEndEvent

from kyvsim.kube.objects import Json
from kyvsim.kube.yaml_chunks import split_chunks
from kyvsim.kube.yaml_document import Event, Keys, parse_events, read_document
from kyvsim.kube.yaml_errors import YamlError, from_parser_error
from kyvsim.kube.yaml_positions import find_position
from kyvsim.light.named_tuple import NamedTuple

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


def _line_after(events: Iterator[Event]) -> int:
    """Return the line of what follows a document, 0 at the end of the stream."""
    try:
        event = next(events)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        return mark.line + 1 if mark else 1
    return 0 if isinstance(event, StreamEndEvent) else event.start_mark.line + 1


def load_one(source: str | bytes, *, floats: bool = False, keys: Keys = Keys.LAST_WINS) -> Json:
    """Return the first document of a text, None where it is empty; the rest is not read.

    `floats` makes every number a float, as Kyverno does with resources; `keys` says what becomes of
    a key that is there twice. Raises YamlError.
    """
    text = _as_text(source).removeprefix("\ufeff")
    try:
        return read_document(parse_events(text), text, floats=floats, keys=keys)
    except yaml.YAMLError as error:
        raise from_parser_error(error, text) from error


def load_first(text: str, *, floats: bool = False, keys: Keys = Keys.LAST_WINS) -> FirstDocument:
    """Return the first document as `load_one` does, and where text begins that is ignored."""
    events = parse_events(text)
    try:
        data = read_document(events, text, floats=floats, keys=keys)
        return FirstDocument(data, _line_after(events))
    except yaml.YAMLError as error:
        raise from_parser_error(error, text) from error


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
