"""The environment of admission policies: the API server's libraries, and the request's variables.

Source of the types: upstream k8s.io/apiserver pkg/admission/plugin/cel/compile.go.
"""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from kyvsim.cel import types
from kyvsim.cel.environment import Environment, environment, read_fields
from kyvsim.cel.libraries import KUBERNETES
from kyvsim.cel.libraries.admission import (
    AUTHORIZER,
    ESCAPES,
    OBJECTS,
    RESOURCE_CHECK,
    AccessQuery,
    Authorizer,
    ResourceCheck,
)
from kyvsim.cel.types import CelType
from kyvsim.model.ports import UNCHANGED

VARIABLES = "kubernetes.variables"
VARIABLES_TYPE = types.struct(VARIABLES)

_FIELDS = MappingProxyType(
    {
        "kubernetes.GroupVersionKind": "group=string version=string kind=string",
        "kubernetes.GroupVersionResource": "group=string version=string resource=string",
        "kubernetes.UserInfo": "username=string uid=string groups=list<string> "
        "extra=map<string,list<string>>",
        "kubernetes.AdmissionRequest": "kind=kubernetes.GroupVersionKind "
        "resource=kubernetes.GroupVersionResource subResource=string "
        "requestKind=kubernetes.GroupVersionKind "
        "requestResource=kubernetes.GroupVersionResource requestSubResource=string name=string "
        "namespace=string operation=string userInfo=kubernetes.UserInfo dryRun=bool options=dyn",
        "kubernetes.NamespaceSpec": "finalizers=list<string>",
        "kubernetes.NamespaceCondition": "status=string type=string lastTransitionTime=timestamp "
        "message=string reason=string",
        "kubernetes.NamespaceStatus": "conditions=list<kubernetes.NamespaceCondition> phase=string",
        "kubernetes.NamespaceMetadata": "name=string generateName=string namespace=string "
        "labels=map<string,string> annotations=map<string,string> UID=string "
        "creationTimestamp=timestamp deletionGracePeriodSeconds=int deletionTimestamp=timestamp "
        "generation=int resourceVersion=string finalizers=list<string>",
        "kubernetes.Namespace": "metadata=kubernetes.NamespaceMetadata "
        "spec=kubernetes.NamespaceSpec status=kubernetes.NamespaceStatus",
        VARIABLES: "",
    }
)


def typed_fields() -> Mapping[str, Mapping[str, CelType]]:
    """Return the fields of the typed objects of a request, by type name."""
    return {name: read_fields(text) for name, text in _FIELDS.items()}


@lru_cache(maxsize=8)
def kubernetes_environment(
    *, params: bool = False, authorizer: bool = False, mutates: bool = False
) -> Environment:
    """Return the environment; `params` and `authorizer` are available on request.

    `mutates` adds the result types of mutations.
    """
    variables = [
        ("object", types.DYN),
        ("oldObject", types.DYN),
        ("namespaceObject", types.struct("kubernetes.Namespace")),
        ("request", types.struct("kubernetes.AdmissionRequest")),
        ("variables", VARIABLES_TYPE),
    ]
    if params:
        variables.append(("params", types.DYN))
    if authorizer:
        variables += [("authorizer", AUTHORIZER), ("authorizer.requestResource", RESOURCE_CHECK)]
    found = environment((*KUBERNETES, OBJECTS, ESCAPES) if mutates else KUBERNETES)
    return found._replace(
        variables=tuple(variables),
        fields=MappingProxyType(typed_fields()),
        per_step=_BUDGET // UNCHANGED.rule,
    )


_BUDGET = 10_000_000
"""The maximum steps of a policy's expressions. upstream: k8s.io/apiserver/pkg/apis/cel/config.go"""
_KEPT = frozenset(
    {"bool", "bytes", "double", "duration", "int", "null", "string", "timestamp", "uint"}
)


def declared_type(found: CelType) -> CelType:
    """Return the declared type of a variable whose expression has the type `found`.

    upstream: k8s.io/apiserver pkg/admission/plugin/cel/composition.go, which supports few types.
    """
    if found.kind in {"list", "map"}:
        return found._replace(parameters=tuple(map(declared_type, found.parameters)))
    return found if found.kind in _KEPT else types.DYN


def authorizer_values(
    query: AccessQuery, attributes: Mapping[str, str] = MappingProxyType({})
) -> tuple[Authorizer, ResourceCheck]:
    """Return the values of `authorizer` and `authorizer.requestResource`.

    `attributes` describe the request for an authorizer.
    """
    return Authorizer(query), ResourceCheck(query, attributes)
