"""What a context file tells CEL expressions."""

from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.kube.objects import Json
from kyvsim.light.named_tuple import NamedTuple


class ContextData(NamedTuple):
    """Objects of a cluster, and what a registry tells of images."""

    resources: tuple[Json, ...] = ()
    images: Mapping[str, Json] = MappingProxyType({})
    """By the references that they are told for."""
