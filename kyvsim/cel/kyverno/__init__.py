"""Kyverno's own libraries of functions: one file each.

`EVERYWHERE` lists what all of its policy kinds may use; an environment adds what is its own. Names
stand in two spellings, `Get` and `get`, since version 1.18 of the libraries.

upstream: kyverno/sdk extensions/cel/libs
"""

from kyvsim.cel.environment import Library
from kyvsim.cel.kyverno.generator import CLUSTER_GENERATOR, NAMESPACED_GENERATOR
from kyvsim.cel.kyverno.global_context import GLOBAL_CONTEXT
from kyvsim.cel.kyverno.gzip import GZIP
from kyvsim.cel.kyverno.hashes import HASHES
from kyvsim.cel.kyverno.http import HTTP
from kyvsim.cel.kyverno.image_data import IMAGE_DATA
from kyvsim.cel.kyverno.images import IMAGES
from kyvsim.cel.kyverno.json import JSON
from kyvsim.cel.kyverno.resources import CLUSTER_RESOURCES, NAMESPACED_RESOURCES
from kyvsim.cel.kyverno.rounding import ROUNDING
from kyvsim.cel.kyverno.transform import TRANSFORM
from kyvsim.cel.kyverno.users import USERS
from kyvsim.cel.kyverno.x509 import CERTIFICATES
from kyvsim.cel.kyverno.yaml import YAML

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
