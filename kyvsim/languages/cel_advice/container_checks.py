"""What validations demand of every container of a list."""

from collections.abc import Iterator
from typing import NamedTuple

from kyvsim.cel.nodes import Call, Loop, Node, Select, children, dotted_name
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.cel_advice.matched_kinds import matched_kinds
from kyvsim.languages.cel_advice.written import VALIDATING, Expression, Written, is_name

_OBJECTS = ("object", "request.object")
_SPECS = ("spec", "spec.template.spec", "spec.jobTemplate.spec.template.spec")
_LISTS = frozenset(f"{name}.{spec}.containers" for name in _OBJECTS for spec in _SPECS)
_SHARED = frozenset({"image", "securityContext"})
"""What matters of containers of each sort alike; probes, ports and such do not."""
_SUBRESOURCES = frozenset({"pods/ephemeralcontainers"})
_WORKLOADS = frozenset(
    {
        *("Pod", "Deployment", "DaemonSet", "ReplicaSet", "StatefulSet", "Job", "CronJob"),
        *("ReplicationController", "PodTemplate"),
    }
)


class ContainerCheck(NamedTuple):
    """A validation that looks at `containers`."""

    expression: Expression
    fields: tuple[str, ...]
    """What it looks at of each of them."""


def container_checks(written: Written) -> Iterator[ContainerCheck]:
    """Yield the validations that demand something of each of `containers`, in policies on Pods."""
    kinds = {one.kind for one in matched_kinds(written.spec, _SUBRESOURCES)}
    if written.kind not in VALIDATING or not kinds or not kinds <= _WORKLOADS:
        return
    variables = {
        f"variables.{written.spec['variables'][one.path[2]]['name']}"
        for one in written.expressions
        if one.list_name == "variables" and dotted_name(one.root) in _LISTS
    }
    for one in written.expressions:
        if one.list_name == "validations" and one.path[-1] == "expression":
            lists = _LISTS | variables
            fields = {field for node in one.nodes() for field in _demanded(node, lists)}
            if fields:
                yield ContainerCheck(one, tuple(sorted(fields)))


def names_anywhere(value: Json, *words: str) -> bool:
    """Return whether one of some words stands in a text of a specification, in whatever case."""
    if value.__class__ is str:
        return any(word in value.lower() for word in words)
    if value.__class__ is dict:
        return any(names_anywhere(one, *words) for one in value.values())
    return value.__class__ is list and any(names_anywhere(one, *words) for one in value)


def _demanded(node: Node, lists: frozenset[str]) -> Iterator[str]:
    """Yield the fields that a node looks at of every element of one of some lists."""
    inner, wanted = node, "all"
    if isinstance(node, Call) and node.function == "!_":
        inner, wanted = node.arguments[0], "exists"
    if not isinstance(inner, Loop) or inner.kind != wanted:
        return
    if dotted_name(inner.source) not in lists:
        return
    pending = [one for one in (inner.test, inner.result) if one is not None]
    while pending:
        here = pending.pop()
        pending += children(here)
        is_shared = isinstance(here, Select) and here.field in _SHARED
        if is_shared and isinstance(here, Select) and is_name(here.operand, inner.variables[-1]):
            yield here.field
