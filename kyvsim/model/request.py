"""The input of policies: the object and user of a request, or a payload without a request."""

from enum import StrEnum
from typing import Final, NamedTuple

from kyvsim.kubernetes.objects import Json, JsonMap, KubernetesObject
from kyvsim.model.source import Document

# Admission requests, as the API server sends them for one object.


class Operation(StrEnum):
    """The operation on the object."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


OPERATIONS: Final = tuple(one.value for one in Operation)
"""The names of all operations."""


class UserInfo(NamedTuple):
    """The user of a request, with bound roles."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: JsonMap | None = None
    roles: tuple[str, ...] = ()
    cluster_roles: tuple[str, ...] = ()


class AdmissionRequest(NamedTuple):
    """One request for one object; `object` is None on DELETE, `old_object` on CREATE."""

    operation: Operation
    object: KubernetesObject | None
    old_object: KubernetesObject | None = None
    namespace: str = ""
    """The value of `request.namespace`; "" for cluster-scoped objects."""
    user: UserInfo | None = None
    subresource: str = ""
    parent_kind: tuple[str, str, str] | None = None
    """Group, version and kind for match blocks if a values file maps a subresource."""
    details: JsonMap | None = None
    """Further fields of `request` that only an API server sets, such as `uid` and `name`."""
    is_payload: bool = False
    """Whether it is a payload instead of a request."""
    is_extracted: bool = False
    """Whether its objects are Pods made of Pod templates: a missing one is null in CEL."""

    @property
    def subject(self) -> Json:
        """The object for match blocks: the old one on DELETE."""
        return self.old_object if self.operation is Operation.DELETE else self.object


# Payloads: data for policies that is not an object of a cluster.


class PayloadMode(StrEnum):
    """The type of a payload, as in `spec.evaluation.mode` of policies."""

    JSON = "JSON"
    HTTP = "HTTP"
    ENVOY = "Envoy"


class Payload(NamedTuple):
    """One payload, read from a file."""

    mode: PayloadMode
    document: Document
    name: str
    """Its name in rows: the path as given."""
    folder: str = ""
    """The folder that rows show before the name, and may omit."""

    @property
    def data(self) -> Json:
        """The data of the payload."""
        return self.document.data
