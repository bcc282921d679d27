"""The objects that a policy in CEL generates: written one after the other, as it goes.

Source of the rules: upstream pkg/cel/libs/context.go (GenerateResources).
"""

from typing import NamedTuple

from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, ObjectKey, labels, metadata, object_key, text_field
from kyvsim.languages.cel.facts import generating_facts
from kyvsim.model.obstacle import Obstacle, Reason
from kyvsim.model.policy import Policy
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.patch.merge_patch import merge_patch
from kyvsim.sim.background.attempt import obstacle_of
from kyvsim.sim.background.ownership import LABEL, MANAGED
from kyvsim.sim.kyverno.users import BACKGROUND
from kyvsim.sim.parts import Parts
from kyvsim.sim.server import ApiError, ApiRequest, ApiResponse, Client, Purpose
from kyvsim.sim.server.authorizer import denial
from kyvsim.sim.server.metadata import with_metadata

_OF_SERVER = dict.fromkeys(
    ("uid", "selfLink", "creationTimestamp", "managedFields", "resourceVersion")
)


class Cause(NamedTuple):
    """On whose behalf objects are written."""

    policy: Policy
    request: AdmissionRequest
    restores: bool
    """Whether nothing is written: what is there already is looked for."""

    @property
    def labels(self) -> dict[str, str]:
        """The labels of all that is generated."""
        request = self.request
        key = object_key(request.subject)
        group, version = split_api_version(key.api_version)
        # Of a deletion there is no object, and so neither its namespace nor its uid.
        gone = request.operation is Operation.DELETE
        return {
            **MANAGED,
            f"{LABEL}policy-name": self.policy.name,
            f"{LABEL}trigger-name": text_field(request.details or {}, "name") or key.name,
            f"{LABEL}trigger-namespace": "" if gone else key.namespace,
            f"{LABEL}trigger-uid": "" if gone else text_field(metadata(request.object), "uid"),
            f"{LABEL}trigger-kind": key.kind,
            f"{LABEL}trigger-group": group,
            f"{LABEL}trigger-version": version,
        }


class GeneratedObjects:
    """Writes objects into the cluster, and keeps them as they are there."""

    def __init__(self, cause: Cause, parts: Parts) -> None:
        self._cause = cause
        self._parts = parts
        self._marks = cause.labels
        self.written: list[Json] = []
        self.obstacle: Obstacle | None = None
        """Why the last of them could not be written."""

    def write(self, namespace: str, obj: Json) -> None:
        """Let an object be in a namespace as it is wanted; raises ValueError."""
        wanted = self._placed(namespace, obj)
        key, store = object_key(wanted), self._parts.store
        refused = denial(BACKGROUND, "get", key, store)
        if refused is not None:
            self._fail(refused, key)
        live = store.get(*key)
        if live is None:
            if not self._cause.restores:
                self._keep(self._client("generate").create(wanted), key)
        elif not self._is_own(live):
            return
        elif self._cause.restores:
            self.written.append(live)
        else:
            self._keep(self._update(wanted, live), key)

    def _placed(self, namespace: str, obj: Json) -> Json:
        """Return an object in its namespace, with the labels that tell whose it is."""
        key, policy = object_key(obj), self._cause.policy
        if key.api_version.count("/") > 1:
            text = f"unexpected GroupVersion string: {key.api_version}"
            self.obstacle = Obstacle(Reason.NO_KIND, text, key)
            raise ValueError(text)
        target = namespace
        if not self._parts.store.is_namespaced(key.api_version, key.kind):
            if namespace and policy.namespace:
                raise ValueError(
                    f'cross-scope generation denied: a policy scoped to namespace "{namespace}" '
                    f"cannot generate cluster-scoped resource {key.api_version}/{key.kind}"
                )
            target = ""
        meta = metadata(obj)
        marks = {**labels(obj), **self._marks}
        if text_field(meta, "resourceVersion"):
            marks[f"{LABEL}source-uid"] = text_field(meta, "uid")
        fields = {**_OF_SERVER, "labels": marks, "namespace": target or None}
        if key.namespace and key.namespace != target:
            fields["ownerReferences"] = None
        return with_metadata(obj, fields)

    def _is_own(self, live: Json) -> bool:
        names = (*MANAGED, f"{LABEL}policy-name", f"{LABEL}trigger-uid")
        marks = labels(live)
        return all(marks.get(name, "") == self._marks[name] for name in names)

    def _update(self, wanted: Json, live: Json) -> ApiResponse:
        client = self._client("synchronize")
        if generating_facts(self._cause.policy).applies_server_side:
            applied = merge_patch(live, wanted)
            return client.send(
                ApiRequest(Operation.UPDATE, object_key(live), BACKGROUND, applied, patch="apply")
            )
        meta = metadata(live)
        same = {name: meta.get(name) for name in ("uid", "resourceVersion")}
        return client.update(with_metadata(wanted, same))

    def _client(self, action: str) -> Client:
        return self._parts.client(BACKGROUND, Purpose(action, (self._cause.policy.key,)))

    def _keep(self, response: ApiResponse, key: ObjectKey) -> None:
        if response.error is not None:
            self._fail(response.error, key)
        self.written.append(response.object)

    def _fail(self, error: ApiError, key: ObjectKey) -> None:
        self.obstacle = obstacle_of(error, key)
        raise ValueError(error.message)
