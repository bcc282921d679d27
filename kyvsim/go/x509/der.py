"""Cutting DER, the byte form of certificates, into its elements.

Only for what the `cryptography` library does not hand out as it stands in a certificate: parts as
raw bytes, texts in old encodings, and the values of extensions (see certificate_extensions.py).
"""

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final, NamedTuple


class CertificateError(Exception):
    """A certificate or request that cannot be read; the message is Go's."""


BOOLEAN: Final = 0x01
INTEGER: Final = 0x02
BITS: Final = 0x03
OCTETS: Final = 0x04
OBJECT_ID: Final = 0x06
SEQUENCE: Final = 0x30
NOTHING: Final = b"\x05\x00"
_BMP: Final = 0x1E
_ENCODINGS = MappingProxyType(
    dict.fromkeys((0x12, 0x13, 0x16), "ascii") | {0x0C: "utf-8", 0x14: "latin-1", _BMP: "utf-16-be"}
)


class Element(NamedTuple):
    """One element: its tag, what it contains, and all its bytes."""

    tag: int
    body: bytes
    raw: bytes


def elements(data: bytes) -> Iterator[Element]:
    """Yield the elements that stand one after the other; raises ValueError at malformed ones."""
    at = 0
    while at < len(data):
        length, start = int.from_bytes(data[at + 1 : at + 2]), at + 2
        if length & 0x80:
            start += length & 0x7F
            length = int.from_bytes(data[at + 2 : start])
            if length < 0x80 or not data[at + 2]:
                raise ValueError("malformed length")
        end = start + length
        if end > len(data):
            raise ValueError("element is cut off")
        yield Element(data[at], data[start:end], data[at:end])
        at = end


def first(data: bytes) -> Element:
    """Return the element that `data` starts with; raises ValueError where there is none."""
    for item in elements(data):
        return item
    raise ValueError("an element was expected")


def body(data: bytes, tag: int) -> bytes:
    """Return what the first element contains; raises ValueError where its tag is another."""
    item = first(data)
    if item.tag != tag:
        raise ValueError("another element was expected")
    return item.body


def members(data: bytes) -> list[Element]:
    """Return the elements of the sequence that `data` starts with."""
    return list(elements(body(data, SEQUENCE)))


def integer(item: bytes) -> int:
    """Return the number that the body of an integer holds."""
    spare = len(item) > 1 and item[0] in {0, 255} and (item[0] ^ item[1]) < 0x80
    if not item or spare:
        raise ValueError("malformed integer")
    return int.from_bytes(item, signed=True)


def boolean(item: bytes) -> bool:
    """Return the truth that the body of a boolean holds."""
    if item not in {b"\x00", b"\xff"}:
        raise ValueError("malformed boolean")
    return item == b"\xff"


def dotted(item: bytes) -> str:
    """Return the numbers of the object identifier that `item` starts with, such as `1.2.3`."""
    numbers = [0]
    for byte in body(item, OBJECT_ID):
        numbers[-1] = numbers[-1] << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(0)
    root = min(numbers[0] // 40, 2)
    return ".".join(map(str, (root, numbers[0] - root * 40, *numbers[1:-1])))


def text(item: Element) -> str:
    """Return a text of a name; raises ValueError for other elements and malformed texts.

    upstream: crypto/x509 parser.go (parseASN1String), which takes T.61 for Latin-1.
    """
    if item.tag not in _ENCODINGS:
        raise ValueError("no text")
    return item.body.decode(_ENCODINGS[item.tag]).removesuffix("\0" if item.tag == _BMP else "")
