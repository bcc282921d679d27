"""Scenario files, installations of Kyverno, and the files that they refer to."""

import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, JsonMap, ObjectKey, Path, text_field
from kyvsim.kubernetes.quantities import seconds
from kyvsim.load.documents import AS_WRITTEN, STRICT, Typing, read_documents
from kyvsim.load.policy import sniff
from kyvsim.load.resources import objects_among
from kyvsim.load.structure import check, diagnostics, load_schemas, not_one_of
from kyvsim.load.values import named_user
from kyvsim.model.diagnostic import Diagnostic, Severity, error_in, has_errors, likely
from kyvsim.model.release import RELEASES
from kyvsim.model.simulation import (
    BY_NAME,
    OF_REQUESTS,
    Demand,
    Expected,
    Installation,
    Patch,
    Scenario,
    ScenarioSettings,
    ScenarioStep,
    Verb,
)
from kyvsim.model.source import Document, Location
from kyvsim.schema.node import SchemaNode

# Codes: KV053 an unknown installation or unusable values file, KV054 a value that is not simulated.

_CONTROLLERS = tuple(
    f"{name}Controller" for name in ("admission", "background", "cleanup", "reports")
)
_SWITCHES = (
    *("validatingAdmissionPolicyReports", "mutatingAdmissionPolicyReports"),
    *("generateValidatingAdmissionPolicy", "generateMutatingAdmissionPolicy"),
    "forceFailurePolicyIgnore",
)
_FEATURES = frozenset(
    {"policyExceptions", "omitEvents", "logging", "controllerRuntimeMetrics", *_SWITCHES}
)
"""Features that are simulated, or have no effect here."""
_REPORTING = "reporting"
"""Its `allowedResults` is simulated; all other parts are enabled."""
_CONFIG = frozenset(
    {
        *("create", "preserve", "annotations", "webhookAnnotations", "webhookLabels"),
        *("excludeGroups", "excludeUsernames", "excludeRoles", "excludeClusterRoles"),
        *("generateSuccessEvents", "successEventActions", "updateRequestThreshold", "webhooks"),
        *("resourceFilters", "excludeKyvernoNamespace", "resourceFiltersExclude"),
        *("resourceFiltersExcludeNamespaces", "resourceFiltersInclude"),
        "resourceFiltersIncludeNamespaces",
    }
)
_RIGHTS = frozenset({"coreClusterRole", "clusterRole", "serviceAccount", "deployment"})
_NAMES = ("nameOverride", "fullnameOverride", "namespaceOverride")
_ARGUMENTS = frozenset({"v"})
"""Arguments of controllers that have no effect here."""


def load_installation(given: str) -> tuple[Installation | None, tuple[Diagnostic, ...]]:
    """Return the installation with a name or of a values file, or None and errors."""
    if given in BY_NAME:
        return BY_NAME[given], ()
    documents, remarks = read_documents((given,), None, STRICT)
    place, text = Location(given), ""
    if [remark.code for remark in remarks] == ["KV009"]:
        return Installation(given), ()  # Helm reads an empty file as no values
    if has_errors(remarks):
        if not all(remark.code == "KV001" for remark in remarks):
            return None, remarks
        text = f"`--install {given}`: must be helm, ci or a values file{likely(given, BY_NAME)}"
    elif len(documents) != 1 or documents[0].data.__class__ is not dict:
        text = "a values file of Kyverno's Helm chart must be one map"
    elif {"apiVersion", "kind"} <= documents[0].data.keys():
        text = "this is an object, not a values file of Kyverno's Helm chart"
        place = documents[0].locate(())
    if text:
        return None, (Diagnostic("KV053", Severity.ERROR, text, place),)
    (document,) = documents
    problems = tuple(dict.fromkeys(_wrong_shapes(document)))
    if problems:
        return None, problems
    return Installation(given, document.data), tuple(_unsimulated(document))


def _wrong_shapes(document: Document) -> Iterator[Diagnostic]:
    """Yield errors about values of the wrong type."""
    for path, expected in _SHAPES:
        at: Json = document.data
        for depth, name in enumerate(path):
            if not isinstance(at, Mapping):
                yield _wrong_shape(document, path[:depth], "a map")
                break
            at = at.get(name)
            if at is None:
                break
        else:
            if at.__class__ is not expected:
                yield _wrong_shape(document, path, _WORDS[expected])


_WORDS: Mapping[type, str] = {list: "a list", bool: "true or false", str: "text", dict: "a map"}
_SHAPES: tuple[tuple[tuple[str, ...], type], ...] = (
    *((("features", name, "enabled"), bool) for name in ("policyExceptions", *_SWITCHES)),
    (("features", "policyExceptions", "namespace"), str),
    (("features", "omitEvents", "eventTypes"), list),
    (("features", "reporting", "allowedResults"), dict),
    *(
        ((controller, "rbac", role, "extraResources"), list)
        for controller in _CONTROLLERS
        for role in ("clusterRole", "coreClusterRole")
    ),
    *(
        (("config", name), list)
        for name in sorted(_CONFIG)
        if name.startswith("resourceFilters") or (name.startswith("exclude") and name[-1] == "s")
    ),
    (("config", "excludeKyvernoNamespace"), bool),
)


def _wrong_shape(document: Document, path: Path, expected: str) -> Diagnostic:
    return error_in(document, "KV053", f"`{'.'.join(map(str, path))}` must be {expected}", path)


def _unsimulated(document: Document) -> Iterator[Diagnostic]:
    """Yield warnings about values that are not simulated."""
    values = document.data
    for name in _NAMES:
        if values.get(name):
            yield _left_out(document, (name,))
    for name, feature in (values.get("features") or {}).items():
        if name == _REPORTING:
            switched = (part for part, value in (feature or {}).items() if value is False)
            yield from (_left_out(document, ("features", name, part)) for part in switched)
        elif name not in _FEATURES and feature:
            yield _left_out(document, ("features", name))
    for name in values.get("config") or {}:
        if name not in _CONFIG:
            yield _left_out(document, ("config", name))
    for controller in _CONTROLLERS:
        yield from _of_controller(document, controller, values.get(controller) or {})


def _of_controller(document: Document, controller: str, values: JsonMap) -> Iterator[Diagnostic]:
    if values.get("enabled") is False:
        yield _left_out(document, (controller, "enabled"))
    for name in values.get("rbac") or {}:
        if name not in _RIGHTS and values["rbac"][name] is not True:
            yield _left_out(document, (controller, "rbac", name))
    for container in ("", "container"):
        holder = (values.get(container) or {}) if container else values
        for name in holder.get("extraArgs") or {}:
            if name not in _ARGUMENTS:
                path = (controller, *filter(None, (container,)), "extraArgs", name)
                yield _left_out(document, path)


def _left_out(document: Document, path: Path) -> Diagnostic:
    text = f"`{'.'.join(map(str, path))}` is not simulated: it has no effect"
    return Diagnostic("KV054", Severity.WARNING, text, document.locate(path))


# Codes: KV050 an entry without effect, KV051 a scenario combined with other inputs.

SCENARIO = "kyvsim/v1/Scenario"
_WITH_OBJECTS = (Verb.CREATE, Verb.APPLY, Verb.UPDATE, Verb.DELETE)


class _ScenarioReading(NamedTuple):
    """The state of reading a scenario, with diagnostics."""

    document: Document
    problems: list[Diagnostic]


@cache
def scenario_schemas() -> Mapping[str, SchemaNode]:
    """Return the schemas of scenario files, by apiVersion/kind; read on first use."""
    return load_schemas("scenario.json")


def is_scenario(data: object) -> bool:
    """Return whether a document was meant to be a scenario."""
    return text_field(data, "apiVersion").startswith("kyvsim/") or sniff(data) == SCENARIO


def load_scenario(document: Document) -> tuple[Scenario | None, tuple[Diagnostic, ...]]:
    """Return the scenario of a document, or None and errors; paths are relative to its folder."""
    name = sniff(document.data)
    if name != SCENARIO:
        hint = likely(name, [SCENARIO])
        text = f"scenario type not supported: `{name}`{hint or f', only `{SCENARIO}` is'}"
        return None, (error_in(document, "KV050", text),)
    data, problems = check(scenario_schemas()[SCENARIO], document.data)
    if problems:
        return None, diagnostics(document, problems)
    reading = _ScenarioReading(document, [])
    stem = os.path.splitext(os.path.basename(document.file))[0]
    scenario = Scenario(
        name=data.get("name") or stem,
        description=data.get("description", ""),
        settings=_settings(reading, data.get("settings", {})),
        objects=_objects(reading, data.get("objects"), ("objects",)),
        policies=_objects(reading, data.get("policies"), ("policies",), STRICT),
        exceptions=_objects(reading, data.get("exceptions"), ("exceptions",), STRICT),
        steps=tuple(
            _step(reading, one, ("steps", n)) for n, one in enumerate(data.get("steps", ()))
        ),
        expected=tuple(
            _expected(reading, one, ("expect", n)) for n, one in enumerate(data.get("expect", ()))
        ),
        fail_on=data.get("hazards", {}).get("failOn", ""),
    )
    return (None if has_errors(reading.problems) else scenario), tuple(reading.problems)


def _settings(reading: _ScenarioReading, data: JsonMap) -> ScenarioSettings:
    usual = ScenarioSettings()
    actors = data.get("actors", {})
    start, name = data.get("start"), data.get("install")
    installation = None
    if name is not None:
        beside = os.path.normpath(os.path.join(os.path.dirname(reading.document.file), name))
        installation, problems = load_installation(name if name in BY_NAME else beside)
        reading.problems.extend(problems)
    return ScenarioSettings(
        model=data.get("model", usual.model),
        release=RELEASES[data["kyverno"]] if "kyverno" in data else usual.release,
        seed=int(data.get("seed", usual.seed)),
        start=datetime.fromisoformat(start) if start else None,
        horizon=seconds(data["horizon"]) if "horizon" in data else usual.horizon,
        pace=seconds(data["pace"]) if "pace" in data else usual.pace,
        installation=installation,
        exceptions=data.get("exceptions", usual.exceptions),
        latency=tuple((name, seconds(text)) for name, text in data.get("latency", {}).items()),
        workloads=actors.get("workloads", usual.workloads),
        kubelet=actors.get("kubelet", usual.kubelet),
        max_events=int(data.get("maxEvents", usual.max_events)),
    )


def _step(reading: _ScenarioReading, data: JsonMap, path: Path) -> ScenarioStep:
    verbs = [verb for verb in Verb if verb in data]
    if len(verbs) > 1 or (not verbs and "expect" not in data):
        reading.problems.extend(diagnostics(reading.document, [not_one_of(path, Verb)]))
    verb, user = verbs[0] if verbs else None, data.get("as")
    if user.__class__ is str:
        user = {"name": user}
    step = ScenarioStep(
        verb,
        reading.document.locate(path),
        name=data.get("name", ""),
        user=None if user is None else named_user(user["name"], user.get("groups", ())),
        expected=tuple(_outcomes(reading, data.get("expect", []), (*path, "expect"), verb)),
    )
    if verb is None:
        return step
    given, place = data[verb], (*path, verb.value)
    if verb in _WITH_OBJECTS:
        return step._replace(objects=_objects(reading, given, place))
    if verb is Verb.PATCH:
        form = "merge" if "merge" in given else "json"
        names = (given["apiVersion"], given["kind"], given.get("namespace", ""), given["name"])
        patch = Patch(form, given[form], given.get("subresource", ""))
        return step._replace(target=ObjectKey(*names), patch=patch)
    if verb is Verb.WAIT:
        return step._replace(seconds=seconds(given))
    return step._replace(controller=given)


def _outcomes(
    reading: _ScenarioReading, data: Json, path: Path, verb: Verb | None
) -> Iterator[Expected]:
    several = data.__class__ is list
    for index, entry in enumerate(data if several else [data]):
        place = (*path, index) if several else path
        expected = _expected(reading, entry, place)
        if expected.demand in OF_REQUESTS and verb in {None, Verb.WAIT, Verb.RESTART}:
            text = f"`{expected.demand}` expects a request, but this step sends none"
            _add_error(reading, text, (*place, expected.demand.value))
        yield expected


def _expected(reading: _ScenarioReading, entry: JsonMap, path: Path) -> Expected:
    demand = next(demand for demand in Demand if demand in entry)
    within = seconds(entry["within"]) if "within" in entry else None
    if within is not None and (demand in OF_REQUESTS or demand is Demand.FINALLY):
        _add_error(reading, f"`within` has no meaning for `{demand}`", (*path, "within"))
    return Expected(demand, entry[demand], within, reading.document.locate(path))


def _objects(
    reading: _ScenarioReading, data: Json, path: Path, typing: Typing = AS_WRITTEN
) -> tuple[Document, ...]:
    """Return the objects of paths and inline objects, in order."""
    several = data.__class__ is list
    collected: list[Document] = []
    for index, entry in enumerate(data if several else [data]):
        place = (*path, index) if several else path
        if entry.__class__ is str:
            file = os.path.normpath(os.path.join(os.path.dirname(reading.document.file), entry))
            documents, remarks = read_documents((file,), None, typing)
            missing = [remark for remark in remarks if remark.code == "KV001"]
            if missing:
                _add_error(reading, f"`{entry}`: {missing[0].message}", place)
            reading.problems.extend(remark for remark in remarks if remark not in missing)
            collected += documents
        elif entry is not None:
            obj = entry
            if "metadata" not in entry and "name" in entry:
                # `delete` may identify an object without `metadata`.
                names = {name: entry[name] for name in ("namespace", "name") if name in entry}
                kind = {name: entry[name] for name in ("apiVersion", "kind")}
                obj = {**kind, "metadata": names}
            collected.append(reading.document.within(place, obj))
    objects, problems = objects_among(collected)
    reading.problems.extend(problems)
    return objects


def _add_error(reading: _ScenarioReading, text: str, path: Path) -> None:
    reading.problems.append(error_in(reading.document, "KV050", text, path))
