"""The three ways in which evaluation sees the world outside: cluster, clock and entropy."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from kyvsim.kube.objects import Json
from kyvsim.model.budget import Meter


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """Return the current time, aware of its zone."""

    def __hash__(self) -> int:
        """Return a hash: what is compiled for a clock is kept for it."""


class Entropy(Protocol):
    """Source of chance."""

    def below(self, bound: int) -> int:
        """Return a whole number from 0 up to and without `bound`."""

    def __hash__(self) -> int:
        """Return a hash, as that of a clock."""


class System(NamedTuple):
    """Where `time_now()` and `random()` get their answers from, and what counts their steps."""

    clock: Clock
    entropy: Entropy
    meter: Meter


class ClusterView(Protocol):
    """The objects that rules may read."""

    @property
    def has_ints(self) -> bool:
        """Whether whole numbers of its objects are ints, as clients of an API server have them."""

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Json | None:
        """Return the object, or None; `namespace` is "" for cluster-scoped kinds."""

    def list(self, api_version: str, kind: str, namespace: str) -> Sequence[Json]:
        """Return the objects of a kind in a namespace ("" for all), by namespace and name."""

    def kind_of(self, api_version: str, name: str) -> str:
        """Return the kind that paths call `name`, "" where there can be none."""

    def plural_of(self, api_version: str, kind: str) -> str:
        """Return the name by which paths call a kind, "" where it is not served."""

    def guesses(self, api_version: str, name: str) -> bool:
        """Return whether nothing tells of a kind that paths call `name`, though it may exist."""

    def is_namespaced(self, api_version: str, kind: str) -> bool:
        """Return whether objects of a kind live in namespaces, as far as this cluster can say."""

    def kinds(self) -> Iterable[tuple[str, str]]:
        """Return apiVersion and kind of everything that there is."""

    def namespace_labels(self, namespace: str) -> dict[str, Json]:
        """Return the labels known for a namespace, or an empty dict."""
