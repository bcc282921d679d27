"""kubectl, in this process: its commands on the simulated cluster."""

from collections.abc import Callable
from typing import NamedTuple

from kyvsim.chainsaw.environment import Result, Surroundings, complaint
from kyvsim.chainsaw.errors import UnsupportedError
from kyvsim.chainsaw.kubectl import pods, read, write
from kyvsim.chainsaw.kubectl.call import Call, KubectlError, read_arguments

# The program kubectl: finds the command, and runs it on the cluster.

_START = 0.25
"""Seconds that the program takes to start and to learn what the cluster serves."""


_ALWAYS = frozenset({"as", "as-group", "as-uid", "namespace", "request-timeout"})
"""Flags that every command knows."""
_PLACES = ("all-namespaces", "selector")
_DELETING = (
    *("all", "cascade", "filename", "force", "grace-period"),
    *("ignore-not-found", "now", "timeout", "wait"),
)
_TERMINAL = ("container", "quiet", "stdin", "tty")


class Verb(NamedTuple):
    """A command of kubectl."""

    name: str
    run: Callable[[Call], Result]
    flags: tuple[str, ...]
    """The flags that it heeds beside those that every command knows."""


VERBS: tuple[Verb, ...] = (
    Verb("apply", write.apply, ("dry-run", "field-manager", "filename", "server-side")),
    Verb("create", write.create, ("dry-run", "field-manager", "filename", *write.FLAGS)),
    Verb("replace", write.replace, ("field-manager", "filename")),
    Verb(
        "delete",
        write.delete,
        (*_DELETING, *_PLACES),
    ),
    Verb("get", read.get, ("ignore-not-found", "no-headers", "output", *_PLACES)),
    Verb("patch", write.run_patch, ("field-manager", "patch", "patch-file", "subresource", "type")),
    Verb("label", write.label, ("all", "field-manager", "overwrite", *_PLACES)),
    Verb("annotate", write.annotate, ("all", "field-manager", "overwrite", *_PLACES)),
    Verb("scale", write.run_scale, ("replicas",)),
    Verb("run", pods.run, ("command", "dry-run", "image", "labels", "restart", *_TERMINAL)),
    Verb("exec", pods.execute, _TERMINAL),
    Verb("debug", pods.debug, ("image", "profile", "target", *_TERMINAL)),
    Verb("evict", pods.evict, ()),
    Verb("wait", read.wait, ("all", "for", "timeout", *_PLACES)),
)
"""Every command that is understood."""


def kubectl(arguments: tuple[str, ...], stdin: str, surroundings: Surroundings) -> Result:
    """Run kubectl; raise UnsupportedError for what is not simulated of it."""
    invocation = read_arguments(arguments)
    name = invocation.words[0] if invocation.words else ""
    if "kubeconfig" in invocation.flags or "context" in invocation.flags:
        raise UnsupportedError("kubectl with another configuration")
    call = Call(invocation._replace(words=invocation.words[1:]), stdin, surroundings)
    for verb in VERBS:
        if verb.name == name:
            for flag in invocation.flags:
                if flag not in _ALWAYS and flag not in verb.flags:
                    raise UnsupportedError(f"the flag `{flag}` of `kubectl {verb.name}`")
            surroundings.situation.session.wait(_START)
            try:
                return verb.run(call)
            except KubectlError as error:
                return complaint(f"{error}\n")
    raise UnsupportedError(f"`kubectl {name}`")
