"""What a request brings to policies, and the values given for variables and the cluster."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, Path
from kyvsim.model.source import Document

# Admission requests: what the API server would ask about one object.


class Operation(StrEnum):
    """What happens to the object."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


class UserInfo(NamedTuple):
    """Who sends a request, and the roles bound to that user."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, Json] | None = None
    roles: tuple[str, ...] = ()
    cluster_roles: tuple[str, ...] = ()


class AdmissionRequest(NamedTuple):
    """One request for one object; `object` is None on DELETE, `old_object` on CREATE."""

    operation: Operation
    object: Json | None
    old_object: Json | None = None
    namespace: str = ""
    """What `request.namespace` says; "" for cluster-scoped objects."""
    user: UserInfo | None = None
    subresource: str = ""
    parent_kind: tuple[str, str, str] | None = None
    """Group, version and kind that match blocks see when a values file maps a subresource."""
    details: Mapping[str, Json] | None = None
    """Further fields of `request` that only an API server knows, such as `uid` and `name`."""
    is_payload: bool = False
    """Whether there is no request at all, but a payload that policies judge by itself."""

    @property
    def subject(self) -> Json:
        """The object that match blocks look at: the old one on DELETE."""
        return self.old_object if self.operation is Operation.DELETE else self.object


# Payloads: what policies judge that is no object of a cluster.


class PayloadMode(StrEnum):
    """What a payload is; policies name it in `spec.evaluation.mode`."""

    JSON = "JSON"
    HTTP = "HTTP"
    ENVOY = "Envoy"


class Payload(NamedTuple):
    """One payload, read from a file."""

    mode: PayloadMode
    document: Document
    name: str
    """What stands for it in rows: the path as it was given."""
    folder: str = ""
    """What rows show before the name, and need not name."""

    @property
    def data(self) -> Json:
        """What it holds."""
        return self.document.data


# What registries and signatures would have said about images, recorded.


_NO_TEXTS: Mapping[str, str] = MappingProxyType({})


class Signature(NamedTuple):
    """A valid signature: who made it. Unknown parts are ""."""

    key: str = ""
    """A public key (PEM), a KMS URI, or `k8s://NAMESPACE/NAME` for a key in a Secret."""
    certificate: str = ""
    """The certificate, or its chain (PEM)."""
    issuer: str = ""
    subject: str = ""
    annotations: Mapping[str, str] = _NO_TEXTS


class Attestation(NamedTuple):
    """A statement attached to an image, and who signed it."""

    type: str
    predicate: Json
    signatures: tuple[Signature, ...] = ()


class ImageData(NamedTuple):
    """What is known of one image; None where it was not recorded."""

    digest: str = ""
    signatures: tuple[Signature, ...] | None = None
    attestations: tuple[Attestation, ...] | None = None
    manifest: Json = None
    manifest_list: Json = None
    config: Json = None


# Answers given in place of what a cluster or a service would have said.


LAST_GOOD_STATUS = 299


class CallAnswer(NamedTuple):
    """What an API call is answered with."""

    status: int
    body: Json

    @property
    def good(self) -> bool:
        """Whether the status is one of success."""
        return 200 <= self.status <= LAST_GOOD_STATUS


class GlobalData(NamedTuple):
    """What stands for a GlobalContextEntry."""

    data: Json
    """An object, or a list of objects."""
    field_path: str = ""
    """The JMESPath expression of the part that counts; "" for all of it."""
    projections: tuple[tuple[str, str], ...] = ()
    """Names, and the JMESPath expressions that give their values."""


class Mocks(NamedTuple):
    """All answers given."""

    calls: Mapping[tuple[str, str], CallAnswer] = MappingProxyType({})
    """By method ("" for any) and URL or URL path."""
    global_data: Mapping[str, GlobalData] = MappingProxyType({})
    """By the entry's name."""
    images: Mapping[str, ImageData] = MappingProxyType({})
    """By the image's whole reference: with registry, and with digest or tag."""

    def answer(self, method: str, url: str) -> CallAnswer | None:
        """Return the answer to a call, or None; one for just this method comes first."""
        return self.calls.get((method, url)) or self.calls.get(("", url))


NO_MOCKS = Mocks()


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

    def subresource_of(self, kind: KindKey) -> Subresource | None:
        """Return the last mapping for objects of `kind`, None if it is no subresource."""
        return next((found for found in reversed(self.subresources) if found.kind == kind), None)
