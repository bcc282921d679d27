"""The blocks `expect` and `check`: what an operation's end is to be like."""

from collections.abc import Mapping

from kyvsim.chainsaw.assertion import Mismatch, check_tree
from kyvsim.chainsaw.ending import FailedError
from kyvsim.chainsaw.expressions import fill
from kyvsim.chainsaw.session import Situation
from kyvsim.kubernetes.objects import Json, text_field


def judge(
    situation: Situation, spec: Mapping[str, Json], obj: Json, error: str | None
) -> str | None:
    """Return why an operation failed, or None: what `expect` says, else the error itself."""
    checked = situation.bind("error", error)
    matched = False
    problems: list[Mismatch] = []
    for one in spec.get("expect") or ():
        match = one.get("match")
        if match is not None and check_tree(match, obj, situation.bindings, situation.session.ask):
            continue
        matched = True
        problems += check_tree(one.get("check"), obj, checked.bindings, situation.session.ask)
    if not matched:
        return error
    return "; ".join(map(str, problems)) or None


def require(situation: Situation, tree: Json, value: Json) -> None:
    """Raise FailedError where a value is not as a tree says."""
    problems = check_tree(tree, value, situation.bindings, situation.session.ask)
    if problems:
        raise FailedError("; ".join(map(str, problems)))


def outputs(situation: Situation, spec: Mapping[str, Json], value: Json) -> Mapping[str, Json]:
    """Return the bindings that an operation leaves for those after it."""
    found: dict[str, Json] = {}
    inner = situation
    for one in spec.get("outputs") or ():
        match = one.get("match")
        if match is not None and check_tree(match, value, inner.bindings, situation.session.ask):
            continue
        name = text_field(one, "name")
        found[name] = fill(one.get("value"), inner.bindings, situation.session.ask, data=value)
        inner = inner.bind(name, found[name])
    return found
