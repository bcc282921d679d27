"""Contents of values files and `--set` options: variables, and data that is unavailable offline."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, JsonMap, KubernetesObject, Path
from kyvsim.model.source import Document

# Image metadata, signatures and attestations of registries.

_NO_TEXTS: Mapping[str, str] = MappingProxyType({})


class Signature(NamedTuple):
    """A valid signature and its signer. Unknown parts are ""."""

    key: str = ""
    """A public key (PEM), a KMS URI, or `k8s://NAMESPACE/NAME` for a key in a Secret."""
    certificate: str = ""
    """The certificate, or its chain (PEM)."""
    issuer: str = ""
    subject: str = ""
    annotations: Mapping[str, str] = _NO_TEXTS


class Attestation(NamedTuple):
    """A statement attached to an image, with its signatures."""

    type: str
    predicate: object
    signatures: tuple[Signature, ...] = ()


class ImageData(NamedTuple):
    """Metadata of one image; None for parts that were not recorded."""

    digest: str = ""
    signatures: tuple[Signature, ...] | None = None
    attestations: tuple[Attestation, ...] | None = None
    manifest: KubernetesObject | None = None
    manifest_list: object = None
    config: JsonMap | None = None


# Responses of clusters and services.

LAST_GOOD_STATUS = 299


class CallAnswer(NamedTuple):
    """The response to an API call."""

    status: int
    body: object

    @property
    def good(self) -> bool:
        """Whether the status is a success."""
        return 200 <= self.status <= LAST_GOOD_STATUS


class GlobalData(NamedTuple):
    """The data of a GlobalContextEntry."""

    data: object
    """An object, or a list of objects."""
    field_path: str = ""
    """The JMESPath expression that selects a part; "" for all of it."""
    projections: tuple[tuple[str, str], ...] = ()
    """Names, and the JMESPath expressions of their values."""


class Mocks(NamedTuple):
    """Responses that replace those of a cluster, a service or a registry."""

    calls: Mapping[tuple[str, str], CallAnswer] = MappingProxyType({})
    """By method ("" for any) and URL or URL path."""
    global_data: Mapping[str, GlobalData] = MappingProxyType({})
    """By the entry's name."""
    images: Mapping[str, ImageData] = MappingProxyType({})
    """By complete image reference: with registry, and with digest or tag."""

    def answer(self, method: str, url: str) -> CallAnswer | None:
        """Return the response to a call, or None; those for its method take precedence."""
        return self.calls.get((method, url)) or self.calls.get(("", url))


NO_MOCKS = Mocks()


# Variables of values files and `--set` options.

_NOTHING: JsonMap = MappingProxyType({})
_NOTHING_BY_PAIR: Mapping[tuple[str, str], Mapping[str, object]] = MappingProxyType({})
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
    """A name in a values file that should exist in the run."""

    kind: str
    """`policy`, `rule` or `resource`."""
    policy: str
    name: str
    path: Path


class Values(NamedTuple):
    """The contents of a values file and `--set` options."""

    global_values: Mapping[str, object] = _NOTHING
    resource_values: Mapping[tuple[str, str], Mapping[str, object]] = _NOTHING_BY_PAIR
    """Variables by name of policy (without namespace) and resource."""
    rule_values: Mapping[tuple[str, str], Mapping[str, object]] = _NOTHING_BY_PAIR
    """Variables by name of policy and rule; autogen rules have separate entries."""
    namespaces: Mapping[str, KubernetesObject] = MappingProxyType({})
    subresources: tuple[Subresource, ...] = ()
    mocks: Mocks = NO_MOCKS
    entries: tuple[ValuesEntry, ...] = ()
    document: Document | None = None
    overrides: Mapping[str, str] = MappingProxyType({})
    """The values of `--set` options, which override the file's global and resource values."""

    def for_resource(self, policy: str, resource: str) -> dict[str, object]:
        """Return the variables for a policy and a resource, by dotted name.

        `request.operation` is always set. upstream: cmd/cli/kubectl-kyverno/variables
        """
        return {
            _OPERATION: "CREATE",
            **self.global_values,
            **self.resource_values.get((policy, resource), _NOTHING),
            **self.overrides,
        }

    def for_rule(self, policy: str, rule: str) -> Mapping[str, object]:
        """Return the variables for a rule, by dotted name.

        upstream: cmd/cli/kubectl-kyverno/store
        """
        return self.rule_values.get((policy, rule), _NOTHING)

    def without_variables(self) -> "Values":
        """Return the values for policies without variables: only the operation is kept.

        Values of one resource do not change it.

        upstream: cmd/cli/kubectl-kyverno/processor/operation.go
        """
        known = {**self.global_values, **self.overrides}
        kept = {_OPERATION: known[_OPERATION]} if _OPERATION in known else _NOTHING
        return self._replace(
            global_values=kept, resource_values=_NOTHING_BY_PAIR, overrides=MappingProxyType({})
        )

    def namespace_labels(self, namespace: str) -> JsonMap:
        """Return the labels given for a namespace, or an empty mapping."""
        found: Json = self.namespaces.get(namespace, _NOTHING).get("metadata", _NOTHING)
        return found.get("labels") or _NOTHING

    def subresource_of(self, kind: tuple[str, str, str]) -> Subresource | None:
        """Return the last mapping for objects of a KindKey; None if it is not a subresource."""
        return next((found for found in reversed(self.subresources) if found.kind == kind), None)
