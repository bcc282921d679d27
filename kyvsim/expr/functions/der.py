"""Reading DER, the byte form of certificates.

upstream: golang.org/x/crypto/cryptobyte as crypto/x509 uses it.
"""

import re
from datetime import UTC, datetime
from typing import Final

INTEGER: Final = 0x02
BIT_STRING: Final = 0x03
OCTETS: Final = 0x04
OBJECT_ID: Final = 0x06
SEQUENCE: Final = 0x30
SET: Final = 0x31
BOOLEAN: Final = 0x01
UTC_TIME: Final = 0x17
GENERAL_TIME: Final = 0x18

_TIME = re.compile(rb"([0-9]{2}|[0-9]{4})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})Z")


class DerError(ValueError):
    """Bytes that are no DER, or not what was looked for."""


class Der:
    """A run of DER elements, read one after the other."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def __bool__(self) -> bool:
        return self.at < len(self.data)

    def tag(self) -> int:
        """Return the tag of the next element, -1 at the end."""
        return self.data[self.at] if self else -1

    def element(self) -> tuple[int, bytes, bytes]:
        """Return tag, contents and all bytes of the next element."""
        start, head = self.at, self.data[self.at : self.at + 2]
        if len(head) < 2 or head[0] & 0x1F == 0x1F:
            raise DerError("malformed element")
        length, at = head[1], start + 2
        if length & 0x80:
            size = length & 0x7F
            digits = self.data[at : at + size]
            at += size
            length = int.from_bytes(digits, "big")
            if not 1 <= size <= 4 or len(digits) < size or length < 128 or not digits[0]:
                raise DerError("malformed length")
        if at + length > len(self.data):
            raise DerError("element is cut off")
        self.at = at + length
        return head[0], self.data[at : self.at], self.data[start : self.at]

    def read(self, tag: int) -> bytes:
        """Return the contents of the next element, which must have that tag."""
        if self.tag() != tag:
            raise DerError("another element was expected")
        return self.element()[1]

    def raw(self, tag: int) -> bytes:
        """Return all bytes of the next element, which must have that tag."""
        if self.tag() != tag:
            raise DerError("another element was expected")
        return self.element()[2]

    def inside(self, tag: int = SEQUENCE) -> "Der":
        """Return a reader of what the next element contains."""
        return Der(self.read(tag))

    def optional(self, tag: int) -> bytes | None:
        """Return the contents of the next element if it has that tag."""
        return self.read(tag) if self.tag() == tag else None

    def integer(self, tag: int = INTEGER) -> int:
        """Return a whole number."""
        data = self.read(tag)
        if not data or (len(data) > 1 and data[0] in (0, 255) and (data[0] ^ data[1]) < 128):
            raise DerError("malformed integer")
        return int.from_bytes(data, "big", signed=True)

    def boolean(self) -> bool:
        """Return a boolean."""
        data = self.read(BOOLEAN)
        if data not in (b"\x00", b"\xff"):
            raise DerError("malformed boolean")
        return data == b"\xff"

    def object_id(self) -> tuple[int, ...]:
        """Return the numbers of an object identifier."""
        return object_id(self.read(OBJECT_ID))

    def bits(self) -> tuple[bytes, int]:
        """Return the bytes of a bit string, and how many bits at its end do not count."""
        data = self.read(BIT_STRING)
        if not data or data[0] > 7 or (len(data) == 1 and data[0]):
            raise DerError("malformed bit string")
        if len(data) > 1 and data[-1] & ((1 << data[0]) - 1):
            raise DerError("malformed bit string")
        return data[1:], data[0]

    def time(self) -> str:
        """Return a point in time as RFC 3339."""
        tag, data, _ = self.element()
        found = _TIME.fullmatch(data)
        if found is None or tag != (UTC_TIME if len(found[1]) == 2 else GENERAL_TIME):
            raise DerError("malformed time")
        year, month, day, hour, minute, second = map(int, found.groups())
        if tag == UTC_TIME:
            year += 1900 if year >= 50 else 2000
        try:
            moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
        except ValueError:
            raise DerError("malformed time") from None
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ").zfill(20)


def object_id(data: bytes) -> tuple[int, ...]:
    """Return the numbers that the contents of an object identifier hold."""
    numbers: list[int] = []
    number, fresh = 0, True
    for byte in data:
        if fresh and byte == 0x80:
            raise DerError("malformed object identifier")
        number, fresh = number << 7 | byte & 0x7F, byte < 0x80
        if fresh:
            numbers.append(number)
            number = 0
    if not numbers or not fresh:
        raise DerError("malformed object identifier")
    first = min(numbers[0] // 40, 2)
    return (first, numbers[0] - first * 40, *numbers[1:])
