"""The fields that ClusterPolicies and Policies read, and the values that they compare them with."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, TypeAlias
from urllib.parse import unquote

from kyvsim.cel.kubernetes import kubernetes_environment
from kyvsim.jmespath import QuerySyntaxError
from kyvsim.jmespath.parse import Tree, parse
from kyvsim.jmespath.variables import find_variables
from kyvsim.kubernetes.discovery import parse_kind_selector
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.wildcard import has_wildcard
from kyvsim.languages.classic.pod_security import controls
from kyvsim.languages.field_references import (
    IMAGE_PATHS,
    NOTHING,
    FieldValues,
    ReferenceCollector,
    either,
    endings,
    external_values,
    read_selector,
    read_texts,
)
from kyvsim.model.field_reference import FieldPath, FieldReference, Segment, Subject
from kyvsim.model.policy import Policy, PolicyException, Rule
from kyvsim.model.ports import System
from kyvsim.policy import cel_policy, images, tree
from kyvsim.policy import rule as rules
from kyvsim.policy.nodes import Node
from kyvsim.policy.visit import texts

_ROOT = FieldValues(((),))
"""The root of all variables of a rule."""
_WORD = "x"
_ACCOUNT = frozenset({"serviceAccountName", "serviceAccountNamespace"})
"""Variables about the ServiceAccount that sends a request."""
_BOOLEAN = frozenset({"comparator", "not_expression"})
_MOST_PATHS = 64
"""The maximum number of paths of one value: lists in lists double it each time."""


class _QueryReader:
    """Reads the queries of one rule, with the names of its context entries and loop elements."""

    def __init__(self, notes: ReferenceCollector) -> None:
        self.notes = notes
        self.named: dict[str, FieldValues] = {}
        """The values of names that a rule defines."""
        self._words: dict[str, FieldValues] = {}
        """The values of placeholders that replace variables."""

    def text(self, text: str) -> FieldValues:
        """Read the variables `{{ }}` of a string; a string around them is not a value."""
        found: list[FieldValues] = []
        text = self._with_words(text, found)
        return either(found) if found else FieldValues(values=(text,))

    def _with_words(self, text: str, found: list[FieldValues]) -> str:
        """Replace each variable in a text by a placeholder, and append its values to `found`.

        Text around a nested variable is read with the outer variable.
        """
        while variables := find_variables(text):
            for one in variables:
                reading = self.query(one.expression)
                found.append(reading)
                word = _WORD if one is variables[0] else f"{_WORD}{len(found)}"
                self._words[word] = reading
                # Backticks enclose JSON.
                text = text.replace(f"`{one.text}`", f'`"{word}"`').replace(one.text, word)
        return text

    def query(self, expression: str, here: FieldValues = _ROOT) -> FieldValues:
        """Read a query; NOTHING if it cannot be parsed, for example because of nested variables.

        `here` is the value that the query is applied to, by default the root.
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
        if here.paths == ((),) and name in self.named:
            return self.named[name]
        if here.paths == ((),) and name in _ACCOUNT:
            return FieldValues((("request", name),))
        return here.below(name)

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

    def _flatten(self, tree: Tree, here: FieldValues) -> FieldValues:
        found = self._chain(tree, here)
        if not found.spread or len(found.paths) > _MOST_PATHS:
            return found
        # The value in each element may or may not be a list itself.
        both = [found.below(Segment.ELEMENT), found]
        is_chosen = tree["children"][0]["type"] == "filter_projection"
        return either(both[::-1] if is_chosen else both)._replace(spread=True)

    def _projection(self, tree: Tree, here: FieldValues) -> FieldValues:
        left, right = tree["children"]
        elements = self._read(left, here)
        # The node of a slice already contains the index.
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
            for path in whole.paths:
                self.notes.read(FieldValues(((*path, Segment.KEY),)))
        for one in tree["children"]:
            if one["type"] == "expref":
                whole = either((whole, self._every(one, whole.elements)))
        return whole._replace(counts=True) if tree["value"] == "length" else whole

    _READERS: ClassVar[Mapping[str, Callable[["_QueryReader", Tree, FieldValues], FieldValues]]] = {
        "field": _field,
        **dict.fromkeys(("current", "identity"), lambda _self, _tree, here: here),
        "literal": _literal,
        **dict.fromkeys(("subexpression", "index_expression", "pipe"), _chain),
        **dict.fromkeys(("index", "slice"), lambda _self, _tree, here: here.elements),
        "flatten": _flatten,
        "projection": _projection,
        "value_projection": _values,
        "filter_projection": _filter,
        "function_expression": _call,
    }


_Places: TypeAlias = Mapping[str, tuple[Json, ...]]
"""Values by field, with `[]` after lists. `each.` at the start stands for the containers."""
_EACH = "each."


def _setting(field: str, *values: object) -> _Places:
    """Return the values of a setting that Pods and their containers have."""
    field = f"securityContext.{field}"
    return {f"spec.{field}": values, f"{_EACH}{field}": values}


_HANDLERS = (*controls.PROBES, *(f"lifecycle.{name}" for name in controls.LIFECYCLE))
_PLACES: Mapping[str, _Places] = {
    "allowPrivilegeEscalation": {f"{_EACH}securityContext.allowPrivilegeEscalation": (False, True)},
    "appArmorProfile": {
        **_setting("appArmorProfile.type", *sorted(controls.APP_ARMOR_PROFILES), "Unconfined"),
        f"metadata.annotations.{controls.APP_ARMOR_ANNOTATION}a": (
            "runtime/default",
            "unconfined",
            "localhost/a",
        ),
    },
    "capabilities_baseline": {
        f"{_EACH}securityContext.capabilities.add[]": (
            *sorted(controls.DEFAULT_CAPABILITIES),
            "SYS_ADMIN",
        )
    },
    "capabilities_restricted": {
        f"{_EACH}securityContext.capabilities.add[]": (
            *sorted(controls.RESTRICTED_CAPABILITIES),
            "CHOWN",
        ),
        f"{_EACH}securityContext.capabilities.drop[]": (controls.ALL_CAPABILITIES,),
    },
    "hostNamespaces": {f"spec.{field}": (False, True) for field in controls.HOST_NAMESPACES},
    "hostPathVolumes": {"spec.volumes[].hostPath.path": ("/a",)},
    "hostPorts": {f"{_EACH}ports[].hostPort": (0, 80)},
    "hostProbesAndHostLifecycle": {
        f"{_EACH}{one}.{kind}.host": ("a",) for one in _HANDLERS for kind in controls.HOST_HANDLERS
    },
    "privileged": {f"{_EACH}securityContext.privileged": (False, True)},
    "procMount": {f"{_EACH}securityContext.procMount": (controls.DEFAULT_PROC_MOUNT, "Unmasked")},
    "restrictedVolumes": {
        f"spec.volumes[].{kind}": () for kind in ("emptyDir", *controls.OTHER_VOLUMES)
    },
    "runAsNonRoot": _setting("runAsNonRoot", False, True),
    "runAsUser": _setting("runAsUser", 0, 1),
    "seccompProfile_baseline": _setting(
        "seccompProfile.type", *sorted(controls.SECCOMP_PROFILES), "Unconfined"
    ),
    "seccompProfile_restricted": _setting(
        "seccompProfile.type", *sorted(controls.SECCOMP_PROFILES)
    ),
    "windowsHostProcess": _setting("windowsOptions.hostProcess", False, True),
}
"""By check ID, for checks that are the same in all versions."""


def pod_security_fields(block: tree.PodSecurity) -> Iterator[tuple[FieldPath, tuple[Json, ...]]]:
    """Yield the fields that a block checks, with values: first of controls, then of exclusions."""
    for check in controls.active_checks(block.level, block.version) or ():
        # Some checks depend on the values allowed by their version of the standards.
        allowed = tuple(sorted(check.variant.allowed))
        if check.id == "sysctls":
            yield from _paths({"spec.securityContext.sysctls[].name": (*allowed, "a")})
        elif check.id == "seLinuxOptions":
            for part in controls.SELINUX_FIELDS:
                values = (*(allowed if part == "type" else ()), "a")
                yield from _paths(_setting(f"seLinuxOptions.{part}", *values))
        else:
            windows = {"spec.os.name": ("windows",)} if check.variant.spares_windows else {}
            yield from _paths({**_PLACES[check.id], **windows})
    for one in block.exclude:
        images = {f"{_EACH}image": one.images}
        field = one.restricted_field.replace("[*]", "[]")
        excluded = {field: one.values} if field else {}
        yield from _paths({**images, **excluded})


def _paths(places: _Places) -> Iterator[tuple[FieldPath, tuple[Json, ...]]]:
    for field, values in places.items():
        rest = field.removeprefix(_EACH)
        each = [f"spec.{group}[].{rest}" for group in controls.CONTAINER_FIELDS]
        for one in each if rest != field else [field]:
            # The rest after `annotations` is one name.
            start, sign, key = one.partition("metadata.annotations.")
            steps: list[str | Segment] = []
            for name in ("metadata", "annotations", key) if sign else start.split("."):
                steps.append(name.removesuffix("[]"))
                steps += (Segment.ELEMENT,) if name.endswith("[]") else ()
            yield tuple(steps), values


_PATH = re.compile(r"""["']?path["']?\s*:\s*["']?(/[^"'\s,]*)""")
"""The paths of a JSON patch that is written as a string."""
_SELECTED = re.compile(r"([^,=!]+)==?([^,=]+)")
"""The labels in the selector of a call."""
_SOURCES: Mapping[type, str] = {
    tree.ConfigMapEntry: "configMap",
    tree.ApiCallEntry: "apiCall",
    tree.GlobalReferenceEntry: "globalReference",
    tree.ImageRegistryEntry: "imageRegistry",
}
"""The sources of context entries whose values come from outside of the request."""

_PLAIN_NODES = (
    tree.MatchBlock, tree.Conditions, tree.ConditionGroup, images.ImageExtractors,
    images.ImageExtractor, rules.Validate, tree.Deny, rules.Mutate, rules.MutateTarget,
    rules.Generate, rules.GenerateTarget, rules.Clone, rules.CloneList,
    images.Attestation, images.AttestorSet, images.Attestor, images.Keys, images.Rekor,
    images.CTLog, images.Keyless, images.Certificates, images.ImageValidation, images.Manifests,
    images.ManifestObject, images.IgnoredFields,
)  # fmt: skip
"""Nodes that contain only other nodes, and strings with variables."""
_UNREAD_NODES = (
    # Read by the blocks that contain them.
    cel_policy.CelExpression, cel_policy.ParamKind, cel_policy.ParamRef, tree.PodSecurityExclusion,
    # Failure handling, and settings of the webhook.
    rules.FailureOverride, rules.PolicyNode, rules.WebhookConfiguration,
)  # fmt: skip


def classic_references(policy: Policy, _: System) -> Iterator[FieldReference]:
    """Yield the fields that the rules of a policy, or a cleanup policy, refer to."""
    notes = ReferenceCollector()
    for rule in policy.rules:
        NodeReader(notes).read(rule.tree)
    yield from notes.mentions()


def exception_references(exception: PolicyException) -> Iterator[FieldReference]:
    """Yield the fields that an exception from rules refers to."""
    notes = ReferenceCollector()
    NodeReader(notes).read_all(exception.match, exception.conditions)
    yield from notes.mentions()


class NodeReader:
    """Records the fields that the nodes of one rule, or of an exception from rules, refer to."""

    def __init__(self, notes: ReferenceCollector) -> None:
        self._notes = notes
        self._queries = _QueryReader(notes)
        self._roots: tuple[FieldPath, ...] = (("object",),)
        """The values that patterns match: the object, or the elements of a loop."""
        self._here: FieldPath = ()
        """The field that a node of a pattern describes."""

    def read(self, node: Node) -> None:
        """Record the fields that a node and all nodes below it refer to."""
        self.READERS[node.__class__](self, node)

    def read_all(self, *nodes: Node | None) -> None:
        """Record the fields that the given nodes refer to; None is skipped."""
        for node in nodes:
            if node is not None:
                self.read(node)

    def _parts(self, node: Node, *left_out: str) -> None:
        """Read the nodes in the fields of a node, and the variables in their texts."""
        # Entries come first: other fields may name them.
        for field in sorted(node._fields, key=lambda name: name != "context"):
            if field != "path" and field not in left_out:
                self._part(getattr(node, field))

    def _part(self, value: object) -> None:
        if isinstance(value, Node):
            self.read(value)
        elif isinstance(value, str):
            if "{{" in value:
                self._notes.read(self._queries.text(value))
        elif isinstance(value, (list, tuple)):
            for one in value:
                self._part(one)
        elif isinstance(value, Mapping):
            for one in value.values():
                self._part(one)

    def _rule(self, rule: rules.RuleNode) -> None:
        self.read_all(rule.match, rule.exclude)
        self._parts(rule, "name", "match", "exclude", "data")

    def _filter(self, one: tree.ResourceFilter) -> None:
        for group, version, name, part in map(parse_kind_selector, one.kinds):
            parts = (group, version, name, *((part,) if part else ()))
            self._notes.note(Subject.KIND, (), ("/".join(parts),))
        self._notes.note(Subject.OBJECT, ("metadata", "name"), one.all_names)
        self._notes.note(Subject.OBJECT, ("metadata", "namespace"), one.namespaces)
        self._notes.note(Subject.REQUEST, ("operation",), one.operations)
        for key, value in (one.annotations or {}).items():
            self._notes.note(Subject.OBJECT, ("metadata", "annotations", key), (value,))
        read_selector(one.selector, Subject.OBJECT, self._notes)
        read_selector(one.namespace_selector, Subject.NAMESPACE, self._notes)
        self.read_all(*(one.subjects or ()))
        # A policy without roles does not depend on role bindings.
        for field, roles in (("roles", one.roles), ("clusterRoles", one.cluster_roles)):
            if roles:
                self._notes.note(Subject.REQUEST, ("userInfo", field), roles)

    def _subject(self, one: tree.Subject) -> None:
        name = one.name
        if one.kind == "ServiceAccount":
            name = f"system:serviceaccount:{one.namespace or 'default'}:{name}"
        field = "groups" if one.kind == "Group" else "username"
        self._notes.note(Subject.REQUEST, ("userInfo", field), (name,))

    def _condition(self, condition: tree.Condition) -> None:
        self._notes.compare(self._side(condition.key), self._side(condition.value))

    def _side(self, side: object) -> FieldValues:
        if side.__class__ is str:
            return self._notes.read(self._queries.text(side))
        if side.__class__ is list:
            found = either(map(self._side, side))
            return found._replace(values=(*found.values, side))
        return FieldValues(values=(side,))

    def _variable(self, entry: tree.VariableEntry) -> None:
        if entry.value is None:
            found = self._notes.read(self._queries.query(entry.jmes_path))
        else:
            found = self._side(entry.value)
        # The result of a query is not a path in the object.
        is_derived = entry.value is not None and entry.jmes_path
        self._queries.named[entry.name] = NOTHING if is_derived else found

    def _external(
        self,
        entry: tree.ConfigMapEntry
        | tree.ApiCallEntry
        | tree.GlobalReferenceEntry
        | tree.ImageRegistryEntry,
    ) -> None:
        source = _SOURCES[entry.__class__]
        self._notes.note(Subject.WORLD, (source,))
        self._parts(entry)
        found = external_values(source)
        if isinstance(entry, tree.ApiCallEntry):
            labels = found.below("items").elements.below("metadata").below("labels")
            selector = unquote(entry.url_path).partition("?labelSelector=")[2]
            for key, value in _SELECTED.findall(selector):
                self._notes.hold(labels.below(key), (value,))
        query = "" if isinstance(entry, tree.ConfigMapEntry) else entry.jmes_path
        read = self._queries.query(query, found) if query else found
        self._queries.named[entry.name] = self._notes.read(read)

    def _loop(
        self, loop: rules.ForEachValidation | rules.ForEachMutation | rules.ForEachGeneration
    ) -> None:
        source = self._queries.query(loop.list)
        self._notes.read(source)
        roots, named = self._roots, self._queries.named
        self._queries.named = {**named, "element": source.elements}
        # Patches apply to the whole object, in loops, too.
        if isinstance(loop, rules.ForEachValidation):
            self._roots = source.elements.paths
        self._parts(loop, "list")
        self._roots, self._queries.named = roots, named

    def _pattern(self, pattern: tree.Pattern) -> None:
        for root in self._roots:
            self._describing(root, pattern.root)

    def _describing(self, field: FieldPath, node: Node) -> None:
        before = self._here
        self._here = field
        self.read(node)
        self._here = before

    def _entry(self, entry: tree.PatternEntry) -> None:
        key = entry.key
        self._describing((*self._here, Segment.KEY if has_wildcard(key) else key), entry.value)
        if has_wildcard(key):
            sample = key.replace("*", "x").replace("?", "x")
            self._describing((*self._here, sample), entry.value)

    def _list(self, node: tree.PatternList) -> None:
        for item in node.items:
            self._describing((*self._here, Segment.ELEMENT), item)

    def _leaf(self, leaf: tree.PatternLeaf) -> None:
        place = FieldValues((self._here,))
        self._notes.read(place)
        self._notes.compare(place, self._side(leaf.data))

    def _json_patch(self, patch: rules.JsonPatch) -> None:
        for path in _PATH.findall(patch.text):
            steps = [
                Segment.ELEMENT
                if one == "-" or one.isdecimal() or "{{" in one
                else one.replace("~1", "/").replace("~0", "~")
                for one in path.split("/")[1:]
            ]
            self._notes.read(FieldValues((("object", *steps),)))
        self._parts(patch)

    def _cel(self, cel: cel_policy.CelValidation) -> None:
        variables = [(one.name, one.expression) for one in cel.variables]
        expressions = [("", one.expression) for one in cel.expressions]
        read_texts([*variables, *expressions], kubernetes_environment(params=True), self._notes)

    def _pod_security(self, block: tree.PodSecurity) -> None:
        for path, values in pod_security_fields(block):
            self._notes.note(Subject.OBJECT, path, values)

    def _images(self, images: images.ImageVerification) -> None:
        for references in filter(None, (images.image_references, images.skip_image_references)):
            self._notes.note(Subject.WORLD, ("images",))
            for path in IMAGE_PATHS:
                self._notes.note(Subject.OBJECT, path, references)
        self._parts(images, "image_references", "skip_image_references", "data")

    READERS: ClassVar[Mapping[type, Callable[..., None]]] = {
        rules.RuleNode: _rule,
        tree.ResourceFilter: _filter,
        tree.Subject: _subject,
        tree.Condition: _condition,
        tree.VariableEntry: _variable,
        rules.ForEachValidation: _loop,
        rules.ForEachMutation: _loop,
        rules.ForEachGeneration: _loop,
        tree.Pattern: _pattern,
        tree.PatternMap: lambda self, node: self.read_all(*node.entries),
        tree.PatternEntry: _entry,
        tree.PatternList: _list,
        tree.PatternLeaf: _leaf,
        tree.PodSecurity: _pod_security,
        cel_policy.CelValidation: _cel,
        tree.NamedExpression: lambda self, one: read_texts(
            [("", one.expression)], kubernetes_environment(params=True), self._notes
        ),
        rules.JsonPatch: _json_patch,
        images.ImageVerification: _images,
        **dict.fromkeys(_SOURCES, _external),
        **dict.fromkeys(_PLAIN_NODES, _parts),
        **dict.fromkeys(_UNREAD_NODES, lambda *_: None),
    }
    """By class of nodes; complete, so that no class is forgotten."""


_OWN_NAME = re.compile(r"\{\{[^}]*request\.(object\.metadata\.name|name)\b")


def reads_own_name(rule: Rule) -> bool:
    """Return whether a mutate rule reads the name of its trigger."""
    path = (*rule.path, "mutate")
    inside = (one.text for one in texts(rule.tree) if one.path[: len(path)] == path)
    return any(map(_OWN_NAME.search, inside))
