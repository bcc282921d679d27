"""How Kyverno is installed: by name, or by a file of values for its Helm chart.

Codes: KV053 a name or file that says nothing of an installation, KV054 a value that is not
simulated.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kyvsim.kubernetes.objects import Json
from kyvsim.load.documents import STRICT, read_documents
from kyvsim.model.diagnostic import Diagnostic, Severity, likely
from kyvsim.model.scenario import BY_NAME, Installation
from kyvsim.model.source import Document, Location, Path

_CONTROLLERS = tuple(
    f"{name}Controller" for name in ("admission", "background", "cleanup", "reports")
)
_SWITCHES = (
    *("validatingAdmissionPolicyReports", "mutatingAdmissionPolicyReports"),
    *("generateValidatingAdmissionPolicy", "generateMutatingAdmissionPolicy"),
    "forceFailurePolicyIgnore",
)
"""Features that are on or off."""
_FEATURES = frozenset(
    {"policyExceptions", "omitEvents", "logging", "controllerRuntimeMetrics", *_SWITCHES}
)
"""Features that count, and those that change nothing of what is simulated."""
_REPORTING = "reporting"
"""Of this feature it counts which results are reported; all parts of it are switched on."""
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
"""Arguments of controllers that change nothing of what is simulated."""


def load_installation(given: str) -> tuple[Installation | None, tuple[Diagnostic, ...]]:
    """Return the installation of a name or of a file of values, or None and what is wrong."""
    if given in BY_NAME:
        return BY_NAME[given], ()
    documents, remarks = read_documents((given,), None, STRICT)
    if any(one.severity is Severity.ERROR for one in remarks):
        if all(one.code == "KV001" for one in remarks):
            hint = likely(given, list(BY_NAME))
            text = f"`--install {given}`: neither helm nor ci nor a file of values{hint}"
            return None, (Diagnostic("KV053", Severity.ERROR, text, Location(given)),)
        return None, remarks
    if len(documents) != 1 or documents[0].data.__class__ is not dict:
        text = "a file of values for Kyverno's Helm chart is one map"
        return None, (Diagnostic("KV053", Severity.ERROR, text, Location(given)),)
    (document,) = documents
    if "apiVersion" in document.data and "kind" in document.data:
        text = "this is an object and no file of values for Kyverno's Helm chart"
        return None, (Diagnostic("KV053", Severity.ERROR, text, document.locate(())),)
    problems = tuple(dict.fromkeys(_misshapen(document)))
    if problems:
        return None, problems
    return Installation(given, document.data), tuple(_unsimulated(document))


def _misshapen(document: Document) -> Iterator[Diagnostic]:
    """Yield the values whose shape would mean nothing to the chart."""
    for path, wanted in _SHAPES:
        at: Json = document.data
        for depth, name in enumerate(path):
            if not isinstance(at, Mapping):
                yield _misfit(document, path[:depth], "a map")
                break
            at = at.get(name)
            if at is None:
                break
        else:
            if at.__class__ is not wanted:
                yield _misfit(document, path, _WORDS[wanted])


_WORDS: Mapping[type, str] = MappingProxyType(
    {list: "a list", bool: "true or false", str: "text", dict: "a map"}
)
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


def _misfit(document: Document, path: Path, wanted: str) -> Diagnostic:
    text = f"`{'.'.join(map(str, path))}` must be {wanted}"
    return Diagnostic("KV053", Severity.ERROR, text, document.locate(path))


def _unsimulated(document: Document) -> Iterator[Diagnostic]:
    """Yield the values that would make Kyverno work otherwise than it is simulated."""
    values = document.data
    for name in _NAMES:
        if values.get(name):
            yield _left_out(document, (name,))
    for name, feature in (values.get("features") or {}).items():
        if name == _REPORTING:
            switched = (one for one, value in (feature or {}).items() if value is False)
            yield from (_left_out(document, ("features", name, one)) for one in switched)
        elif name not in _FEATURES and feature:
            yield _left_out(document, ("features", name))
    for name in values.get("config") or {}:
        if name not in _CONFIG:
            yield _left_out(document, ("config", name))
    for controller in _CONTROLLERS:
        yield from _of_controller(document, controller, values.get(controller) or {})


def _of_controller(
    document: Document, controller: str, values: Mapping[str, Json]
) -> Iterator[Diagnostic]:
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
    text = f"`{'.'.join(map(str, path))}` is not simulated: Kyverno works as without it"
    return Diagnostic("KV054", Severity.WARNING, text, document.locate(path))
