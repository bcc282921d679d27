"""The cluster as targets of mutate rules are looked for: kinds count of which nothing is there."""

from collections.abc import Iterable, Sequence

from kyvsim.kube.discovery import is_builtin
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json
from kyvsim.model.policy import Policy
from kyvsim.sim.server import Store


class ServedKinds:
    """A `ClusterView` of a store that also tells the kinds that targets of a policy name."""

    has_ints = True

    def __init__(self, store: Store, policy: Policy) -> None:
        self._store = store
        self._named = [pair for pair in _named(policy) if _is_served(pair, store)]

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Json | None:
        """Return the object, or None."""
        return self._store.get(api_version, kind, namespace, name)

    def list(self, api_version: str, kind: str, namespace: str) -> Sequence[Json]:
        """Return the objects of a kind in a namespace ("" for all), by namespace and name."""
        return self._store.list(api_version, kind, namespace)

    def kind_of(self, api_version: str, name: str) -> str:
        """Return the kind that paths call `name`, "" where none is known."""
        return self._store.kind_of(api_version, name)

    def plural_of(self, api_version: str, kind: str) -> str:
        """Return the name by which paths call a kind, "" where it is not served."""
        return self._store.plural_of(api_version, kind)

    def guesses(self, api_version: str, name: str) -> bool:
        """Return False, as its store does."""
        return self._store.guesses(api_version, name)

    def kinds(self) -> Iterable[tuple[str, str]]:
        """Return apiVersion and kind of what is there, and of what targets name."""
        return dict.fromkeys([*self._store.kinds(), *self._named])

    def is_namespaced(self, api_version: str, kind: str) -> bool:
        """Return whether objects of a kind live in namespaces."""
        return self._store.is_namespaced(api_version, kind)

    def namespace_labels(self, namespace: str) -> dict[str, Json]:
        """Return the labels of a Namespace, or an empty dict."""
        return self._store.namespace_labels(namespace)


def _named(policy: Policy) -> Iterable[tuple[str, str]]:
    for rule in policy.rules:
        for target in rule.facts.targets:
            yield target.api_version, target.kind.partition("/")[0]


def _is_served(pair: tuple[str, str], store: Store) -> bool:
    group = split_api_version(pair[0])[0]
    return is_builtin(group, pair[1]) or (group, pair[1]) in store.defined
