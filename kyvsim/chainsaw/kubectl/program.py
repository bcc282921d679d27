"""The program kubectl: finds the command, and runs it on the cluster."""

from collections.abc import Callable
from typing import NamedTuple

from kyvsim.chainsaw.ending import UnsupportedError
from kyvsim.chainsaw.kubectl import apply, create, delete, get, marks, patch, pods, scale, waiting
from kyvsim.chainsaw.kubectl.arguments import read_arguments
from kyvsim.chainsaw.kubectl.call import Call, KubectlError
from kyvsim.chainsaw.streams import Result, complaint
from kyvsim.chainsaw.world import World

_START = 0.25
"""Seconds that the program takes to start and to learn what the cluster serves."""


class Verb(NamedTuple):
    """A command of kubectl."""

    name: str
    run: Callable[[Call], Result]


VERBS: tuple[Verb, ...] = (
    Verb("apply", apply.run),
    Verb("create", create.run),
    Verb("replace", apply.replace),
    Verb("delete", delete.run),
    Verb("get", get.run),
    Verb("patch", patch.run),
    Verb("label", marks.label),
    Verb("annotate", marks.annotate),
    Verb("scale", scale.run),
    Verb("run", pods.run),
    Verb("exec", pods.execute),
    Verb("debug", pods.debug),
    Verb("evict", pods.evict),
    Verb("wait", waiting.run),
)
"""Every command that is understood."""


def kubectl(arguments: tuple[str, ...], stdin: str, world: World) -> Result:
    """Run kubectl; raise UnsupportedError for what is not simulated of it."""
    invocation = read_arguments(arguments)
    name = invocation.words[0] if invocation.words else ""
    if "kubeconfig" in invocation.flags or "context" in invocation.flags:
        raise UnsupportedError("kubectl with another configuration")
    call = Call(invocation._replace(words=invocation.words[1:]), stdin, world)
    for verb in VERBS:
        if verb.name == name:
            world.scope.session.wait(_START)
            try:
                return verb.run(call)
            except KubectlError as error:
                return complaint(f"{error}\n")
    raise UnsupportedError(f"`kubectl {name}`")
