"""What a values file and `--set` options say."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, Path
from kyvsim.model.request import NO_MOCKS, Mocks
from kyvsim.model.source import Document

_NOTHING: Mapping[str, Json] = MappingProxyType({})
_NOTHING_BY_PAIR: Mapping[tuple[str, str], Mapping[str, Json]] = MappingProxyType({})
_OPERATION = "request.operation"


class KindKey(NamedTuple):
    """Group, version and kind."""

    group: str
    version: str
    kind: str


class Subresource(NamedTuple):
    """A kind that is sent to a subresource, such as Scale to `deployments/scale`."""

    name: str
    """The subresource alone, such as `scale`."""
    kind: KindKey
    parent: KindKey


class ValuesEntry(NamedTuple):
    """A name in a values file that is to lead to something of the run."""

    kind: str
    """`policy`, `rule` or `resource`."""
    policy: str
    name: str
    path: Path


class Values(NamedTuple):
    """Everything a values file and `--set` options say."""

    global_values: Mapping[str, Json] = _NOTHING
    resource_values: Mapping[tuple[str, str], Mapping[str, Json]] = _NOTHING_BY_PAIR
    """Variables by name of policy (without namespace) and resource."""
    rule_values: Mapping[tuple[str, str], Mapping[str, Json]] = _NOTHING_BY_PAIR
    """Variables by name of policy and rule; derived rules have entries of their own."""
    namespaces: Mapping[str, Mapping[str, Json]] = MappingProxyType({})
    subresources: tuple[Subresource, ...] = ()
    mocks: Mocks = NO_MOCKS
    entries: tuple[ValuesEntry, ...] = ()
    document: Document | None = None
    overrides: Mapping[str, str] = MappingProxyType({})
    """What `--set` options say; they win over the file's global and resource values."""

    def for_resource(self, policy: str, resource: str) -> dict[str, Json]:
        """Return the variables for a policy and a resource, by dotted name.

        `request.operation` is always there. upstream: cmd/cli/kubectl-kyverno/variables
        """
        return {
            _OPERATION: "CREATE",
            **self.global_values,
            **self.resource_values.get((policy, resource), _NOTHING),
            **self.overrides,
        }

    def for_rule(self, policy: str, rule: str) -> Mapping[str, Json]:
        """Return the variables for a rule, by dotted name.

        upstream: cmd/cli/kubectl-kyverno/store
        """
        return self.rule_values.get((policy, rule), _NOTHING)

    def without_variables(self) -> "Values":
        """Return what counts for policies that have no variables: of these, the operation.

        It is that of all requests: values for one resource do not change it.
        upstream: cmd/cli/kubectl-kyverno/processor/operation.go
        """
        known = {**self.global_values, **self.overrides}
        kept = {_OPERATION: known[_OPERATION]} if _OPERATION in known else _NOTHING
        return self._replace(
            global_values=kept, resource_values=_NOTHING_BY_PAIR, overrides=MappingProxyType({})
        )

    def namespace_labels(self, namespace: str) -> Mapping[str, Json]:
        """Return the labels given for a namespace, or an empty mapping."""
        found: Json = self.namespaces.get(namespace, _NOTHING).get("metadata", _NOTHING)
        return found.get("labels") or _NOTHING

    def subresource_of(self, kind: tuple[str, str, str]) -> Subresource | None:
        """Return the last mapping for objects of a KindKey, None if it is no subresource."""
        return next((found for found in reversed(self.subresources) if found.kind == kind), None)
