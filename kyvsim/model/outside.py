"""What context entries and rules can ask besides the request."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kube.numbers import with_floats
from kyvsim.kube.objects import Json, labels
from kyvsim.model.mocks import NO_MOCKS, Mocks
from kyvsim.model.ports import ClusterView
from kyvsim.model.request import UserInfo


class ContextData(NamedTuple):
    """What a context file tells CEL expressions: objects of a cluster, and data of images."""

    resources: tuple[Json, ...] = ()
    images: Mapping[str, Json] = MappingProxyType({})
    """By the references that they are told for."""


class Outside(NamedTuple):
    """The objects that rules may read, and the answers given for what nobody can ask offline."""

    cluster: ClusterView
    mocks: Mocks = NO_MOCKS
    answers_calls: bool = True
    """Whether `cluster` answers API calls and lookups of ConfigMaps; if not, what no mock answers
    stays undefined."""
    context: ClusterView | None = None
    """The objects of a context file, which CEL expressions find before those of `cluster`."""
    images: Mapping[str, Json] = MappingProxyType({})
    """What a context file tells of images, by their references."""
    namespaces: Mapping[str, Json] = MappingProxyType({})
    """The Namespaces that a values file gives, by name."""
    targets: Sequence[Json] = ()
    """The objects given as existing ones that policies in CEL may change for a trigger."""
    spares_triggers: bool = False
    """Whether rules for existing objects leave triggers as they are and come after them, as in a
    cluster."""
    sources: Callable[[str], ClusterView] | None = None
    """The objects that generate rules of a policy, by its key, may copy; None for those of
    `cluster`."""
    made: Sequence[Json] = ()
    """What earlier rules of the policy generated for the request, which later ones may copy."""
    account: UserInfo | None = None
    """Who asks an API server, which grants what roles say; None where objects are just given."""
    writes: Callable[[str, Json], None] | None = None
    """Writes what a policy in CEL generates into a namespace at once, or raises ValueError; None
    where it is only told."""

    def labels_of(self, namespace: str) -> Mapping[str, Json]:
        """Return the labels known for a namespace: those that a values file gives come first."""
        given = labels(self.namespaces.get(namespace))
        return given or self.cluster.namespace_labels(namespace)

    def as_json(self, value: Json) -> Json:
        """Return what comes from the cluster as expressions see it, with floats for all numbers.

        upstream: pkg/engine/context keeps JSON text, and reads it where no type is asked for.
        """
        return with_floats(value) if self.cluster.has_ints else value
