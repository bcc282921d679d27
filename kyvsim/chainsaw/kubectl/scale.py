"""`kubectl scale`: another number of replicas."""

from kyvsim.chainsaw.kubectl.call import (
    Call,
    KubectlError,
    answer,
    failure,
    named_objects,
    together,
)
from kyvsim.chainsaw.kubectl.kinds import shown_kind
from kyvsim.chainsaw.streams import Result
from kyvsim.kube.objects import ObjectKey
from kyvsim.sim.server import errors
from kyvsim.sim.server.subresources import scale_request


def run(call: Call) -> Result:
    """Scale what is named."""
    replicas = call.whole_number("replicas", "-1")
    if replicas < 0:
        raise KubectlError("error: The --replicas=COUNT flag is required, and COUNT must be >= 0")
    named = named_objects(call, call.invocation.words)
    return together([_scale(call, call.key(*one), replicas) for one in named])


def _scale(call: Call, key: ObjectKey, replicas: int) -> Result:
    now = call.there(key)
    if now is None:
        return Result(1, (failure(errors.not_found(key, call.store.defined)),))
    response = call.client.send(scale_request(now, replicas, call.user))
    return answer(response, f"{shown_kind(key.api_version, key.kind)}/{key.name} scaled")
