"""The output of kubectl: tables, names, JSONPath."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeAlias

from kyvsim.chainsaw.errors import UnsupportedError
from kyvsim.kubernetes.discovery import is_builtin, split_api_version
from kyvsim.kubernetes.objects import KubernetesObject, metadata, object_key, text_field, value_at
from kyvsim.simulator.api_server import ObjectStore

# JSONPath templates as in kubectl.
#
# Source of the rules: k8s.io/client-go util/jsonpath.

_STEP = re.compile(
    r"""\.\.|\.?(?P<name>(?:\\.|[^\s.\[\]{}'"])+)|\.?\[(?P<inner>(?:[^\[\]'"]|'[^']*'|"[^"]*")*)\]|\.""",
    re.VERBOSE,
)
_FILTER = re.compile(r"""\?\(\s*@(?P<path>[^=!<>]+?)\s*(?P<op>==|!=)\s*(?P<value>.+?)\s*\)""")
_SLICE = re.compile(r"(-?\d*):(-?\d*)")

_MOST_CHARACTERS = 4_000


class JsonPathError(Exception):
    """An invalid template."""


def print_jsonpath(
    template: str, data: object, count: Callable[[int], None] = lambda _length: None
) -> str:
    """Return the output of a template for an object; raise JsonPathError for an invalid template.

    A missing field prints nothing, as in kubectl. `count` is called with the length of each piece,
    and raises if the output becomes too long.
    """
    if len(template) > _MOST_CHARACTERS:
        raise JsonPathError(f"a template of more than {_MOST_CHARACTERS:,} characters")
    texts: list[str] = []
    pieces = re.split(r"(\{(?:[^{}'\"]|'[^']*'|\"[^\"]*\")*\})", template)
    for text in _printed([one for one in pieces if one], data):
        count(len(text) + 1)
        texts.append(text)
    return "".join(texts)


def _printed(pieces: list[str], data: object) -> Iterator[str]:
    place = 0
    while place < len(pieces):
        piece = pieces[place]
        place += 1
        if not piece.startswith("{"):
            yield piece
            continue
        inner = piece[1:-1].strip()
        if inner.startswith("range "):
            depth, end = 1, place
            while depth:
                if end == len(pieces):
                    raise JsonPathError("unmatched {range}")
                word = pieces[end][1:-1].strip()
                depth += word.startswith("range ") - (word == "end")
                end += 1
            for member in find(inner.removeprefix("range ").strip(), data):
                yield from _printed(pieces[place : end - 1], member)
            place = end
        elif inner[:1] in {'"', "'"}:
            yield _text(inner)
        elif inner != "end":
            yield " ".join(map(_shown, find(inner, data)))


def find(path: str, data: object) -> list[object]:
    """Return the values at a path."""
    values = [data]
    at = 0
    path = path.removeprefix("$")
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None or step.end() == at or step[0] == "..":
            raise JsonPathError(f"error parsing jsonpath {path}")
        at = step.end()
        if step["name"] is not None:
            name = _unescaped(step["name"])
            values = [one for value in values for one in _member(value, name)]
        elif step["inner"] is not None:
            values = [one for value in values for one in _inner(value, step["inner"].strip())]
    return values


def _unescaped(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name)


def _member(value: object, name: str) -> Iterator[object]:
    if name == "*":
        yield from _every(value)
    elif value.__class__ is dict and name in value:
        yield value[name]


def _every(value: object) -> Iterator[object]:
    if value.__class__ is list:
        yield from value
    elif value.__class__ is dict:
        yield from value.values()


def _inner(value: object, inner: str) -> Iterator[object]:
    if inner == "*":
        yield from _every(value)
    elif inner[:1] in {"'", '"'}:
        yield from _member(value, _unescaped(inner[1:-1]))
    elif inner.startswith("?"):
        yield from _filtered(value, inner)
    elif value.__class__ is list:
        cut = _SLICE.fullmatch(inner)
        if cut:
            first, last = (int(one) if one else None for one in cut.groups())
            yield from value[first:last]
        elif re.fullmatch(r"-?\d+", inner):
            place = int(inner)
            if not -len(value) <= place < len(value):
                text = f"array index out of bounds: index {place}, length {len(value)}"
                raise JsonPathError(f"error executing jsonpath: {text}")
            yield value[place]
        else:
            raise JsonPathError(f"error parsing jsonpath [{inner}]")


def _filtered(value: object, inner: str) -> Iterator[object]:
    condition = _FILTER.fullmatch(inner)
    if condition is None:
        raise JsonPathError(f"error parsing jsonpath [{inner}]")
    text = condition["value"]
    try:
        expected = _text(text) if text[:1] in {"'", '"'} else json.loads(text)
    except ValueError:
        raise JsonPathError(f"error parsing jsonpath [{inner}]") from None
    for member in _every(value):
        values = find(condition["path"], member)
        same = bool(values) and values[0] == expected
        if same == (condition["op"] == "=="):
            yield member


def _text(quoted: str) -> str:
    return quoted[1:-1].replace("\\n", "\n").replace("\\t", "\t")


def _shown(value: object) -> str:
    if value.__class__ is str:
        return str(value)
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


# Ages as in kubectl: in one or two units.
#
# Source of the rules: k8s.io/apimachinery pkg/util/duration HumanDuration.

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_YEAR = 365 * _DAY
_UNKNOWN = "<unknown>"
_STEPS = (
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)
"""Limits in seconds, each with a greater unit, and a lesser one or none."""


def age(stamp: str, now: datetime) -> str:
    """Return the age of a timestamp, `<unknown>` if it is invalid."""
    try:
        then = datetime.fromisoformat(stamp)
    except ValueError:
        return _UNKNOWN
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return shown_seconds(int((now - then).total_seconds()))


def shown_seconds(seconds: int) -> str:
    """Return a duration in seconds as text with one or two units."""
    if seconds < 0:
        return "0s" if seconds == -1 else "<invalid>"
    for limit, greater, unit, lesser, second in _STEPS:
        if seconds < limit:
            rest = seconds % greater // lesser if lesser else 0
            return f"{seconds // greater}{unit}" + (f"{rest}{second}" if rest else "")
    return f"{seconds // _YEAR}y"


# Tables of `kubectl get`: columns by kind, and the layout.
#
# Source of the columns: k8s.io/kubernetes pkg/printers/internalversion; for custom kinds
# `additionalPrinterColumns` of their definitions. Of the layout: k8s.io/cli-runtime pkg/printers.

_LEAST_WIDTH = 6
_GAP = 3
_BREAKS = re.compile(r"[\f\n\r].*", re.DOTALL)

Show: TypeAlias = Callable[[KubernetesObject, datetime], str]
"""Returns the text of a column for an object at a time."""


def print_table(
    objects: Sequence[KubernetesObject],
    store: ObjectStore,
    now: datetime,
    *,
    namespaces: bool,
    headings: bool,
) -> str:
    """Return the table of some objects of one kind.

    Raises UnsupportedError for a kind whose columns are unknown, since a table without them would
    look like one with missing data.
    """
    key = object_key(objects[0])
    kind = (key.group, key.kind)
    columns = _COLUMNS.get(kind)
    if columns is None and is_builtin(*kind):
        raise UnsupportedError(f"the table of `kubectl get` for a {key.kind}")
    if columns is None:
        own = KYVERNO_COLUMNS.get(kind) or _defined(key.api_version, key.kind, store)
        columns = (_NAME, *(_custom(*one) for one in own))
    if namespaces:
        columns = (("NAMESPACE", lambda obj, _: object_key(obj).namespace), *columns)
    # Only the first of several lines is shown.
    rows = [[_BREAKS.sub("...", show(obj, now)) for _, show in columns] for obj in objects]
    if headings:
        rows.insert(0, [heading for heading, _ in columns])
    widths = [max(_LEAST_WIDTH, max(map(len, column)) + _GAP) for column in zip(*rows, strict=True)]
    widths[-1] = 0  # the last column is not padded
    lines = (map(str.ljust, row, widths) for row in rows)
    return "".join(f"{''.join(line)}\n" for line in lines)


def _defined(api_version: str, kind: str, store: ObjectStore) -> tuple[tuple[str, str, str], ...]:
    """Return heading, type and path of the columns in a kind's definition."""
    group, version = split_api_version(api_version)
    for served in store.defined_versions(group, kind):
        if served["name"] == version and served.get("additionalPrinterColumns"):
            return tuple(
                (one["name"].upper(), one["type"], one["jsonPath"])
                for one in served["additionalPrinterColumns"]
                if not one.get("priority")
            )
    return (_AGE_COLUMN,)


def _custom(heading: str, kind: str, path: str) -> tuple[str, Show]:
    def show(obj: KubernetesObject, now: datetime) -> str:
        values = find(path, obj)
        if not values or values[0] is None:
            return ""
        if kind == "date":
            return age(str(values[0]), now)
        return str(values[0]).lower() if values[0].__class__ is bool else str(values[0])

    return heading, show


def _field(*path: str, default: str = "") -> Show:
    def show(obj: KubernetesObject, _now: datetime) -> str:
        value = value_at(obj, path)
        return default if value is None else str(value)

    return show


def _ratio(ready: tuple[str, ...], desired: tuple[str, ...]) -> Show:
    above, below = _field(*ready, default="0"), _field(*desired, default="0")
    return lambda obj, now: f"{above(obj, now)}/{below(obj, now)}"


def _entries(*names: str) -> Show:
    return lambda obj, _now: str(sum(len(obj.get(name) or {}) for name in names))


def _about(obj: KubernetesObject, _now: datetime) -> str:
    involved = obj.get("involvedObject") or {}
    kind, name = text_field(involved, "kind").lower(), text_field(involved, "name")
    return f"{kind}/{name}" if name else kind


def _selector(obj: KubernetesObject, _now: datetime) -> str:
    selector = (obj.get("spec") or {}).get("podSelector") or {}
    if selector.get("matchExpressions"):
        raise UnsupportedError("the table of `kubectl get` for selectors with expressions")
    labels = selector.get("matchLabels") or {}
    return ",".join(f"{name}={labels[name]}" for name in sorted(labels)) or "<none>"


def _states(pod: KubernetesObject) -> list[KubernetesObject]:
    if (pod.get("spec") or {}).get("initContainers"):
        raise UnsupportedError("the table of `kubectl get` for Pods with init containers")
    return (pod.get("status") or {}).get("containerStatuses") or []


def _state(obj: KubernetesObject, _now: datetime) -> str:
    """Return the state of a Pod, or why its first waiting or terminated container does not run."""
    if metadata(obj).get("deletionTimestamp"):
        return "Terminating"
    status = obj.get("status") or {}
    for one in _states(obj):
        for name in ("waiting", "terminated"):
            reason = text_field((one.get("state") or {}).get(name), "reason")
            if reason:
                return reason
    return text_field(status, "reason") or text_field(status, "phase")


def _ready(obj: KubernetesObject, _now: datetime) -> str:
    ready = sum(one.get("ready") is True for one in _states(obj))
    return f"{ready}/{len(obj['spec']['containers'])}"


def _restarts(obj: KubernetesObject, _now: datetime) -> str:
    return str(sum(one.get("restartCount") or 0 for one in _states(obj)))


_NAME = ("NAME", lambda obj, _: object_key(obj).name)
_AGE = ("AGE", lambda obj, now: age(text_field(metadata(obj), "creationTimestamp"), now))
_CREATED = ("CREATED AT", _field("metadata", "creationTimestamp"))
_ROLE = ("ROLE", lambda obj, _: f"{obj['roleRef']['kind']}/{obj['roleRef']['name']}")
_BOUND = (_NAME, _ROLE, _AGE)
_STATUS, _SPEC = "status", "spec"
_REPLICAS = ("READY", _ratio((_STATUS, "readyReplicas"), (_SPEC, "replicas")))
_TIMES = ("lastTimestamp", "firstTimestamp", "eventTime")
_EVENT = (
    ("LAST SEEN", lambda obj, now: age(str(next(filter(None, map(obj.get, _TIMES)), "")), now)),
    ("TYPE", _field("type")),
    ("REASON", _field("reason")),
    ("OBJECT", _about),
    ("MESSAGE", lambda obj, _: text_field(obj, "message").strip()),
)
_COLUMNS: Mapping[tuple[str, str], tuple[tuple[str, Show], ...]] = {
    ("", "ConfigMap"): (_NAME, ("DATA", _entries("data", "binaryData")), _AGE),
    ("", "Event"): _EVENT,
    ("", "LimitRange"): (_NAME, _CREATED),
    ("", "Namespace"): (_NAME, ("STATUS", _field(_STATUS, "phase")), _AGE),
    ("", "Pod"): (_NAME, ("READY", _ready), ("STATUS", _state), ("RESTARTS", _restarts), _AGE),
    ("", "Secret"): (_NAME, ("TYPE", _field("type")), ("DATA", _entries("data")), _AGE),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): (_NAME, _CREATED),
    ("apps", "Deployment"): (
        _NAME,
        _REPLICAS,
        ("UP-TO-DATE", _field(_STATUS, "updatedReplicas", default="0")),
        ("AVAILABLE", _field(_STATUS, "availableReplicas", default="0")),
        _AGE,
    ),
    ("apps", "ReplicaSet"): (
        _NAME,
        ("DESIRED", _field(_SPEC, "replicas", default="0")),
        ("CURRENT", _field(_STATUS, "replicas", default="0")),
        ("READY", _field(_STATUS, "readyReplicas", default="0")),
        _AGE,
    ),
    ("apps", "StatefulSet"): (_NAME, _REPLICAS, _AGE),
    ("networking.k8s.io", "NetworkPolicy"): (_NAME, ("POD-SELECTOR", _selector), _AGE),
    ("rbac.authorization.k8s.io", "ClusterRole"): (_NAME, _CREATED),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _BOUND,
    ("rbac.authorization.k8s.io", "Role"): (_NAME, _CREATED),
    ("rbac.authorization.k8s.io", "RoleBinding"): _BOUND,
}

# The columns that `kubectl get` prints for Kyverno's kinds, in the requested versions.
#
# Source of the columns: upstream config/crds, `additionalPrinterColumns` of priority 0.

_Columns = tuple[tuple[str, str, str], ...]
"""Heading, type and path of each column."""

_AGE_COLUMN = ("AGE", "date", ".metadata.creationTimestamp")
_READY = ".status.conditions[?(@.type == 'Ready')]"
_POLICY: _Columns = (
    ("ADMISSION", "boolean", ".spec.admission"),
    ("BACKGROUND", "boolean", ".spec.background"),
    ("READY", "string", f"{_READY}.status"),
    _AGE_COLUMN,
    ("MESSAGE", "string", f"{_READY}.message"),
)
_COUNTS = ("pass", "fail", "warn", "error", "skip")
_REPORT: _Columns = (
    ("KIND", "string", ".scope.kind"),
    ("NAME", "string", ".scope.name"),
    *((one.upper(), "integer", f".summary.{one}") for one in _COUNTS),
    _AGE_COLUMN,
)
_LABEL = ".metadata.labels['audit\\.kyverno\\.io/{}']"
_EPHEMERAL: _Columns = (
    ("SOURCE", "string", _LABEL.format("source")),
    ("GROUP", "string", _LABEL.format("resource\\.group")),
    ("KIND", "string", _LABEL.format("resource\\.kind")),
    ("OWNER", "string", ".metadata.annotations['audit\\.kyverno\\.io/resource\\.name']"),
    *((one.upper(), "integer", f".spec.summary.{one}") for one in _COUNTS),
    _AGE_COLUMN,
)
_CLEANUP: _Columns = (("SCHEDULE", "string", ".spec.schedule"), _AGE_COLUMN)

KYVERNO_COLUMNS: Mapping[tuple[str, str], _Columns] = {
    ("kyverno.io", "ClusterPolicy"): _POLICY,
    ("kyverno.io", "Policy"): _POLICY,
    ("kyverno.io", "CleanupPolicy"): _CLEANUP,
    ("kyverno.io", "ClusterCleanupPolicy"): _CLEANUP,
    ("kyverno.io", "PolicyException"): (_AGE_COLUMN,),
    ("kyverno.io", "GlobalContextEntry"): (
        _AGE_COLUMN,
        ("REFRESH INTERVAL", "string", ".spec.apiCall.refreshInterval"),
        ("LAST REFRESH", "date", ".status.lastRefreshTime"),
    ),
    ("kyverno.io", "UpdateRequest"): (
        ("POLICY", "string", ".spec.policy"),
        ("RULETYPE", "string", ".spec.requestType"),
        ("RESOURCEKIND", "string", ".spec.resource.kind"),
        ("RESOURCENAME", "string", ".spec.resource.name"),
        ("RESOURCENAMESPACE", "string", ".spec.resource.namespace"),
        ("STATUS", "string", ".status.state"),
        _AGE_COLUMN,
    ),
    ("wgpolicyk8s.io", "ClusterPolicyReport"): _REPORT,
    ("wgpolicyk8s.io", "PolicyReport"): _REPORT,
    ("reports.kyverno.io", "EphemeralReport"): _EPHEMERAL,
    ("reports.kyverno.io", "ClusterEphemeralReport"): (
        *_EPHEMERAL,
        ("UID", "string", _LABEL.format("resource\\.uid")),
    ),
}
