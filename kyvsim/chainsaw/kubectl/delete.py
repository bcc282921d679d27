"""`kubectl delete`: objects by name, by labels, of files; gone when it ends."""

from kyvsim.chainsaw.kubectl.call import Call, failure, named_objects, together
from kyvsim.chainsaw.kubectl.files import from_files
from kyvsim.chainsaw.kubectl.kinds import shown_kind
from kyvsim.chainsaw.kubectl.pods import restarted
from kyvsim.chainsaw.kubectl.selecting import chosen
from kyvsim.chainsaw.streams import STDERR, STDOUT, Printed, Result, complaint
from kyvsim.kubernetes.objects import ObjectKey, metadata, object_key
from kyvsim.simulator.api_server import errors

_LONGEST = "10m"
_PROPAGATION = (("orphan", "Orphan"), ("foreground", "Foreground"))


def run(call: Call) -> Result:
    """Delete what is named; wait for it unless told otherwise."""
    own = restarted(call)
    if own is not None:
        return own
    given = call.invocation
    if "filename" in given.flags:
        keys = [object_key(obj) for _, obj in from_files(call)]
    else:
        keys = []
        for kind, name in named_objects(call, given.words):
            if name:
                keys.append(call.key(kind, name))
            elif given.holds("all") or "selector" in given.flags:
                keys += [object_key(one) for one in chosen(call, kind)]
            else:
                return complaint("error: resource(s) were provided, but no name was specified\n")
    if not keys and "filename" not in given.flags:
        return Result(0, (Printed(STDOUT, "No resources found\n"),))
    return together([_delete(call, key) for key in keys])


def _delete(call: Call, key: ObjectKey) -> Result:
    before = call.there(key)
    if before is None:
        if call.invocation.holds("ignore-not-found"):
            return Result()
        return Result(1, (failure(errors.not_found(key, call.store.defined)),))
    cascade = call.invocation.value("cascade", "background")
    response = call.client.delete(key, dict(_PROPAGATION).get(cascade, "Background"))
    warnings = [Printed(STDERR, f"Warning: {one}\n") for one in response.warnings]
    if response.error is not None:
        return Result(1, (*warnings, failure(response.error)))
    where = f" from {key.namespace} namespace" if key.namespace else ""
    done = f'{shown_kind(key.api_version, key.kind)} "{key.name}" deleted{where}\n'
    printed = (*warnings, Printed(STDOUT, done))
    if not call.invocation.holds("wait", default=True):
        return Result(0, printed)
    uid = metadata(before).get("uid")

    def gone() -> bool:
        now = call.client.get(*key)
        return now is None or metadata(now).get("uid") != uid

    limit = call.seconds("timeout", _LONGEST)
    if call.surroundings.situation.session.wait_until(gone, limit):
        return Result(0, printed)
    late = f"error: timed out waiting for the condition on {key.kind.lower()}s/{key.name}\n"
    return Result(1, (*printed, Printed(STDERR, late)))
