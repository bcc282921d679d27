"""What a request brings to policies: the object, the user, or a payload without a request."""

from enum import StrEnum
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, JsonMap, KubernetesObject
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
    extra: JsonMap | None = None
    roles: tuple[str, ...] = ()
    cluster_roles: tuple[str, ...] = ()


class AdmissionRequest(NamedTuple):
    """One request for one object; `object` is None on DELETE, `old_object` on CREATE."""

    operation: Operation
    object: KubernetesObject | None
    old_object: KubernetesObject | None = None
    namespace: str = ""
    """What `request.namespace` says; "" for cluster-scoped objects."""
    user: UserInfo | None = None
    subresource: str = ""
    parent_kind: tuple[str, str, str] | None = None
    """Group, version and kind that match blocks see when a values file maps a subresource."""
    details: JsonMap | None = None
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
