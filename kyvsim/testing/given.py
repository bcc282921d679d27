"""What a test hands over as policies or manifests: paths, texts, objects, or several of them."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from kyvsim.api import Source
from kyvsim.kubernetes.objects import Json

Given: TypeAlias = str | os.PathLike[str] | Mapping[str, Json] | Iterable["Given"]
"""A path, a text of several lines (YAML), an object, or any number of these."""


def sources(given: Given, noun: str) -> tuple[str | Source, ...]:
    """Return what the loader takes for `given`; texts and objects are called `<NOUN 1>` and so on.

    Raises TypeError for a value that is none of these.
    """
    return tuple(
        one if isinstance(one, str) else Source(f"<{noun} {number}>", one.text)
        for number, one in enumerate(_flat(given), 1)
    )


def _flat(given: Given) -> Iterator[str | Source]:
    if isinstance(given, str):
        yield Source("", given) if "\n" in given else given
    elif isinstance(given, os.PathLike):
        yield os.fspath(given)
    elif isinstance(given, Mapping):
        # JSON is YAML; this way numbers and texts are read as they would be from a file.
        yield Source("", json.dumps(given, ensure_ascii=False))
    else:
        for one in given:
            yield from _flat(one)
