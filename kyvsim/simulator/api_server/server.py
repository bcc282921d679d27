"""The processing of a request in the API server: routing, admission, storage; subresources."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import NamedTuple

from kyvsim.kubernetes.defaults import CONTAINERS, with_defaults
from kyvsim.kubernetes.discovery import is_builtin
from kyvsim.kubernetes.objects import (
    Json,
    KubernetesObject,
    ObjectKey,
    entries,
    labels,
    metadata,
    object_key,
    text_field,
)
from kyvsim.kubernetes.quantities import with_whole_numbers
from kyvsim.model.ports import fault_text
from kyvsim.model.request import Operation, UserInfo
from kyvsim.model.simulation import FailureCause
from kyvsim.patch.json_patch import merge_patch
from kyvsim.simulator.api_server import errors
from kyvsim.simulator.api_server.metadata import (
    Identities,
    as_successor,
    has_status,
    is_being_deleted,
    is_held,
    is_terminating,
    marked_for_deletion,
    with_generation,
    with_metadata,
)
from kyvsim.simulator.api_server.request import (
    ApiError,
    ApiRequest,
    ApiResponse,
    Mutate,
    Purpose,
    Review,
    Webhook,
)
from kyvsim.simulator.api_server.store import ObjectStore
from kyvsim.simulator.api_server.validation import (
    as_defined,
    refuse_change,
    refuse_schema_errors,
    refuse_unreadable,
)
from kyvsim.simulator.scheduler import VirtualClock

# Subresources: parts of an object that are read and written separately.
# Source of the rules: k8s.io/kubernetes pkg/registry (core/pod/storage, apps/*/storage,
# core/namespace/storage).

_SIZES = ("resources", "resizePolicy")


def scale_of(obj: KubernetesObject) -> KubernetesObject:
    """Return the Scale of an object: its desired and current number of replicas."""
    meta = metadata(obj)
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    selector = (spec.get("selector") or {}).get("matchLabels") or {}
    selecting = {"selector": ",".join(f"{key}={value}" for key, value in sorted(selector.items()))}
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {name: meta[name] for name in kept if name in meta},
        "spec": {"replicas": spec.get("replicas", 1)},
        "status": {"replicas": status.get("replicas", 0), **(selecting if selector else {})},
    }


def _as_sent(subresource: str, sent: KubernetesObject, old: KubernetesObject) -> KubernetesObject:
    """Return an update of a subresource without the fields that it cannot change."""
    if subresource == "scale":
        shown = scale_of(old)
        return {**shown, "spec": {**shown["spec"], **(sent.get("spec") or {})}}
    if subresource == "status":
        return {**old, "status": sent.get("status")}
    if subresource == "finalize":
        finalizers = (sent.get("spec") or {}).get("finalizers")
        return {**old, "spec": {**(old.get("spec") or {}), "finalizers": finalizers or []}}
    if subresource == "resize":
        # A Pod with the container resources that were sent; other fields are ignored.
        spec = dict(old.get("spec") or {})
        for field in CONTAINERS[:2]:
            sizes = {
                one.get("name"): {name: one[name] for name in _SIZES if name in one}
                for one in (sent.get("spec") or {}).get(field) or ()
            }
            if field in spec:
                spec[field] = [{**one, **sizes.get(one.get("name"), {})} for one in spec[field]]
        return with_defaults({**old, "spec": spec})
    if subresource == "ephemeralcontainers":
        added = (sent.get("spec") or {}).get("ephemeralContainers") or []
        spec = {**(old.get("spec") or {}), "ephemeralContainers": added}
        return with_defaults({**old, "spec": spec})
    return old


def _as_stored(
    subresource: str, shown: KubernetesObject, now: KubernetesObject
) -> KubernetesObject:
    """Return the whole object after a write of a subresource."""
    if subresource == "scale":
        replicas = (shown.get("spec") or {}).get("replicas", 0)
        return with_generation({**now, "spec": {**now["spec"], "replicas": replicas}}, now)
    if subresource == "binding":
        node = (shown.get("target") or {}).get("name", "")
        return {**now, "spec": {**now["spec"], "nodeName": node}}
    if subresource in {"ephemeralcontainers", "resize"}:
        return with_generation(shown, now)
    # A token, an approval: returned, not stored.
    return shown if object_key(shown)[:2] == object_key(now)[:2] else now


def eviction_request(key: ObjectKey, user: UserInfo) -> ApiRequest:
    """Return the request to evict a Pod, which deletes it unless the request is denied."""
    sent = {"apiVersion": "policy/v1", "kind": "Eviction"}
    sent = with_metadata(sent, {"name": key.name, "namespace": key.namespace})
    return ApiRequest(Operation.CREATE, key, user, sent, "eviction")


def scale_request(obj: KubernetesObject, replicas: int, user: UserInfo) -> ApiRequest:
    """Return the request to change the number of replicas of an object."""
    sent = {**scale_of(obj), "spec": {"replicas": replicas}}
    return ApiRequest(Operation.UPDATE, object_key(obj), user, sent, "scale", patch="merge")


def exec_request(
    key: ObjectKey, user: UserInfo, command: tuple[str, ...], container: str = ""
) -> ApiRequest:
    """Return the request to run a command in a Pod's container."""
    streams = dict.fromkeys(("stdin", "stdout", "stderr", "tty"), True)
    sent = {"apiVersion": "v1", "kind": "PodExecOptions", **streams, "command": list(command)}
    sent |= {"container": container} if container else {}
    return ApiRequest(Operation.CONNECT, key, user, sent, "exec")


def _placed(request: ApiRequest, store: ObjectStore) -> ApiRequest:
    """Return a request with the namespace of its path: cluster-scoped objects have none.

    upstream: k8s.io/apiserver pkg/registry/rest/meta.go
    """
    key, obj = request.key, request.object
    if not key.namespace or store.is_namespaced(key.api_version, key.kind):
        return request
    if obj is not None and not request.subresource:
        obj = with_metadata(obj, {"namespace": None})
    return replace(request, key=key._replace(namespace=""), object=obj)


def _place_problem(request: ApiRequest, store: ObjectStore) -> ApiError | None:
    """Return why no object can exist at the place of a request, or None.

    upstream: the NamespaceLifecycle plugin, k8s.io/apiserver pkg/admission/plugin/namespace.
    """
    key = request.key
    is_known = is_builtin(key.group, key.kind) or (key.group, key.kind) in store.defined
    if not (key.api_version and is_known):
        return errors.no_match(key)
    if not store.is_namespaced(key.api_version, key.kind):
        return None
    if request.operation is not Operation.CREATE or request.subresource:
        return None
    namespace = store.get("v1", "Namespace", "", key.namespace)
    if namespace is None:
        place = ObjectKey("v1", "Namespace", "", key.namespace)
        return errors.not_found(place, store.defined)._replace(why=FailureCause.NO_NAMESPACE)
    if is_terminating(namespace):
        what = f"unable to create new content in namespace {key.namespace}"
        why = f"{what} because it is being terminated"
        return errors.forbidden(key, store.defined, why)._replace(why=FailureCause.NAMESPACE_GOES)
    return None


# What an API server adds to a new object, once it has a uid.
#
# It happens after mutating webhooks and before validating ones. Source of the rules:
# k8s.io/kubernetes pkg/registry/*/*/strategy.go (PrepareForCreate), pkg/registry/core/service.


def _new(obj: KubernetesObject, store: ObjectStore) -> KubernetesObject:
    """Return a new object with the fields that the server sets for its kind."""
    spec, key = obj.get("spec"), object_key(obj)[:2]
    if spec.__class__ is not dict:
        return obj
    if key == ("v1", "Pod"):
        return {**obj, "status": {"phase": "Pending", "qosClass": qos_class(spec)}}
    if key == ("v1", "Service") and spec.get("type") != "ExternalName":
        return {**obj, "spec": _with_addresses(spec, store)}
    if key == ("batch/v1", "Job") and spec.get("manualSelector") is not True:
        # A Job has its own selector, and its template has the labels for it.
        uid, name = (obj["metadata"][field] for field in ("uid", "name"))
        template = spec.get("template") or {}
        own = {"controller-uid": uid, "job-name": name}
        marks = {f"batch.kubernetes.io/{name}": value for name, value in own.items()} | own
        marked = with_metadata(template, {"labels": {**labels(template), **marks}})
        selector = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
        return {**obj, "spec": {**spec, "selector": selector, "template": marked}}
    return obj


def qos_class(spec: Json) -> str:
    """Return the QoS class of a Pod."""
    limited, sized = True, False
    for container in (one for group in CONTAINERS[:2] for one in entries(spec, group)):
        resources = container.get("resources") or {}
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        for name in ("cpu", "memory"):
            limit = limits.get(name)
            sized = sized or name in limits or name in requests
            limited = limited and limit is not None and requests.get(name, limit) == limit
    if not sized:
        return "BestEffort"
    return "Guaranteed" if limited else "Burstable"


def _with_addresses(spec: Json, store: ObjectStore) -> Json:
    """Return the specification of a Service with unused addresses and ports."""
    services = [one.get("spec") or {} for one in store.list("v1", "Service", "")]
    if not spec.get("clusterIP"):
        taken = {one.get("clusterIP") for one in services}
        addresses = (f"10.96.{number >> 8}.{number & 255}" for number in range(10, 1 << 16))
        spec = {**spec, "clusterIP": next((one for one in addresses if one not in taken), "")}
    spec = {**spec, "clusterIPs": [spec["clusterIP"]]}
    if spec.get("type") not in {"NodePort", "LoadBalancer"}:
        return spec
    used = {port.get("nodePort") for one in services for port in entries(one, "ports")}
    ports = []
    for port in entries(spec, "ports"):
        free = (number for number in count(30000) if number not in used)
        number = port.get("nodePort") or next(free)
        used.add(number)
        ports.append({**port, "nodePort": number})
    return {**spec, "ports": ports}


# The processing of a request: routing, admission, storage.
#
# Mutating webhooks are called before names and uids are set, validating ones after; whether an
# object already exists is only checked at the end. Source of the rules: k8s.io/apiserver
# pkg/endpoints/handlers and pkg/registry/generic/registry/store.go.


class Admitted(NamedTuple):
    """A request that no webhook denied, and the object that it would store."""

    request: ApiRequest
    object: KubernetesObject | None
    old: KubernetesObject | None
    warnings: tuple[str, ...]


class ApiServer:
    """Processes requests; authorizers, webhooks and observers are registered."""

    def __init__(self, store: ObjectStore, clock: VirtualClock, identities: Identities) -> None:
        self.store = store
        self.clock = clock
        self.identities = identities
        self.webhooks: list[Webhook] = []
        self.policies: list[Webhook] = []
        """Called before webhooks, which do not get requests that these reject."""
        self.plugins: list[Callable[[Review], KubernetesObject | ApiError | None]] = []
        """Change or reject an object before any webhook is called."""
        self.validators: list[Callable[[Review], ApiError | None]] = []
        """Return the error of an object as it would be stored, or None."""
        self.authorizers: list[Callable[[ApiRequest], ApiError | None]] = []
        self.deprecation: Callable[[str, str], str] = lambda _api_version, _kind: ""
        """Returns the warning about a requested kind, "" for none."""
        self.observers: list[
            Callable[[ApiRequest, ApiResponse, KubernetesObject | None], None]
        ] = []

    def perform(self, request: ApiRequest) -> ApiResponse:
        """Admit and store a request in one step."""
        admitted = self.admit(request)
        return admitted if isinstance(admitted, ApiResponse) else self.persist(admitted)

    def admit(self, request: ApiRequest) -> Admitted | ApiResponse:
        """Return the request with the object that it would store, or why it is rejected."""
        request = _placed(request, self.store)
        old = self.store.get(*request.key) if request.key.name else None
        try:
            refusals = (authorize(request) for authorize in self.authorizers)
            problem = next((one for one in refusals if one is not None), None)
            if problem is not None:
                return self._refuse(request, problem, (), old)
            text = self.deprecation(*request.key[:2])
            warnings = [text] if text else []
            problem = _place_problem(request, self.store)
            creates = request.operation is Operation.CREATE and not request.subresource
            if problem is None and old is None and not creates:
                problem = errors.not_found(request.key, self.store.defined)
            deleted = old if request.operation is Operation.DELETE else None
            if deleted is not None and is_being_deleted(deleted, request.grace_period):
                return self._answer(request, ApiResponse(old, tuple(warnings)), old)
            if problem is None:
                return self._through_webhooks(request, old, warnings)
            return self._refuse(request, problem, tuple(warnings), old)
        except Exception as error:  # noqa: BLE001 — INVARIANT: an error rejects the request
            problem = errors.internal(fault_text(error))
        return self._refuse(request, problem, (), old)

    def _through_webhooks(
        self, request: ApiRequest, old: KubernetesObject | None, warnings: list[str]
    ) -> Admitted | ApiResponse:
        """Admit a request; append to `warnings`."""
        obj = self._prepared(request, old)
        if isinstance(obj, ApiError):
            return self._refuse(request, obj, tuple(warnings), old)
        before = old if request.operation in {Operation.UPDATE, Operation.DELETE} else None
        if request.subresource == "scale" and before is not None:
            before = scale_of(before)
        uid = self.identities.uid("review", request.operation, *request.key)
        review = Review(request, uid, obj, before)
        for plugin in self.plugins:
            changed = plugin(review)
            if isinstance(changed, ApiError):
                return self._refuse(request, changed, tuple(warnings), old)
            review = review._replace(object=changed)
        refused, review = self._mutated(review, warnings)
        if refused is None:
            completed = self._completed(review)
            if completed is not review.object:
                review = review._replace(object=completed)
            refused = self._validated(review, warnings)
        if refused is not None:
            return self._refuse(request, refused, tuple(warnings), old)
        return Admitted(request, review.object, old, tuple(warnings))

    def _mutated(self, review: Review, warnings: list[str]) -> tuple[ApiError | None, Review]:
        """Return why a request is rejected, or its review after all mutations.

        Policies that require reinvocation are called a second time, and webhooks that require it if
        that changed the object.
        """
        seconds: list[list[Mutate]] = []
        for webhooks in (self.policies, self.webhooks):
            first = [one.mutate for one in webhooks]
            refused, review, again = self._called(first, review, warnings)
            if refused is not None:
                return refused, review
            seconds.append(again)
        settled = review.object
        for mutators in seconds if seconds[0] else ():
            if mutators is seconds[1] and review.object == settled:
                break
            refused, review, _ = self._called(mutators, review, warnings)
            if refused is not None:
                return refused, review
        return None, review

    def _called(
        self, mutators: Iterable[Mutate], review: Review, warnings: list[str]
    ) -> tuple[ApiError | None, Review, list[Mutate]]:
        """Return a denial, or the changed review and the webhooks to call again."""
        again: list[Mutate] = []
        for mutate in mutators:
            answer = mutate(review)
            warnings += answer.warnings
            if answer.denied is not None:
                return answer.denied, review, again
            if answer.object is not None:
                unread = refuse_change(answer.object)
                if unread is not None:
                    return unread, review, again
                review = review._replace(object=self._complete(answer.object))
            again += [answer.again] if answer.again else []
        return None, review, again

    def _validated(self, review: Review, warnings: list[str]) -> ApiError | None:
        """Return why a request is rejected, or None."""
        problems = (validator(review) for validator in self.validators)
        problem = next((one for one in problems if one is not None), None)
        problem = problem or refuse_schema_errors(review, self.store)
        for webhooks in (self.policies, self.webhooks):
            # All webhooks of one kind are called, even if one denies.
            for webhook in () if problem else webhooks:
                answer = webhook.validate(review)
                warnings += answer.warnings
                problem = problem or answer.denied
        return problem

    def _prepared(
        self, request: ApiRequest, old: KubernetesObject | None
    ) -> KubernetesObject | ApiError | None:
        """Return the object with defaults, and without fields that this request cannot set."""
        obj: KubernetesObject | None = with_whole_numbers(request.object)
        if obj is None or (request.subresource and request.operation is not Operation.UPDATE):
            return obj
        unread = None if request.subresource else refuse_unreadable(obj)
        if unread is not None:
            return unread
        if not request.subresource and has_status(request.key, self.store):
            obj = {name: value for name, value in obj.items() if name != "status"}
            if old is not None and "status" in old and request.operation is not Operation.CREATE:
                obj["status"] = old["status"]
        if old is None or request.operation is Operation.CREATE:
            obj = with_metadata(obj, {"uid": None, "resourceVersion": None})
            return as_defined(with_defaults(obj), self.store)
        version = text_field(metadata(obj), "resourceVersion")
        if version and version != metadata(old)["resourceVersion"]:
            return errors.conflict(request.key, self.store.defined)
        if request.subresource:
            return as_defined(_as_sent(request.subresource, obj, old), self.store)
        return self._complete(as_successor(obj, old))

    def _complete(self, obj: KubernetesObject) -> KubernetesObject:
        return as_defined(with_defaults(with_whole_numbers(obj)), self.store)

    def _completed(self, review: Review) -> KubernetesObject | None:
        """Return the object with the fields that the server sets before validation."""
        obj, request = review.object, review.request
        if obj is None or request.subresource:
            return obj
        if request.operation is not Operation.CREATE:
            return with_generation(obj, review.old or {})
        base, name = (text_field(metadata(obj), field) for field in ("generateName", "name"))
        if base and not name:
            _, kind, namespace, _ = request.key
            name = self.identities.generated_name(base, kind, namespace)
        filled = {
            "name": name,
            "uid": self.identities.uid(*request.key[:3], name),
            "creationTimestamp": self.clock.stamp(),
            "generation": 1,
        }
        return _new(with_metadata(obj, filled), self.store)

    def persist(self, admitted: Admitted) -> ApiResponse:
        """Store the admitted object, unless another write was faster."""
        request, obj, old, warnings = admitted
        if request.operation is Operation.CONNECT:
            return self._answer(request, ApiResponse(obj, warnings), old)
        key = object_key(obj) if obj is not None and not request.subresource else request.key
        now = self.store.get(*key)
        creates = request.operation is Operation.CREATE and not request.subresource
        if creates is (now is not None):
            refuse = errors.already_exists if creates else errors.not_found
            return self._refuse(request, refuse(key, self.store.defined), warnings)
        if request.operation is Operation.DELETE or request.subresource == "eviction":
            return self._delete(request, now or {}, warnings)
        obj = obj or {}
        version = metadata(now).get("resourceVersion")
        if now is not None and old is not None and version != metadata(old).get("resourceVersion"):
            return self._refuse(request, errors.conflict(key, self.store.defined), warnings, now)
        if request.subresource:
            obj = _as_stored(request.subresource, obj, now or {})
        if request.dry_run or obj == now:
            return self._answer(request, ApiResponse(obj, warnings), now)
        if now is not None and is_terminating(now) and not is_held(obj):
            self.store.remove(obj)
        else:
            obj = self.store.put(obj)
        return self._answer(request, ApiResponse(obj, warnings, changed=True), now)

    def _delete(
        self, request: ApiRequest, now: KubernetesObject, warnings: tuple[str, ...]
    ) -> ApiResponse:
        left = marked_for_deletion(now, self.clock, request.propagation, request.grace_period)
        if request.dry_run or left is now:
            return self._answer(request, ApiResponse(now, warnings), now)
        if is_held(left):
            left = self.store.put(left)
        else:
            self.store.remove(now)
            left = now
        return self._answer(request, ApiResponse(left, warnings, changed=True), now)

    def _refuse(
        self,
        request: ApiRequest,
        problem: ApiError,
        warnings: tuple[str, ...],
        old: KubernetesObject | None = None,
    ) -> ApiResponse:
        return self._answer(request, ApiResponse(None, warnings, problem), old)

    def _answer(
        self, request: ApiRequest, response: ApiResponse, old: KubernetesObject | None
    ) -> ApiResponse:
        # An API server sends each text once.
        response = response._replace(warnings=tuple(dict.fromkeys(response.warnings)))
        for observer in self.observers:
            observer(request, response, old)
        return response


ADMIN = UserInfo("kubernetes-admin", groups=("kubeadm:cluster-admins", "system:authenticated"))
"""The user of requests unless another one is given."""


class Client:
    """Sends the requests of one user for one purpose; each is processed in one step."""

    def __init__(self, server: ApiServer, user: UserInfo, purpose: Purpose | None = None) -> None:
        self._server = server
        self._purpose = purpose
        self.user = user

    def get(
        self, api_version: str, kind: str, namespace: str, name: str
    ) -> KubernetesObject | None:
        """Return the object, or None."""
        return self._server.store.get(api_version, kind, namespace, name)

    def list(self, api_version: str, kind: str, namespace: str = "") -> Sequence[KubernetesObject]:
        """Return the objects of a kind in a namespace ("" for all)."""
        return self._server.store.list(api_version, kind, namespace)

    def create(self, obj: KubernetesObject, *, dry_run: bool = False) -> ApiResponse:
        """Create an object."""
        key = object_key(obj)
        return self.send(ApiRequest(Operation.CREATE, key, self.user, obj, dry_run=dry_run))

    def update(self, obj: KubernetesObject, subresource: str = "") -> ApiResponse:
        """Replace an existing object."""
        key = object_key(obj)
        return self.send(ApiRequest(Operation.UPDATE, key, self.user, obj, subresource))

    def merge(
        self,
        key: ObjectKey,
        patch: Mapping[str, Json],
        subresource: str = "",
        *,
        dry_run: bool = False,
    ) -> ApiResponse:
        """Change an existing object by a merge patch (RFC 7386)."""
        now = self.get(*key)
        if now is None:
            return ApiResponse(error=errors.not_found(key, self._server.store.defined))
        merged = merge_patch(now, patch)
        request = ApiRequest(Operation.UPDATE, key, self.user, merged, subresource, patch="merge")
        return self.send(replace(request, dry_run=dry_run))

    def delete(
        self, key: ObjectKey, propagation: str = "Background", grace_period: int | None = None
    ) -> ApiResponse:
        """Delete an object; a Pod gets `grace_period` seconds to end [default: its own]."""
        request = ApiRequest(Operation.DELETE, key, self.user, propagation=propagation)
        return self.send(replace(request, grace_period=grace_period))

    def send(self, request: ApiRequest) -> ApiResponse:
        """Send a request of any kind, as this user and for the client's purpose."""
        return self._server.perform(replace(request, user=self.user, purpose=self._purpose))
