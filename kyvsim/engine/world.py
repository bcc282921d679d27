"""What one evaluation knows besides policies and request."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.engine.given_objects import ClusterBefore
from kyvsim.kube.objects import Json
from kyvsim.model.ports import ClusterView, Outside
from kyvsim.model.request import UserInfo
from kyvsim.model.values import NO_MOCKS, Mocks, Values

_NO_NAMESPACES: Mapping[str, Json] = MappingProxyType({})


class World(NamedTuple):
    """The objects that rules may read, and the values given for what is unknown offline."""

    cluster: ClusterView
    values: Values | None = None
    answers_calls: bool = True
    """Whether `cluster` answers API calls, and knows namespaces, as it does for `apply`."""
    sources: Callable[[str], ClusterView] | None = None
    """The objects that generate rules of a policy, by its key, may copy; None for those of
    `cluster`."""
    context: ClusterView | None = None
    """The objects of a context file."""
    images: Mapping[str, Json] = MappingProxyType({})
    """What a context file tells of images, by their references."""
    arriving: Json | None = None
    """The object of `cluster` that the request brings; None where no such object is there yet."""
    account: UserInfo | None = None
    """Who asks, where `cluster` is an API server's; None where objects are just given."""
    writes: Callable[[str, Json], None] | None = None
    """Writes what policies in CEL generate into a namespace as they go, or raises ValueError."""
    targets: Sequence[Json] = ()
    """The objects given as existing ones that policies in CEL may change for a trigger."""
    spares_triggers: bool = False
    """Whether rules for existing objects leave triggers as they are and come after them, as in a
    cluster."""
    mocks: Mocks | None = None
    """Answers in place of those that `values` have."""

    @property
    def outside(self) -> Outside:
        """What context entries and rules can ask."""
        return self._outside(self.cluster)

    def outside_before(self, old: Json | None) -> Outside:
        """Return what can be asked while the request is admitted: `old` is there, or nothing."""
        if self.arriving is None:
            return self._outside(self.cluster)
        return self._outside(ClusterBefore(self.cluster, self.arriving, old))

    def _outside(self, cluster: ClusterView) -> Outside:
        return Outside(
            cluster,
            self.mocks or (self.values.mocks if self.values else NO_MOCKS),
            self.answers_calls,
            context=self.context,
            images=self.images,
            namespaces=self.values.namespaces if self.values else _NO_NAMESPACES,
            targets=self.targets,
            spares_triggers=self.spares_triggers,
            sources=self.sources,
            account=self.account,
            writes=self.writes,
        )
