"""Texts packed and unpacked.

Source of the rules: upstream kyverno/sdk extensions/cel/libs/gzip; the time inside is 1970.
"""

import gzip
import io
import zlib
from typing import Any

from kyvsim.cel.environment import Library, function, way
from kyvsim.cel.errors import CelError
from kyvsim.cel.kyverno.native import native_text

_MOST_BYTES = 16 << 20
"""What a text may become; upstream goes on until memory ends."""


def _compress(text: Any) -> bytes:
    return gzip.compress(native_text(text).encode("utf-8", "replace"), mtime=0)


def _decompress(data: bytes) -> str:
    if not data:
        raise CelError("EOF")
    if len(data) < 10:
        raise CelError("unexpected EOF")
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            found = file.read(_MOST_BYTES + 1)
    except EOFError:
        raise CelError("unexpected EOF") from None
    except gzip.BadGzipFile as error:
        kind = "checksum" if "CRC" in str(error) or "length" in str(error) else "header"
        raise CelError(f"gzip: invalid {kind}") from None
    except zlib.error:
        raise CelError("flate: corrupt input") from None
    if len(found) > _MOST_BYTES:
        raise CelError(f"the text is longer than {_MOST_BYTES} bytes, more than kyvsim unpacks")
    return found.decode("utf-8", "replace")


GZIP = Library(
    "gzip",
    (
        function("gzip.compress", way("(dyn) -> bytes", _compress)),
        function("gzip.decompress", way("(bytes) -> string", _decompress)),
    ),
)
