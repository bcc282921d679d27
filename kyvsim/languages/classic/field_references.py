"""The fields that ClusterPolicies and Policies refer to, and the values they compare them with."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import ClassVar, TypeAlias
from urllib.parse import unquote

from kyvsim.cel.kubernetes import kubernetes_environment
from kyvsim.jmespath import QuerySyntaxError
from kyvsim.jmespath.parse import Tree, parse
from kyvsim.jmespath.variables import find_variables
from kyvsim.kubernetes.discovery import parse_kind_selector
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.wildcard import has_wildcard
from kyvsim.languages.classic.pod_security.controls import (
    ALL_CAPABILITIES,
    APP_ARMOR_ANNOTATION,
    APP_ARMOR_PROFILES,
    CONTAINER_FIELDS,
    DEFAULT_CAPABILITIES,
    DEFAULT_PROC_MOUNT,
    HOST_HANDLERS,
    HOST_NAMESPACES,
    LIFECYCLE,
    OTHER_VOLUMES,
    PROBES,
    RESTRICTED_CAPABILITIES,
    SECCOMP_PROFILES,
    SELINUX_FIELDS,
    ActiveCheck,
    active_checks,
)
from kyvsim.languages.field_references import (
    IMAGE_PATHS,
    NOTHING,
    FieldValues,
    ReferenceCollector,
    either,
    endings,
    external_values,
    read_expressions,
    read_selector,
)
from kyvsim.model.field_reference import FieldPath, FieldReference, Segment, Subject
from kyvsim.model.policy import Policy, PolicyException, Rule
from kyvsim.model.ports import System
from kyvsim.policy.anchors import parse_anchor
from kyvsim.policy.tree import ResourceFilter

# What queries in JMESPath mention: the fields that they read, the constants beside them.

_ROOT = FieldValues(((),))
"""All that a rule knows."""
_WORD = "x"
_ACCOUNT = frozenset({"serviceAccountName", "serviceAccountNamespace"})
"""What rules know of who sends a request, where that is a ServiceAccount."""
_BOOLEAN = frozenset({"comparator", "not_expression"})
_MOST_WAYS = 64
"""The maximum number of paths of one value: lists in lists double it each time."""


class _QueryReader:
    """Reads the queries of one rule; entries of its context and elements of loops have names."""

    def __init__(self, notes: ReferenceCollector) -> None:
        self.notes = notes
        self.named: dict[str, FieldValues] = {}
        """The values of names that a rule defines."""
        self._words: dict[str, FieldValues] = {}
        """The values of words that replace variables."""

    def text(self, text: str) -> FieldValues:
        """Read the variables `{{ }}` of a string; a string around them is not a value."""
        found: list[FieldValues] = []
        text = self._with_words(text, found)
        return either(found) if found else FieldValues(values=(text,))

    def _with_words(self, text: str, found: list[FieldValues]) -> str:
        """Return a text with a word in place of each variable, of which `found` gets the reading.

        What surrounds a variable inside another one is read with the outer one.
        """
        while variables := find_variables(text):
            for one in variables:
                reading = self.query(one.expression)
                found.append(reading)
                word = _WORD if one is variables[0] else f"{_WORD}{len(found)}"
                self._words[word] = reading
                # Between backticks there is JSON.
                text = text.replace(f"`{one.text}`", f'`"{word}"`').replace(one.text, word)
        return text

    def query(self, expression: str, here: FieldValues = _ROOT) -> FieldValues:
        """Read a query; NOTHING for one that cannot be parsed, as others inside it make it.

        `here` is what it is a query of, if not all that the rule knows.
        """
        try:
            tree = parse(self._with_words(expression, []))
        except QuerySyntaxError:
            return NOTHING
        return self._read(tree, here)

    def _read(self, tree: Tree, here: FieldValues) -> FieldValues:
        reader = self._READERS.get(tree["type"])
        return reader(self, tree, here) if reader else self._every(tree, here)

    def _every(self, tree: Tree, here: FieldValues) -> FieldValues:
        parts = [self._read(one, here) for one in tree["children"] if one.__class__ is dict]
        if tree["type"] not in _BOOLEAN:
            return either(parts)
        for one in parts:
            self.notes.read(one)
        if tree["type"] == "comparator":
            self.notes.compare(*parts)
        return NOTHING

    def _field(self, tree: Tree, here: FieldValues) -> FieldValues:
        name = str(tree["value"])
        if here.ways == ((),) and name in self.named:
            return self.named[name]
        if here.ways == ((),) and name in _ACCOUNT:
            return FieldValues((("request", name),))
        return here.below(name)

    def _current(self, _: Tree, here: FieldValues) -> FieldValues:
        return here

    def _literal(self, tree: Tree, _: FieldValues) -> FieldValues:
        value = tree["value"]
        if value.__class__ is str and value in self._words:
            return self._words[value]
        if value.__class__ is list:
            return FieldValues(values=tuple(value))
        return FieldValues(values=(value,))

    def _chain(self, tree: Tree, here: FieldValues) -> FieldValues:
        for one in tree["children"]:
            here = self._read(one, here)
        return here

    def _index(self, _: Tree, here: FieldValues) -> FieldValues:
        return here.elements

    def _flatten(self, tree: Tree, here: FieldValues) -> FieldValues:
        found = self._chain(tree, here)
        if not found.spread or len(found.ways) > _MOST_WAYS:
            return found
        # What is found in each of several elements may be a list itself, or not.
        both = [found.below(Segment.ELEMENT), found]
        is_chosen = tree["children"][0]["type"] == "filter_projection"
        return either(both[::-1] if is_chosen else both)._replace(spread=True)

    def _projection(self, tree: Tree, here: FieldValues) -> FieldValues:
        left, right = tree["children"]
        elements = self._read(left, here)
        # A slice is written as an index already.
        if not (left["type"] == "index_expression" and left["children"][-1]["type"] == "slice"):
            elements = elements.elements
        return self._read(right, elements)._replace(spread=True)

    def _values(self, tree: Tree, here: FieldValues) -> FieldValues:
        left, right = tree["children"]
        return self._read(right, self._read(left, here).below(Segment.KEY))._replace(spread=True)

    def _filter(self, tree: Tree, here: FieldValues) -> FieldValues:
        left, right, test = tree["children"]
        elements = self._read(left, here).elements
        self.notes.read(self._read(test, elements))
        return self._read(right, elements)._replace(spread=True)

    def _call(self, tree: Tree, here: FieldValues) -> FieldValues:
        plain = [one for one in tree["children"] if one["type"] != "expref"]
        given = [self._read(one, here) for one in plain]
        whole = either(map(endings, given) if tree["value"] == "ends_with" else given)
        self.notes.read(whole)
        if tree["value"] == "keys":
            for path in whole.ways:
                self.notes.read(FieldValues(((*path, Segment.KEY),)))
        for one in tree["children"]:
            if one["type"] == "expref":
                whole = either((whole, self._every(one, whole.elements)))
        return whole._replace(counts=True) if tree["value"] == "length" else whole

    _READERS: ClassVar[Mapping[str, Callable[["_QueryReader", Tree, FieldValues], FieldValues]]] = (
        MappingProxyType(
            {
                "field": _field,
                "current": _current,
                "identity": _current,
                "literal": _literal,
                "subexpression": _chain,
                "index_expression": _chain,
                "pipe": _chain,
                "index": _index,
                "slice": _index,
                "flatten": _flatten,
                "projection": _projection,
                "value_projection": _values,
                "filter_projection": _filter,
                "function_expression": _call,
            }
        )
    )


# The fields of Pods that a `podSecurity` block checks, and the values that decide there.

_Places: TypeAlias = Mapping[str, tuple[Json, ...]]
"""Values by fields, with `[]` behind lists. What begins with `each.` is a field of containers."""

_BOTH: tuple[Json, ...] = (False, True)
_UNCONFINED = "Unconfined"
_EACH = "each."


def _setting(field: str, *values: Json) -> _Places:
    """Return a setting that a Pod and its containers have."""
    field = f"securityContext.{field}"
    return {f"spec.{field}": values, f"{_EACH}{field}": values}


_HANDLERS = (*PROBES, *(f"lifecycle.{name}" for name in LIFECYCLE))
_PLACES: Mapping[str, _Places] = MappingProxyType(
    {
        "allowPrivilegeEscalation": {f"{_EACH}securityContext.allowPrivilegeEscalation": _BOTH},
        "appArmorProfile": {
            **_setting("appArmorProfile.type", *sorted(APP_ARMOR_PROFILES), _UNCONFINED),
            f"metadata.annotations.{APP_ARMOR_ANNOTATION}a": (
                "runtime/default",
                "unconfined",
                "localhost/a",
            ),
        },
        "capabilities_baseline": {
            f"{_EACH}securityContext.capabilities.add[]": (
                *sorted(DEFAULT_CAPABILITIES),
                "SYS_ADMIN",
            )
        },
        "capabilities_restricted": {
            f"{_EACH}securityContext.capabilities.add[]": (
                *sorted(RESTRICTED_CAPABILITIES),
                "CHOWN",
            ),
            f"{_EACH}securityContext.capabilities.drop[]": (ALL_CAPABILITIES,),
        },
        "hostNamespaces": {f"spec.{field}": _BOTH for field in HOST_NAMESPACES},
        "hostPathVolumes": {"spec.volumes[].hostPath.path": ("/a",)},
        "hostPorts": {f"{_EACH}ports[].hostPort": (0, 80)},
        "hostProbesAndHostLifecycle": {
            f"{_EACH}{one}.{kind}.host": ("a",) for one in _HANDLERS for kind in HOST_HANDLERS
        },
        "privileged": {f"{_EACH}securityContext.privileged": _BOTH},
        "procMount": {f"{_EACH}securityContext.procMount": (DEFAULT_PROC_MOUNT, "Unmasked")},
        "restrictedVolumes": {
            f"spec.volumes[].{kind}": () for kind in ("emptyDir", *OTHER_VOLUMES)
        },
        "runAsNonRoot": _setting("runAsNonRoot", *_BOTH),
        "runAsUser": _setting("runAsUser", 0, 1),
        "seccompProfile_baseline": _setting(
            "seccompProfile.type", *sorted(SECCOMP_PROFILES), _UNCONFINED
        ),
        "seccompProfile_restricted": _setting("seccompProfile.type", *sorted(SECCOMP_PROFILES)),
        "windowsHostProcess": _setting("windowsOptions.hostProcess", *_BOTH),
    }
)
"""By the ids of the checks, where versions do not differ."""


def pod_security_fields(block: Mapping[str, Json]) -> Iterator[tuple[FieldPath, tuple[Json, ...]]]:
    """Yield the fields that a block checks, with values: those of controls, then of exclusions."""
    checks = active_checks(block.get("level") or "", block.get("version") or "") or ()
    for check in checks:
        yield from _paths(_places_of(check))
    for entry in block.get("exclude") or ():
        images = {f"{_EACH}image": tuple(entry.get("images") or ())}
        field = (entry.get("restrictedField") or "").replace("[*]", "[]")
        excluded = {field: tuple(entry.get("values") or ())} if field else {}
        yield from _paths({**images, **excluded})


def _places_of(check: ActiveCheck) -> _Places:
    """Return what a check depends on, as it is in its version of the standards."""
    allowed = tuple(sorted(check.variant.allowed))
    if check.id == "sysctls":
        return {"spec.securityContext.sysctls[].name": (*allowed, "a")}
    if check.id == "seLinuxOptions":
        found: dict[str, tuple[Json, ...]] = {}
        for part in SELINUX_FIELDS:
            found |= _setting(f"seLinuxOptions.{part}", *(allowed if part == "type" else ()), "a")
        return found
    windows = {"spec.os.name": ("windows",)} if check.variant.spares_windows else {}
    return {**_PLACES[check.id], **windows}


def _paths(places: _Places) -> Iterator[tuple[FieldPath, tuple[Json, ...]]]:
    for field, values in places.items():
        rest = field.removeprefix(_EACH)
        each = [f"spec.{group}[].{rest}" for group in CONTAINER_FIELDS]
        for one in each if rest != field else [field]:
            # Behind `annotations` all is one name.
            start, sign, key = one.partition("metadata.annotations.")
            steps: list[str | Segment] = []
            for name in ("metadata", "annotations", key) if sign else start.split("."):
                steps.append(name.removesuffix("[]"))
                steps += (Segment.ELEMENT,) if name.endswith("[]") else ()
            yield tuple(steps), values


# What rules refer to: in their filters, and in all else.

_FILTERS = frozenset({"match", "exclude", "name"})
_PATH = re.compile(r"""["']?path["']?\s*:\s*["']?(/[^"'\s,]*)""")
"""The paths of a JSON patch that is written as a text."""
_SELECTED = re.compile(r"([^,=!]+)==?([^,=]+)")
"""The labels in the selector of a call."""
_EXTERNAL_SOURCES = ("configMap", "apiCall", "imageRegistry", "globalReference")


def classic_references(policy: Policy, _: System) -> Iterator[FieldReference]:
    """Yield the fields that the rules of a policy refer to."""
    notes = ReferenceCollector()
    for rule in policy.rules:
        for one in rule.tree.filters:
            _read_filter(one, notes)
        _RuleReader(notes).read(rule.data)
    yield from notes.mentions()


def exception_references(exception: PolicyException) -> Iterator[FieldReference]:
    """Yield the fields that an exception from rules refers to."""
    notes = ReferenceCollector()
    for one in exception.match.filters:
        _read_filter(one, notes)
    conditions = exception.document.data["spec"].get("conditions")
    _RuleReader(notes).read({"conditions": conditions or {}})
    yield from notes.mentions()


def _read_filter(one: ResourceFilter, notes: ReferenceCollector) -> None:
    for group, version, name, part in map(parse_kind_selector, one.kinds):
        parts = (group, version, name, *((part,) if part else ()))
        notes.note(Subject.KIND, (), ("/".join(parts),))
    notes.note(Subject.OBJECT, ("metadata", "name"), one.all_names)
    notes.note(Subject.OBJECT, ("metadata", "namespace"), one.namespaces)
    notes.note(Subject.REQUEST, ("operation",), one.operations)
    for key, value in (one.annotations or {}).items():
        notes.note(Subject.OBJECT, ("metadata", "annotations", key), (value,))
    read_selector(one.selector, Subject.OBJECT, notes)
    read_selector(one.namespace_selector, Subject.NAMESPACE, notes)
    for subject in one.subjects or ():
        name = subject.name
        if subject.kind == "ServiceAccount":
            name = f"system:serviceaccount:{subject.namespace or 'default'}:{name}"
        field = "groups" if subject.kind == "Group" else "username"
        notes.note(Subject.REQUEST, ("userInfo", field), (name,))
    notes.note(Subject.REQUEST, ("userInfo", "roles"), one.roles or ())
    notes.note(Subject.REQUEST, ("userInfo", "clusterRoles"), one.cluster_roles or ())


class _RuleReader:
    """Reads a rule, or an exception from rules, but for its filters."""

    def __init__(self, notes: ReferenceCollector) -> None:
        self._notes = notes
        self._queries = _QueryReader(notes)
        self._root = FieldValues((("object",),))

    def read(self, data: Mapping[str, Json]) -> None:
        """Note what the rule refers to besides its filters."""
        self._value({name: one for name, one in data.items() if name not in _FILTERS})

    def _value(self, value: Json) -> None:
        if value.__class__ is str:
            if "{{" in value:
                self._notes.read(self._queries.text(value))
        elif value.__class__ is list:
            for one in value:
                self._value(one)
        elif value.__class__ is dict:
            self._map(value)

    def _map(self, value: Mapping[str, Json]) -> None:
        if "key" in value and "operator" in value:
            self._notes.compare(self._side(value["key"]), self._side(value.get("value")))
            return
        # Entries come first: other fields may name them.
        for field in sorted(value, key=lambda name: name != "context"):
            reader = self._FIELDS.get(field)
            if reader is None:
                self._value(value[field])
            else:
                reader(self, value[field])

    def _side(self, side: Json) -> FieldValues:
        if side.__class__ is str:
            return self._notes.read(self._queries.text(side))
        if side.__class__ is list:
            found = either(map(self._side, side))
            return found._replace(values=(*found.values, side))
        return FieldValues(values=(side,))

    def _context(self, entries: Json) -> None:
        for entry in entries or ():
            self._queries.named[entry.get("name", "")] = self._entry(entry)

    def _entry(self, entry: Mapping[str, Json]) -> FieldValues:
        source = next((field for field in _EXTERNAL_SOURCES if entry.get(field)), "")
        if source:
            return self._external_entry(source, entry[source])
        variable = entry.get("variable") or {}
        if "value" in variable:
            # What a query makes of a value leads nowhere in the object.
            found = self._side(variable["value"])
            return NOTHING if variable.get("jmesPath") else found
        return self._notes.read(self._queries.query(variable.get("jmesPath") or ""))

    def _external_entry(self, source: str, spec: Mapping[str, Json]) -> FieldValues:
        self._notes.note(Subject.WORLD, (source,))
        self._value(spec)
        found = external_values(source)
        path = unquote(str(spec.get("urlPath") or ""))
        for key, value in _SELECTED.findall(path.partition("?labelSelector=")[2]):
            labels = found.below("items").elements.below("metadata").below("labels")
            self._notes.hold(labels.below(key), (value,))
        query = str(spec.get("jmesPath") or "")
        return self._notes.read(self._queries.query(query, found) if query else found)

    def _loops(self, loops: Json) -> None:
        if loops.__class__ is not list:
            self._value(loops)
            return
        for loop in loops:
            source = self._queries.query(loop.get("list") or "")
            self._notes.read(source)
            before, named = self._root, self._queries.named
            self._root = source.elements
            self._queries.named = {**named, "element": self._root}
            self._value({name: one for name, one in loop.items() if name != "list"})
            self._root, self._queries.named = before, named

    def _pattern(self, pattern: Json) -> None:
        for path in self._root.ways:
            self._node(pattern, path)

    def _patterns(self, patterns: Json) -> None:
        for one in patterns or ():
            self._pattern(one)

    def _node(self, node: Json, path: FieldPath) -> None:
        """Record a node of a pattern or patch for a field path."""
        if node.__class__ is dict:
            for text, inner in node.items():
                anchor = parse_anchor(text)
                key = anchor.key if anchor else text
                self._node(inner, (*path, Segment.KEY if has_wildcard(key) else key))
                if has_wildcard(key):
                    self._node(inner, (*path, key.replace("*", "x").replace("?", "x")))
        elif node.__class__ is list:
            for one in node:
                self._node(one, (*path, Segment.ELEMENT))
        else:
            place = FieldValues((path,))
            self._notes.read(place)
            self._notes.compare(place, self._side(node))

    def _json_patch(self, patch: Json) -> None:
        text = patch if patch.__class__ is str else json.dumps(patch)
        for path in _PATH.findall(text):
            steps = [
                Segment.ELEMENT
                if one == "-" or one.isdecimal() or "{{" in one
                else one.replace("~1", "/").replace("~0", "~")
                for one in path.split("/")[1:]
            ]
            self._notes.read(FieldValues((("object", *steps),)))
        self._value(patch)

    def _cel(self, cel: Json) -> None:
        read_expressions(cel, kubernetes_environment(params=True), self._notes)

    def _pod_security(self, block: Json) -> None:
        for path, values in pod_security_fields(block):
            self._notes.note(Subject.OBJECT, path, values)

    def _images(self, references: Json) -> None:
        self._notes.note(Subject.WORLD, ("images",))
        for path in IMAGE_PATHS:
            self._notes.note(Subject.OBJECT, path, references or ())

    _FIELDS: ClassVar[Mapping[str, Callable[["_RuleReader", Json], None]]] = MappingProxyType(
        {
            "context": _context,
            "foreach": _loops,
            "pattern": _pattern,
            "anyPattern": _patterns,
            "patchStrategicMerge": lambda self, patch: self._node(patch, ("object",)),
            "patchesJson6902": _json_patch,
            "cel": _cel,
            "podSecurity": _pod_security,
            "imageReferences": _images,
            "skipImageReferences": _images,
        }
    )


# What expressions of rules read, as far as their source shows.

_OWN_NAME = re.compile(r"\{\{[^}]*request\.(object\.metadata\.name|name)\b")


def reads_own_name(rule: Rule) -> bool:
    """Return whether a mutate rule reads the name of its trigger."""
    return bool(_OWN_NAME.search(json.dumps(rule.data.get("mutate"))))
