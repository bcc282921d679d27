"""The objects of `--filename`, each with the name of its file."""

from kyvsim.chainsaw.kubectl.call import Call, KubectlError
from kyvsim.chainsaw.reach import require_simulated
from kyvsim.kube.objects import Json, object_key


def from_files(call: Call) -> list[tuple[str, Json]]:
    """Return the objects of the files given; raise KubectlError where one cannot be read."""
    found: list[tuple[str, Json]] = []
    for name in call.invocation.values("filename"):
        objects, why = call.surroundings.objects(name, call.stdin)
        if why:
            raise KubectlError(f"error: {why}")
        for obj in objects:
            require_simulated(object_key(obj))
            found.append(("STDIN" if name == "-" else name, call.placed(obj)))
    if not found:
        raise KubectlError("error: must specify one of -f and -k")
    return found
