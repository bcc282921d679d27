"""Converted rules → whole policies."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from kyvsim.kube.objects import Json
from kyvsim.languages.classic.autogen import ComputedRules
from kyvsim.migrate.desk import Desk
from kyvsim.migrate.layout import laid_out
from kyvsim.migrate.part import Part
from kyvsim.migrate.rules import MUTATING, VALIDATING, Mutation, Validation
from kyvsim.migrate.settings import controllers_of, metadata_of, settings_of
from kyvsim.model.migration import Made

_PODS: Final = ("Pod",)


def policies_of(parts: list[Part], data: Json, computed: ComputedRules) -> Iterable[Made]:
    """Yield the policies that converted rules of one become: rules that match alike share one."""
    groups: list[list[Part]] = []
    for part in parts:
        home = next((one for one in groups if _fits(part, one)), None)
        if home is None:
            groups.append([part])
        else:
            home.append(part)
    for group in groups:
        yield _policy(_name(group[0], groups, data["metadata"]["name"]), group, data, computed)


def _name(part: Part, groups: list[list[Part]], name: str) -> str:
    """Return the name of a policy: the old one's, with rule and level where there are several."""
    if len({one.place for one, *_ in groups}) > 1:
        name = f"{name}-{part.rule}"
    return f"{name}-{part.level}" if part.level else name


def _fits(part: Part, group: list[Part]) -> bool:
    if part.group != group[0].group:
        return False
    known = {name: text for one in group for name, text in one.variables.items()}
    return all(known.get(name, text) == text for name, text in part.variables.items())


def _policy(name: str, group: list[Part], data: Json, computed: ComputedRules) -> Made:
    first, spec = group[0], data["spec"]
    namespaced = data["kind"] == "Policy"
    desk = Desk({}, [], set())
    mutates = first.kind == MUTATING
    found = dict(first.fields)
    found |= dict(settings_of(spec, desk))
    if first.matching.kinds == _PODS:
        controllers = [] if mutates else controllers_of(computed, desk)
        if controllers is not None:
            found["autogen"] = {"podControllers": {"controllers": controllers}}
    found["matchConstraints"] = first.matching.constraints
    if first.conditions:
        found["matchConditions"] = [
            {"name": one, "expression": text} for one, text in first.conditions
        ]
    variables = {name: text for one in group for name, text in one.variables.items()}
    if variables:
        found["variables"] = [{"name": one, "expression": t} for one, t in variables.items()]
    field, written = _ENTRIES[first.kind]
    found[field] = [written(one) for part in group for one in part.entries]
    made = {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": f"Namespaced{first.kind}" if namespaced else first.kind,
        "metadata": metadata_of(data["metadata"], name),
        "spec": found,
    }
    places = tuple(part.place for part in group for _ in part.entries)
    return Made(made, tuple(part.place for part in group), places)


def _validation(one: Validation) -> dict[str, Json]:
    found = {"expression": laid_out(one.test)}
    if one.message.expression:
        found["messageExpression"] = one.message.expression
    elif one.message.text:
        found["message"] = one.message.text
    return found


def _mutation(one: Mutation) -> dict[str, Json]:
    field = "applyConfiguration" if one.form == "ApplyConfiguration" else "jsonPatch"
    return {"patchType": one.form, field: {"expression": one.text}}


_ENTRIES: Final[Mapping[str, tuple[str, Callable[[Any], Json]]]] = MappingProxyType(
    {VALIDATING: ("validations", _validation), MUTATING: ("mutations", _mutation)}
)
"""By kind of policy the field that its entries stand in, and how one is written."""
