"""What one evaluation knows besides policies and request."""

from typing import NamedTuple

from kyvsim.model.ports import ClusterView
from kyvsim.model.values import Values


class World(NamedTuple):
    """The objects that rules may read, and the values given for what is unknown offline."""

    cluster: ClusterView
    values: Values | None = None
