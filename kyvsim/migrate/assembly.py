"""Converted rules → whole policies."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.autogen import ComputedRules
from kyvsim.migrate.desk import Desk
from kyvsim.migrate.expressions import laid_out
from kyvsim.migrate.names import object_name
from kyvsim.migrate.part import Part
from kyvsim.migrate.rules import (
    GENERATING,
    IMAGES,
    MUTATING,
    VALIDATING,
    Generation,
    Mutation,
    Validation,
)
from kyvsim.migrate.settings import API_VERSION, controllers_of, metadata_of, settings_of
from kyvsim.model.migration import Made

_PODS: Final = ("Pod",)


Written: TypeAlias = Callable[[Mapping[str, Json]], str]
"""Gives an object as YAML."""


class Whole(NamedTuple):
    """The policy that is converted."""

    data: Json
    computed: ComputedRules

    @property
    def namespace(self) -> str:
        """The namespace that it lies in, "" for a policy of the cluster."""
        is_namespaced = self.data["kind"] == "Policy"
        return str(self.data["metadata"].get("namespace") or "default") if is_namespaced else ""


def policies_of(parts: list[Part], whole: Whole, written: Written) -> Iterable[Made]:
    """Yield the policies that converted rules of one become: rules that match alike share one."""
    groups: list[list[Part]] = []
    for part in parts:
        home = next((one for one in groups if _fits(part, one)), None)
        if home is None:
            groups.append([part])
        else:
            home.append(part)
    for group in groups:
        wanted = _name(group[0], groups, whole.data["metadata"]["name"])
        name = object_name(wanted)
        made = _policy(name, group, whole, written)
        yield made if name == wanted else made._replace(wanted=wanted)


def _name(part: Part, groups: list[list[Part]], name: str) -> str:
    """Return the name of a policy: the old one's, with what tells several apart."""
    if len({one.place for one, *_ in groups}) > 1:
        name = f"{name}-{part.rule}"
    return "-".join(filter(None, (name, part.level, part.variant)))


def _fits(part: Part, group: list[Part]) -> bool:
    if part.group != group[0].group:
        return False
    known = {name: text for one in group for name, text in one.variables.items()}
    return all(known.get(name, text) == text for name, text in part.variables.items())


def _policy(name: str, group: list[Part], whole: Whole, written: Written) -> Made:
    first, data = group[0], whole.data
    desk = Desk({}, [], set())
    found = dict(first.fields)
    settings = settings_of(data["spec"], first.kind, desk)
    if "evaluation" in found and "evaluation" in settings:
        settings["evaluation"] |= found["evaluation"]
    found |= settings
    if first.matching.kinds == _PODS and first.kind != GENERATING:
        controllers = [] if first.kind == MUTATING else controllers_of(whole.computed, desk)
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
    field, entry = _ENTRIES[first.kind]
    found[field] = [entry(one, written) for part in group for one in part.entries]
    made = {
        "apiVersion": API_VERSION,
        "kind": f"Namespaced{first.kind}" if whole.namespace else first.kind,
        "metadata": metadata_of(data["metadata"], name),
        "spec": found,
    }
    places = tuple(part.place for part in group for _ in part.entries)
    return Made(made, tuple(part.place for part in group), places, first.level)


def _validation(one: Validation, _: Written) -> dict[str, Json]:
    found = {"expression": laid_out(one.test)}
    if one.message.expression:
        found["messageExpression"] = one.message.expression
    elif one.message.text:
        found["message"] = one.message.text
    return found


def _mutation(one: Mutation, _: Written) -> dict[str, Json]:
    field = "applyConfiguration" if one.form == "ApplyConfiguration" else "jsonPatch"
    return {"patchType": one.form, field: {"expression": one.text}}


def _generation(one: Generation, written: Written) -> dict[str, Json]:
    if one.template is None:
        return {"expression": one.text}
    value = written(one.template.data)
    mode = {"interpolate": "cel"} if one.template.expressions or "\\((" in value else {}
    return {"template": {**mode, "value": value}}


_ENTRIES: Final[Mapping[str, tuple[str, Callable[[Any, Written], Json]]]] = MappingProxyType(
    {
        VALIDATING: ("validations", _validation),
        MUTATING: ("mutations", _mutation),
        GENERATING: ("generate", _generation),
        IMAGES: ("validations", _validation),
    }
)
"""By kind of policy the field that its entries stand in, and how one is written."""
