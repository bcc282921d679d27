"""The objects of a kind that flags choose: by namespace, by labels."""

from kyvsim.chainsaw.ending import UnsupportedError
from kyvsim.chainsaw.kubectl.call import Call
from kyvsim.chainsaw.kubectl.kinds import NamedKind
from kyvsim.chainsaw.unsupported import require_written
from kyvsim.kubernetes.objects import Json, ObjectKey, labels


def chosen(call: Call, kind: NamedKind) -> list[Json]:
    """Return the objects of a kind that `--namespace`, `-A` and `--selector` choose."""
    everywhere = call.invocation.holds("all-namespaces")
    namespace = "" if everywhere else call.key(kind, "").namespace
    wanted = [_equality(one) for one in call.invocation.values("selector")]
    found = [
        one
        for one in call.client.list(kind.api_version, kind.kind, namespace)
        if all((labels(one).get(key) == value) is same for key, value, same in wanted)
    ]
    if not found:
        require_written(ObjectKey(*kind, namespace, ""), call.store)
    return found


def _equality(text: str) -> tuple[str, str, bool]:
    for operator, same in (("!=", False), ("==", True), ("=", True)):
        key, found, value = text.partition(operator)
        if found:
            return key, value, same
    raise UnsupportedError(f"the selector `{text}` of kubectl")
