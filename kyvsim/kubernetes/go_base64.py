"""Base64 texts as Go reads them; line ends between characters do not count.

upstream: Go's encoding/base64 package (StdEncoding, RawStdEncoding).
"""

import base64
import re

_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_PADDED = r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"
_UNPADDED = r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2,3})?"


class Base64Error(ValueError):
    """The text is no base64; the message is Go's."""


def decode_padded(text: str) -> bytes:
    """Return the bytes that a text with padding holds; raises Base64Error."""
    joined = _without_line_ends(text)
    if re.fullmatch(_PADDED, joined) is None:
        raise _error(_bad_byte(text, padded=True))
    return base64.b64decode(joined)


def decode_unpadded(text: str) -> bytes:
    """Return the bytes that a text without padding holds; raises Base64Error."""
    joined = _without_line_ends(text)
    if re.fullmatch(_UNPADDED, joined) is None:
        raise _error(_bad_byte(text, padded=False))
    return base64.b64decode(f"{joined}{'=' * (-len(joined) % 4)}")


def _without_line_ends(text: str) -> str:
    return text.replace("\r", "").replace("\n", "")


def _error(place: int) -> Base64Error:
    return Base64Error(f"illegal base64 data at input byte {place}")


def _bad_byte(text: str, *, padded: bool) -> int:
    """Return where Go's decoder gives up on a text that is no base64."""
    data = text.encode("utf-8", "replace").decode("latin-1")
    kept = [(at, char) for at, char in enumerate(data) if char not in "\r\n"]
    for place, (at, char) in enumerate(kept):
        if char in _ALPHABET:
            continue
        column, rest = place % 4, kept[place + 1 :]
        if not padded or char != "=" or column < 2:
            return at
        if column == 2:
            if not rest or rest[0][1] != "=":
                return rest[0][0] if rest else len(data)
            rest = rest[1:]
        return rest[0][0] if rest else at
    return len(data) - len(kept) % 4
