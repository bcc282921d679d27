"""What both sets of policies are asked."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.model.request import Operation, UserInfo

STRANGER = UserInfo("somebody", groups=("system:authenticated",))
"""Who sends requests where nobody is named: in a cluster there is always someone."""
_NOTHING: Mapping[str, str] = MappingProxyType({})


class Case(NamedTuple):
    """A request, and what has to be there for it."""

    object: Json
    """The object that is created or changed; the one that goes, at DELETE."""
    operation: Operation = Operation.CREATE
    old: Json = None
    """The object as it was; None where it is created."""
    user: UserInfo = STRANGER
    namespace_labels: Mapping[str, str] = _NOTHING
    """Labels of the Namespace that the object lies in."""
    there: tuple[Json, ...] = ()
    """Other objects of the cluster, and what registries tell of images: made for look-ups."""
    given: bool = False
    """Whether somebody gave the object, rather than having it made."""
    part: str = ""
    """The subresource that is asked for, such as `exec`; the object is what is sent to it."""
    parent: tuple[str, str, str] | None = None
    """Group, version and kind of what the subresource belongs to."""
    odd: bool = False
    """Whether it has values of types that nothing speaks for."""

    @property
    def is_plain(self) -> bool:
        """Whether a manifest of the object says all that there is to the case."""
        return (
            self.operation is Operation.CREATE
            and self.user == STRANGER
            and not self.namespace_labels
            and not self.there
            and not self.part
        )

    @property
    def identity(self) -> str:
        """What tells the case from others."""
        told = (
            self.object,
            self.operation,
            self.old,
            self.user,
            dict(self.namespace_labels),
            self.there,
            self.part,
            self.parent,
        )
        return json.dumps(told, sort_keys=True, default=str)
