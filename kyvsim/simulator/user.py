"""What users of a cluster do: the steps of a scenario, one after the other."""

from collections.abc import Callable, Iterator, Sequence
from types import MappingProxyType

from kyvsim.kubernetes.discovery import lies_in_namespace, split_api_version
from kyvsim.kubernetes.objects import Json, ObjectKey, metadata, object_key, text_field
from kyvsim.model.request import Operation, UserInfo
from kyvsim.model.scenario import (
    OF_REQUESTS,
    Demand,
    Expected,
    ScenarioSettings,
    ScenarioStep,
    Verb,
)
from kyvsim.model.simulation import Reason
from kyvsim.patch.json_patch import apply_json_patch, merge_patch
from kyvsim.patch.nodes import PatchError
from kyvsim.simulator.api_server import ApiError, ApiRequest, ApiResponse
from kyvsim.simulator.api_server.errors import invalid
from kyvsim.simulator.api_server.metadata import with_metadata
from kyvsim.simulator.api_server.server import ADMIN, Admitted
from kyvsim.simulator.controllers import RESTARTS
from kyvsim.simulator.expectations import Expectations, Settled, told
from kyvsim.simulator.kyverno.installed import Kyverno
from kyvsim.simulator.latency import WEBHOOK
from kyvsim.simulator.parts import Parts

_ACTOR = "user"
_ATTEMPTS = 5
"""How often a request without a resourceVersion is tried where others were faster."""

_Build = Callable[[], ApiRequest | ApiError]


class UserSteps:
    """Plays steps; each begins some time after the one before has been answered."""

    def __init__(
        self, kyverno: Kyverno, expectations: Expectations, settings: ScenarioSettings
    ) -> None:
        self._kyverno = kyverno
        self._parts = kyverno.parts
        self._expectations = expectations
        self._pace = settings.pace
        self._storage = WEBHOOK + dict(settings.latency).get("storage", 0.0)
        self.finished = False
        self.unplayed: tuple[ScenarioStep, ...] = ()
        """The steps that have not come to their end."""

    def play(self, steps: Sequence[ScenarioStep]) -> None:
        """Schedule the first step; the others follow."""
        waiting, self.unplayed = iter(steps), tuple(steps)
        self._parts.scheduler.after(0, _ACTOR, lambda: self._begin(waiting))

    def _begin(self, waiting: Iterator[ScenarioStep]) -> None:
        step = next(waiting, None)
        if step is None:
            self.finished = True
            return
        later = self._parts.scheduler.after
        if step.verb is Verb.WAIT:
            self._open(step)
            seconds = step.seconds
            later(seconds, _ACTOR, lambda: self._begin(waiting), timer=True, fresh=True)
        elif step.verb is None or step.verb is Verb.RESTART:
            if step.verb is Verb.RESTART:
                RESTARTS[step.controller](self._kyverno)
            self._open(step)
            later(0, _ACTOR, lambda: self._begin(waiting))
        else:
            builds = list(requests_of(step, self._parts))
            if not builds:
                self._expectations.miss(_of_answers(step), "its step sends no request")
            self._send_each(step, iter(builds), waiting)

    def _open(self, step: ScenarioStep) -> None:
        """Watch for what a step expects of objects, now that its requests are answered."""
        self._expectations.open(one for one in step.expected if one.demand not in OF_REQUESTS)
        self.unplayed = self.unplayed[1:]

    def _send_each(
        self, step: ScenarioStep, builds: Iterator[_Build], waiting: Iterator[ScenarioStep]
    ) -> None:
        build = next(builds, None)
        if build is None:
            self._open(step)
            after = self._parts.scheduler.after
            after(self._pace, _ACTOR, lambda: self._begin(waiting), fresh=True)
            return

        def answered(request: ApiRequest | None, response: ApiResponse) -> None:
            self._judge(step, request, response)
            self._send_each(step, builds, waiting)

        self._send(build, answered, _ATTEMPTS)

    def _send(
        self,
        build: _Build,
        answered: Callable[[ApiRequest | None, ApiResponse], None],
        attempts: int,
    ) -> None:
        def admit() -> None:
            request = build()
            if isinstance(request, ApiError):
                answered(None, ApiResponse(error=request))
                return
            admitted = self._parts.server.admit(request)
            if isinstance(admitted, Admitted):
                later = self._parts.scheduler.after
                later(self._storage, _ACTOR, lambda: store(request, admitted))
            else:
                answered(request, admitted)

        def store(request: ApiRequest, admitted: Admitted) -> None:
            response = self._parts.server.persist(admitted)
            error = response.error
            if error is not None and error.reason == "Conflict" and attempts > 1:
                self._send(build, answered, attempts - 1)
            else:
                answered(request, response)

        # A request that is sent again follows from what became of it before.
        self._parts.scheduler.after(WEBHOOK, _ACTOR, admit, fresh=attempts == _ATTEMPTS)

    def _judge(self, step: ScenarioStep, request: ApiRequest | None, response: ApiResponse) -> None:
        """Note whether a request was answered as its step expects."""
        now, said = self._parts.clock.elapsed, response.error.message if response.error else ""
        asked = _of_answers(step)
        for entry in asked:
            met = _answers(entry, response)
            reason = "" if met else _other_answer(entry, response)
            self._expectations.answer(told(entry), entry.location, Settled(met, now, reason))
        denial_expected = any(one.demand is Demand.DENIED for one in asked)
        if said and not denial_expected and not (step.lenient and _is_denied(response)):
            text = f"granted: {_described(step, request)}"
            reason = f"{said}{_hint(response)}"
            self._expectations.answer(text, step.location, Settled(False, now, reason))


def _of_answers(step: ScenarioStep) -> list[Expected]:
    return [one for one in step.expected if one.demand in OF_REQUESTS]


def _is_denied(response: ApiResponse) -> bool:
    """Return whether a policy has refused a request, Kyverno's or the API server's own."""
    return response.error is not None and response.error.why is Reason.DENIED


def _hint(response: ApiResponse) -> str:
    unknown = response.error is not None and response.error.reason == "NoKindMatch"
    return "; put its CustomResourceDefinition in first (--object)" if unknown else ""


def requests_of(step: ScenarioStep, parts: Parts) -> Iterator[_Build]:
    """Yield what builds each request of a step, at the moment at which it is sent."""
    user = step.user or ADMIN
    if step.target is not None:
        yield lambda: _patching(step, user, parts)
    for document in step.objects:
        obj = placed(document.data, parts)
        build = _BUILDERS[step.verb or Verb.CREATE]
        yield lambda obj=obj, build=build: build(obj, user, parts)  # type: ignore[misc]


def placed(obj: Json, parts: Parts) -> Json:
    """Return an object with the namespace that it is put into: the default one where it names none.

    What has a cluster-scoped kind is put into none, whatever it says.
    """
    key = object_key(obj)
    group = split_api_version(key.api_version)[0]
    if not lies_in_namespace(group, key.kind, parts.store.defined):
        return with_metadata(obj, {"namespace": None}) if key.namespace else obj
    return obj if key.namespace else with_metadata(obj, {"namespace": "default"})


def _creating(obj: Json, user: UserInfo, parts: Parts) -> ApiRequest:
    del parts
    return ApiRequest(Operation.CREATE, object_key(obj), user, obj)


def _updating(obj: Json, user: UserInfo, parts: Parts) -> ApiRequest:
    del parts
    return ApiRequest(Operation.UPDATE, object_key(obj), user, obj)


def _applying(obj: Json, user: UserInfo, parts: Parts) -> ApiRequest:
    """Return a creation, or the change of what is there by all that is written."""
    key = object_key(obj)
    now = parts.store.get(*key) if key.name else None
    if now is None:
        return _creating(obj, user, parts)
    return ApiRequest(Operation.UPDATE, key, user, merge_patch(now, obj), patch="apply")


def _deleting(obj: Json, user: UserInfo, parts: Parts) -> ApiRequest:
    del parts
    return ApiRequest(Operation.DELETE, object_key(obj), user)


_BUILDERS = MappingProxyType(
    {
        Verb.CREATE: _creating,
        Verb.UPDATE: _updating,
        Verb.APPLY: _applying,
        Verb.DELETE: _deleting,
    }
)


def _patching(step: ScenarioStep, user: UserInfo, parts: Parts) -> ApiRequest | ApiError:
    target, patch = step.target, step.patch
    assert target is not None  # noqa: S101 — a step that patches names what
    assert patch is not None  # noqa: S101 — and how
    key = object_key(placed(_named(target), parts))
    now = parts.store.get(*key)
    try:
        changed = now if now is None else _PATCHES[patch.form](now, patch.body)
    except PatchError as error:
        return invalid(key, error.message)
    return ApiRequest(
        Operation.UPDATE, key, user, changed, subresource=patch.subresource, patch=patch.form
    )


_PATCHES = MappingProxyType({"merge": merge_patch, "json": apply_json_patch})


def _named(key: ObjectKey) -> Json:
    meta = {"name": key.name, **({"namespace": key.namespace} if key.namespace else {})}
    return {"apiVersion": key.api_version, "kind": key.kind, "metadata": meta}


def _answers(entry: Expected, response: ApiResponse) -> bool:
    if entry.demand is Demand.DENIED:
        return response.error is not None and _contains(response.error.message, entry.wanted)
    return any(_contains(warning, entry.wanted) for warning in response.warnings)


def _other_answer(entry: Expected, response: ApiResponse) -> str:
    if entry.demand is Demand.DENIED:
        return response.error.message if response.error else "the request was granted"
    return "; ".join(response.warnings) or "there was no warning"


def _contains(text: str, wanted: str) -> bool:
    """Return whether a text contains another one, however both are broken into lines."""
    return " ".join(wanted.split()) in " ".join(text.split())


def _described(step: ScenarioStep, request: ApiRequest | None) -> str:
    key = step.target or (request.key if request else None)
    if key is None:
        return str(step.verb)
    place = "/".join(filter(None, (key.namespace, key.name or _base(request))))
    return f"{step.verb} {key.kind} {place}".strip()


def _base(request: ApiRequest | None) -> str:
    return text_field(metadata(request.object), "generateName") if request else ""
