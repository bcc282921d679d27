"""Hashes of texts, in hexadecimal.

upstream: pkg/engine/jmespath/functions.go.
"""

import hashlib

from kyvsim.expr.functions.record import STRING, Example, Function


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def sha256(text: str) -> str:
    """Return the SHA-256 hash."""
    return hashlib.sha256(_bytes(text)).hexdigest()


def sha1(text: str) -> str:
    """Return the SHA-1 hash."""
    return hashlib.sha1(_bytes(text), usedforsecurity=False).hexdigest()


def md5(text: str) -> str:
    """Return the MD5 hash."""
    return hashlib.md5(_bytes(text), usedforsecurity=False).hexdigest()


FUNCTIONS = (
    Function(
        "sha256",
        (STRING,),
        STRING,
        "the SHA-256 hash of a text, e.g. for unique names of bounded length",
        sha256,
        examples=(
            Example(
                "sha256('a')", "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
            ),
        ),
    ),
    Function(
        "sha1",
        (STRING,),
        STRING,
        "the SHA-1 hash of a text",
        sha1,
        examples=(Example("sha1('a')", "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"),),
    ),
    Function(
        "md5",
        (STRING,),
        STRING,
        "the MD5 hash of a text",
        md5,
        examples=(Example("md5('a')", "0cc175b9c0f1b6a831c399e269772661"),),
    ),
)
