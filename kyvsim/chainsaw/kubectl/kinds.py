"""What kubectl calls kinds: plurals, singulars, short names, groups behind a dot."""

from typing import NamedTuple

from kyvsim.kubernetes.discovery import kinds_named, plural, preferred_version, split_api_version
from kyvsim.simulator.api_server import Store


class NamedKind(NamedTuple):
    """A kind, and how it is asked for."""

    api_version: str
    kind: str


def kind_named(name: str, store: Store) -> NamedKind | None:
    """Return the kind of a name such as `pods`, `po`, `Deployment` or `deployments.apps`."""
    base, _, rest = name.lower().partition(".")
    for group, kind in kinds_named(base, store.defined):
        if not rest or rest == group or rest.partition(".")[2] == group:
            return NamedKind(preferred(group, kind, store), kind)
    return None


def preferred(group: str, kind: str, store: Store) -> str:
    """Return the apiVersion under which kubectl asks for a kind."""
    version = preferred_version(group, kind, store.defined)
    return f"{group}/{version}" if group else version


def shown_kind(api_version: str, kind: str, *, in_plural: bool = False) -> str:
    """Return how kubectl names a kind in what it prints: `pod`, `deployment.apps`."""
    group = split_api_version(api_version)[0]
    name = plural(group, kind) if in_plural else kind.lower()
    return f"{name}.{group}" if group else name
