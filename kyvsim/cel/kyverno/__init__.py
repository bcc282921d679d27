"""Kyverno's own libraries of functions: one file each.

`EVERYWHERE` lists what all of its policy kinds may use; an environment adds what is its own. Names
stand in two spellings, `Get` and `get`, since version 1.18 of the libraries.

upstream: kyverno/sdk extensions/cel/libs
"""

from kyvsim.cel.environment import Library
from kyvsim.cel.kyverno.encodings import CERTIFICATES, GZIP, JSON, YAML
from kyvsim.cel.kyverno.functions import HASHES, ROUNDING, TRANSFORM, USERS
from kyvsim.cel.kyverno.images import IMAGE_DATA, IMAGES
from kyvsim.cel.kyverno.lookups import (
    CLUSTER_GENERATOR,
    CLUSTER_RESOURCES,
    GLOBAL_CONTEXT,
    HTTP,
    NAMESPACED_GENERATOR,
    NAMESPACED_RESOURCES,
)

EVERYWHERE: tuple[Library, ...] = (
    GLOBAL_CONTEXT,
    IMAGES,
    IMAGE_DATA,
    HASHES,
    ROUNDING,
    JSON,
    YAML,
    TRANSFORM,
    GZIP,
    HTTP,
)
"""In upstream's order: where several could be meant, the first says what type comes out."""

__all__ = [
    "CERTIFICATES",
    "CLUSTER_GENERATOR",
    "CLUSTER_RESOURCES",
    "EVERYWHERE",
    "NAMESPACED_GENERATOR",
    "NAMESPACED_RESOURCES",
    "USERS",
]
