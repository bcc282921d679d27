"""Field references: the fields of objects and requests that a policy reads, with compared values.

Languages return them, so that other code can create objects with relevant values.
"""

from enum import Enum, StrEnum
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json


class Segment(Enum):
    """A path segment that is not a name."""

    ELEMENT = "[]"
    """Each element of a list."""
    KEY = "*"
    """Each field of a map."""


FieldPath: TypeAlias = tuple[str | Segment, ...]
"""The path from the root of the subject to a value."""


class Subject(StrEnum):
    """The subject of a field reference."""

    OBJECT = "object"
    OLD_OBJECT = "oldObject"
    REQUEST = "request"
    """Operation, user, namespace: the fields of an admission request."""
    NAMESPACE = "namespace"
    """The Namespace of the object."""
    KIND = "kind"
    """Values are `group/version/Kind`, `*` for any, with a subresource after another slash."""
    WORLD = "world"
    """Data outside of object and request: other objects of the cluster, images, services."""


class FieldReference(NamedTuple):
    """A field that a policy reads, and the values in the policy for it."""

    about: Subject
    path: FieldPath = ()
    values: tuple[Json, ...] = ()
    """As in the policy: texts may be patterns, with operators and wildcards."""
    sizes: tuple[int, ...] = ()
    """Numbers of elements or characters to which it is compared."""
