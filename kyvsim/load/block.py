"""Resources of one block of a file."""

from collections.abc import Iterable, Iterator

from kyvsim.kubernetes.discovery import KindTable
from kyvsim.load.cut_files import Block, source_of
from kyvsim.load.documents import AS_RESOURCES, PlaceFinder, holds_others, parse_documents, typed
from kyvsim.load.files import Source
from kyvsim.load.recognise import helm_template
from kyvsim.load.resources import LoadedText, resources_among
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.source import Document
from kyvsim.yaml.lines import Unusual
from kyvsim.yaml.list_items import Frame, read_items
from kyvsim.yaml.text import normal_text


class Indivisible(Exception):  # noqa: N818 — no error: it says how to go on
    """What a block is part of has to be read as one, or has changed since it was cut."""


def load_block(block: Block, kinds: KindTable) -> LoadedText:
    """Return the resources of a block; `kinds` are those that definitions tell of.

    Raises Indivisible.
    """
    try:
        source = source_of(block)
        found = tuple(_documents(source, block.span.frame))
    except (OSError, ValueError, RecursionError, Unusual) as error:
        raise Indivisible from error
    return resources_among(found, kinds)


def _documents(source: Source, frame: Frame | None) -> Iterable[Document | Diagnostic]:
    if frame is None:
        return parse_documents(source, AS_RESOURCES)
    return _items(source, frame)


def _items(source: Source, frame: Frame) -> Iterator[Document]:
    """Yield the items of a list that a block has, as `parse_documents` does of the whole.

    Raises ValueError, RecursionError or Unusual where they are not plain to see by themselves.
    """
    text = normal_text(source.text)
    if helm_template(text):
        raise Unusual
    for number, item in enumerate(read_items(text, frame, floats=AS_RESOURCES.floats)):
        data = typed(item.data, frame.envelope)
        if holds_others(data):
            raise Unusual
        place = item.place._replace(line=item.place.line + source.line - 1)
        locate = PlaceFinder(source.name, place)
        yield Document(
            data, source.name, number, locate, has_no_null_maps=item.is_plain, line=locate.line
        )
