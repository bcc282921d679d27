"""What a ClusterPolicy or Policy mentions: filters, patterns, conditions, loops, CEL."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import ClassVar
from urllib.parse import unquote

from kyvsim.cel.kubernetes import kubernetes_environment
from kyvsim.engine.match.criteria import filters
from kyvsim.engine.pattern.anchors import parse_anchor
from kyvsim.kubernetes.discovery import parse_kind_selector
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.wildcard import has_wildcard
from kyvsim.languages.classic.mentioned_queries import Queries
from kyvsim.languages.classic.pod_security.field_references import mentioned
from kyvsim.languages.mentioned import (
    IMAGE_WAYS,
    NOTHING,
    Notebook,
    Reading,
    either,
    looked_up,
)
from kyvsim.languages.mentioned_constraints import read_selector
from kyvsim.languages.mentioned_expressions import read_expressions
from kyvsim.model.policy import About, Filter, Hole, Mention, Policy, PolicyException, Way
from kyvsim.model.ports import System

_FILTERS = frozenset({"match", "exclude", "name"})
_PATH = re.compile(r"""["']?path["']?\s*:\s*["']?(/[^"'\s,]*)""")
"""The paths of a JSON patch that is written as a text."""
_SELECTED = re.compile(r"([^,=!]+)==?([^,=]+)")
"""The labels that a call asks for."""
_ASKING = ("configMap", "apiCall", "imageRegistry", "globalReference")


def mentions(policy: Policy, _: System) -> Iterator[Mention]:
    """Yield what the rules of a policy mention."""
    notes = Notebook()
    for rule in policy.rules:
        for one in (*rule.facts.match, *rule.facts.exclude):
            _read_filter(one, notes)
        _Body(rule.data, notes).read()
    yield from notes.mentions()


def exception_mentions(exception: PolicyException) -> Iterator[Mention]:
    """Yield what an exception from rules mentions."""
    notes = Notebook()
    for one in filters({"match": exception.match}, "match"):
        _read_filter(one, notes)
    _Body({"conditions": exception.conditions or {}}, notes).read()
    yield from notes.mentions()


def _read_filter(one: Filter, notes: Notebook) -> None:
    resources = one.resources
    for kind in map(parse_kind_selector, one.kinds):
        group, version, name, part = kind
        notes.note(About.KIND, (), ("/".join((group, version, name, *((part,) if part else ()))),))
    notes.note(About.OBJECT, ("metadata", "name"), one.names)
    notes.note(About.OBJECT, ("metadata", "namespace"), resources.get("namespaces") or ())
    notes.note(About.REQUEST, ("operation",), resources.get("operations") or ())
    for key, value in (resources.get("annotations") or {}).items():
        notes.note(About.OBJECT, ("metadata", "annotations", key), (value,))
    read_selector(resources.get("selector"), About.OBJECT, notes)
    read_selector(resources.get("namespaceSelector"), About.NAMESPACE, notes)
    for subject in one.data.get("subjects") or ():
        field = "groups" if subject.get("kind") == "Group" else "username"
        notes.note(About.REQUEST, ("userInfo", field), (_user_name(subject),))
    for field in ("roles", "clusterRoles"):
        notes.note(About.REQUEST, ("userInfo", field), one.data.get(field) or ())


def _user_name(subject: Json) -> str:
    """Return what a request calls a subject."""
    name = str(subject.get("name") or "")
    if subject.get("kind") != "ServiceAccount":
        return name
    return f"system:serviceaccount:{subject.get('namespace') or 'default'}:{name}"


class _Body:
    """Reads what a rule, or an exception from rules, says beside its filters."""

    def __init__(self, data: Mapping[str, Json], notes: Notebook) -> None:
        self._data = data
        self._notes = notes
        self._queries = Queries(notes)
        self._root = Reading((("object",),))

    def read(self) -> None:
        """Note what the rule mentions besides its filters."""
        parts = {name: one for name, one in self._data.items() if name not in _FILTERS}
        self._value(parts)

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
            self._condition(value)
            return
        # Entries come first: whatever else stands beside them may name them.
        for field in sorted(value, key=lambda name: name != "context"):
            reader = self._FIELDS.get(field)
            if reader is None:
                self._value(value[field])
            else:
                reader(self, value[field])

    def _condition(self, condition: Mapping[str, Json]) -> None:
        self._notes.compare(self._side(condition["key"]), self._side(condition.get("value")))

    def _side(self, side: Json) -> Reading:
        if side.__class__ is str:
            return self._notes.read(self._queries.text(side))
        if side.__class__ is list:
            found = either(map(self._side, side))
            return found._replace(values=(*found.values, side))
        return Reading(values=(side,))

    def _context(self, entries: Json) -> None:
        for entry in entries or ():
            self._queries.named[entry.get("name", "")] = self._entry(entry)

    def _entry(self, entry: Mapping[str, Json]) -> Reading:
        asked = next((field for field in _ASKING if entry.get(field)), "")
        if asked:
            return self._asked(asked, entry[asked])
        variable = entry.get("variable") or {}
        if "value" in variable:
            # What a query makes of a value leads nowhere in the object.
            found = self._side(variable["value"])
            return NOTHING if variable.get("jmesPath") else found
        return self._notes.read(self._queries.query(variable.get("jmesPath") or ""))

    def _asked(self, source: str, spec: Mapping[str, Json]) -> Reading:
        self._notes.note(About.WORLD, (source,))
        self._value(spec)
        found = looked_up(source)
        path = unquote(str(spec.get("urlPath") or ""))
        for key, value in _SELECTED.findall(path.partition("?labelSelector=")[2]):
            labels = found.below("items").elements.below("metadata").below("labels")
            self._notes.hold(labels.below(key), (value,))
        query = str(spec.get("jmesPath") or "")
        return self._notes.read(self._queries.query_of(query, found) if query else found)

    def _loops(self, loops: Json) -> None:
        if loops.__class__ is not list:
            self._value(loops)
            return
        for loop in loops:
            source = self._queries.query(loop.get("list") or "")
            self._notes.read(source)
            before, named = self._root, dict(self._queries.named)
            element = source.elements
            self._queries.named.update({"element": element})
            self._root = element
            self._value({name: one for name, one in loop.items() if name != "list"})
            self._root = before
            self._queries.named.clear()
            self._queries.named.update(named)

    def _pattern(self, pattern: Json) -> None:
        for way in self._root.ways:
            self._node(pattern, way)

    def _patterns(self, patterns: Json) -> None:
        for one in patterns or ():
            self._pattern(one)

    def _patch(self, patch: Json) -> None:
        self._node(patch, ("object",))

    def _node(self, node: Json, way: Way) -> None:
        """Note a node of a pattern or patch for what stands at a way."""
        if node.__class__ is dict:
            for text, inner in node.items():
                anchor = parse_anchor(text)
                key = anchor.key if anchor else text
                self._node(inner, (*way, Hole.KEY if has_wildcard(key) else key))
                if has_wildcard(key):
                    self._node(inner, (*way, key.replace("*", "x").replace("?", "x")))
        elif node.__class__ is list:
            for one in node:
                self._node(one, (*way, Hole.ELEMENT))
        else:
            place = Reading((way,))
            self._notes.read(place)
            self._notes.compare(place, self._side(node))

    def _json_patch(self, patch: Json) -> None:
        text = patch if patch.__class__ is str else json.dumps(patch)
        for path in _PATH.findall(text):
            steps = [_patch_step(one) for one in path.split("/")[1:]]
            self._notes.read(Reading((("object", *steps),)))
        self._value(patch)

    def _cel(self, cel: Json) -> None:
        read_expressions(cel, kubernetes_environment(params=True), self._notes)

    def _pod_security(self, block: Json) -> None:
        for way, values in mentioned(block):
            self._notes.note(About.OBJECT, way, values)

    def _images(self, references: Json) -> None:
        self._notes.note(About.WORLD, ("images",))
        for way in IMAGE_WAYS:
            self._notes.note(About.OBJECT, way, references or ())

    _FIELDS: ClassVar[Mapping[str, Callable[["_Body", Json], None]]] = MappingProxyType(
        {
            "context": _context,
            "foreach": _loops,
            "pattern": _pattern,
            "anyPattern": _patterns,
            "patchStrategicMerge": _patch,
            "patchesJson6902": _json_patch,
            "cel": _cel,
            "podSecurity": _pod_security,
            "imageReferences": _images,
            "skipImageReferences": _images,
        }
    )


def _patch_step(text: str) -> str | Hole:
    is_index = text == "-" or text.isdecimal() or "{{" in text
    return Hole.ELEMENT if is_index else text.replace("~1", "/").replace("~0", "~")
