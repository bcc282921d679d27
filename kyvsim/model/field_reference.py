"""What policies write about objects and requests: where they look, and what they look for there.

Languages return it, so that others can make objects on which a policy has something to decide.
"""

from enum import Enum, StrEnum
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json


class Segment(Enum):
    """A step of a path that is no name."""

    ELEMENT = "[]"
    """Each element of a list."""
    KEY = "*"
    """Each field of a map."""


FieldPath: TypeAlias = tuple[str | Segment, ...]
"""The path from the top of what is looked at to a value in it."""


class Subject(StrEnum):
    """What a policy looks at."""

    OBJECT = "object"
    OLD_OBJECT = "oldObject"
    REQUEST = "request"
    """Operation, user, namespace: the fields of an admission request."""
    NAMESPACE = "namespace"
    """The Namespace that the object lies in."""
    KIND = "kind"
    """Values are `group/version/Kind`, `*` for any, with a subresource behind a further slash."""
    WORLD = "world"
    """What neither object nor request holds: other objects of the cluster, images, services."""


class FieldReference(NamedTuple):
    """A place that a policy looks at, and the values that it writes for it."""

    about: Subject
    path: FieldPath = ()
    values: tuple[Json, ...] = ()
    """As they are written: texts may be patterns, with operators and wildcards."""
    sizes: tuple[int, ...] = ()
    """Numbers of elements or characters that it compares with."""
