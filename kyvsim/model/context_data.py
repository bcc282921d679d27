"""What a context file tells CEL expressions."""

from typing import NamedTuple

from kyvsim.kube.objects import Json


class ContextData(NamedTuple):
    """Objects of a cluster, and what a registry tells of images."""

    resources: tuple[Json, ...] = ()
    images: tuple[Json, ...] = ()
