"""Digests of texts, in hexadecimal.

Source of the rules: upstream kyverno/sdk extensions/cel/libs/hash, whose library also declares the
constant `mylib_version`.
"""

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

from kyvsim.cel.environment import Function, Library, function, way
from kyvsim.cel.types import STRING

_DIGESTS: tuple[tuple[str, Callable[..., Any]], ...] = (
    ("sha1", hashlib.sha1),
    ("sha256", hashlib.sha256),
    ("md5", hashlib.md5),
)


def _functions() -> Iterator[Function]:
    for name, digest in _DIGESTS:

        def run(text: str, digest: Callable[..., Any] = digest) -> str:
            found: str = digest(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
            return found

        for spelled in (name, f"hash.{name}"):
            yield function(spelled, way("(string) -> string", run))


HASHES = Library("hash", tuple(_functions()), variables=(("mylib_version", STRING),))
