"""Bytes as text in base64.

Source of the rules: upstream cel-go ext/encoders.go, version 0.
"""

import base64

from kyvsim.cel.environment import Library, function, way
from kyvsim.cel.errors import CelError
from kyvsim.kubernetes.go_base64 import Base64Error, decode_padded, decode_unpadded


def _decode(text: str) -> bytes:
    try:
        return decode_padded(text)
    except Base64Error:
        pass
    try:
        return decode_unpadded(text)
    except Base64Error as error:
        raise CelError(str(error)) from None


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


ENCODERS = Library(
    "encoders",
    (
        function("base64.decode", way("(string) -> bytes", _decode)),
        function("base64.encode", way("(bytes) -> string", _encode)),
    ),
)
