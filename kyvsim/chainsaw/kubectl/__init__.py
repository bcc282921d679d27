"""kubectl, in this process: its commands on the simulated cluster."""

from collections.abc import Callable, Mapping

from kyvsim.chainsaw.environment import Result, ShellEnvironment, error_output
from kyvsim.chainsaw.errors import UnsupportedError
from kyvsim.chainsaw.kubectl import pods, read, write
from kyvsim.chainsaw.kubectl.call import KubectlCall, KubectlError, read_arguments

_START = 0.25
"""Seconds that kubectl takes to start and for discovery."""

_ALWAYS = frozenset({"as", "as-group", "as-uid", "namespace", "request-timeout"})
"""Flags of every command."""
_PLACES = ("all-namespaces", "selector")
_DELETING = (
    *("all", "cascade", "filename", "force", "grace-period"),
    *("ignore-not-found", "now", "timeout", "wait"),
)
_MARKING = ("all", "field-manager", "overwrite", *_PLACES)
_TERMINAL = ("container", "quiet", "stdin", "tty")

COMMANDS: Mapping[str, tuple[Callable[[KubectlCall], Result], tuple[str, ...]]] = {
    "apply": (write.apply, ("dry-run", "field-manager", "filename", "server-side")),
    "create": (write.create, ("dry-run", "field-manager", "filename", *write.FLAGS)),
    "replace": (write.replace, ("field-manager", "filename")),
    "delete": (write.delete, (*_DELETING, *_PLACES)),
    "get": (read.get, ("ignore-not-found", "no-headers", "output", *_PLACES)),
    "patch": (write.run_patch, ("field-manager", "patch", "patch-file", "subresource", "type")),
    "label": (lambda call: write.mark(call, "labels", "labeled"), _MARKING),
    "annotate": (lambda call: write.mark(call, "annotations", "annotated"), _MARKING),
    "scale": (write.run_scale, ("replicas",)),
    "run": (pods.run, ("command", "dry-run", "image", "labels", "restart", *_TERMINAL)),
    "exec": (pods.execute, _TERMINAL),
    "debug": (pods.debug, ("image", "profile", "target", *_TERMINAL)),
    "evict": (pods.evict, ()),
    "rollout": (pods.rollout, ("timeout", *_PLACES)),
    "wait": (read.wait, ("all", "for", "timeout", *_PLACES)),
}
"""The supported commands, with their flags besides `_ALWAYS`."""


def kubectl(arguments: tuple[str, ...], stdin: str, environment: ShellEnvironment) -> Result:
    """Run kubectl; raise UnsupportedError for features that are not simulated."""
    invocation = read_arguments(arguments)
    name = invocation.words[0] if invocation.words else ""
    if "kubeconfig" in invocation.flags or "context" in invocation.flags:
        raise UnsupportedError("kubectl with another configuration")
    call = KubectlCall(invocation._replace(words=invocation.words[1:]), stdin, environment)
    if name not in COMMANDS:
        raise UnsupportedError(f"`kubectl {name}`")
    run, flags = COMMANDS[name]
    for flag in invocation.flags:
        if flag not in _ALWAYS and flag not in flags:
            raise UnsupportedError(f"the flag `{flag}` of `kubectl {name}`")
    environment.session.wait(_START)
    try:
        return run(call)
    except KubectlError as error:
        return error_output(f"{error}\n")
