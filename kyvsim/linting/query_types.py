"""Checks of JMESPath by the types of the fields that it reads."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from kyvsim.engine.compile.compiled import warn
from kyvsim.engine.conditions import operators
from kyvsim.engine.conditions.operators import Operator
from kyvsim.jmespath.functions import Function, function_named
from kyvsim.jmespath.parse import QuerySyntaxError, Tree, parse
from kyvsim.jmespath.variables import VARIABLE
from kyvsim.kubernetes.discovery import NO_KINDS, KindTable, kind_of_plural
from kyvsim.kubernetes.objects import (
    Json,
    Path,
    contains_text,
    metadata,
    text_field,
    value_at,
)
from kyvsim.kubernetes.wildcard import has_wildcard, range_ends
from kyvsim.languages.classic.validation.rule_parts import is_open
from kyvsim.languages.classic.validation.variables import expression_of
from kyvsim.linting.expressions import list_hint
from kyvsim.linting.fields import ENCODED, QUANTITY, TIME, resolved, type_named, types_matched
from kyvsim.linting.matching import matched_operations
from kyvsim.linting.patterns import few_bytes
from kyvsim.linting.queries import last_field
from kyvsim.linting.traversal import nodes_of, texts_of
from kyvsim.model.diagnostic import Diagnostic, listed
from kyvsim.model.policy import Policy, PolicyException, Rule
from kyvsim.model.request import OPERATIONS
from kyvsim.model.source import Document, place_in_text
from kyvsim.policy.nodes import Node
from kyvsim.policy.read import CONTEXT_SOURCES
from kyvsim.policy.rule import ForEachGeneration, ForEachMutation, ForEachValidation, MutateTarget
from kyvsim.policy.tree import (
    ApiCallEntry,
    Condition,
    ConfigMapEntry,
    ContextEntry,
    GlobalReferenceEntry,
    ImageRegistryEntry,
    VariableEntry,
)
from kyvsim.policy.visit import Text, TextKind, texts_within, walk
from kyvsim.schema.hints import field_hint, value_problem
from kyvsim.schema.merge_types import (
    BOOLEAN,
    DEDUCED,
    NUMERIC,
    STRING,
    FindType,
    ListType,
    MapType,
    Type,
    TypeRef,
    resolve,
    type_finder,
)

_Types: TypeAlias = tuple[Type, ...]
"""The possible types of a value, such as those of the kinds of a rule; () if it is unknown."""
_LOOPS = (ForEachValidation, ForEachMutation, ForEachGeneration)
_OF_USERS = ("request.userInfo", "request.roles", "request.clusterR")
_READING = (
    *("request.object.", "request.oldObject.", "element.", "elementIndex1", "target."),
    *("images.*", "images.con", "images.init", "images.eph"),
    *("apiCall", "configMap", "imageRegistry", "globalReference", *_OF_USERS),
)
"""Rules without these read nothing whose type is known."""
_ON_LISTS = frozenset(
    {"index_expression", "flatten", "projection", "filter_projection", "value_projection"}
)
_EQUALITIES = frozenset({"eq", "ne"})
_BOOLEAN = Type(BOOLEAN)
_DURATION = "duration"
"""The scalar of the results of functions that are durations, such as `24h0m0s`."""
_ORDERING = frozenset({"max", "min", "sort", "max_by", "min_by", "sort_by"})
_ORDERS = ("Greater", "Less")
_OF_BYTES = re.compile(r"\b(?:memory|storage)\b[^.]*$")
_WITH_UNITS = ("cpu", "memory", "storage")
_DECODING = frozenset({"x509_decode", "parse_json", "parse_yaml", "to_number"})
_BY_NAME: Mapping[str, _Types] = {
    "string": (Type(STRING),),
    "number": (Type(NUMERIC),),
    "boolean": (_BOOLEAN,),
    "bool": (_BOOLEAN,),
    "object": (Type(mapping=MapType({}, DEDUCED, atomic=False)),),
}
"""The types of the results of functions."""
_ARGUMENTS: Mapping[str, str] = {
    "bool": "boolean",
    "array[string]": "array",
    "array[number]": "array",
}
"""The types of arguments by other names of functions for them."""


def _list_of(element: TypeRef) -> Type:
    return Type(sequence=ListType(element, None, {}))


def _map_of(fields: Mapping[str, TypeRef], others: TypeRef | None = None) -> Type:
    return Type(mapping=MapType(fields, others, atomic=False))


def _strings(*names: str) -> dict[str, TypeRef]:
    return dict.fromkeys(names, Type(STRING))


_USER = _map_of(
    {**_strings("username", "uid"), "groups": _list_of(Type(STRING)), "extra": DEDUCED}, DEDUCED
)
_IMAGES_OF_GROUP = _map_of(
    {},
    _map_of(_strings("registry", "name", "path", "tag", "digest", "reference", "referenceWithTag")),
)
_IMAGES = _map_of(
    dict.fromkeys(("containers", "initContainers", "ephemeralContainers"), _IMAGES_OF_GROUP),
    _IMAGES_OF_GROUP,
)
"""The variable `images`: by group and container. upstream: pkg/utils/image/infos.go"""
_IMAGE_DATA = _map_of(
    {
        **_strings("image", "resolvedImage", "registry", "repository", "identifier"),
        "manifest": DEDUCED,
        "manifestList": DEDUCED,
        "configData": _map_of(
            {
                **_strings("architecture", "os", "created", "author"),
                "config": _map_of(
                    {
                        **_strings("User", "WorkingDir", "StopSignal"),
                        **dict.fromkeys(("Env", "Entrypoint", "Cmd"), _list_of(Type(STRING))),
                        "Labels": _map_of({}, Type(STRING)),
                        **dict.fromkeys(("ExposedPorts", "Volumes", "Healthcheck"), DEDUCED),
                        **dict.fromkeys(("OnBuild", "Shell"), _list_of(Type(STRING))),
                    }
                ),
            },
            DEDUCED,
        ),
    }
)
"""An entry `imageRegistry`. upstream: pkg/engine/context/loaders/imagedata.go, OCI image-spec"""


class _Reader(NamedTuple):
    """Finds the types of the parts of one expression, and what is wrong with them."""

    expression: str
    problems: list[tuple[str, str]]

    def types(self, tree: Tree, here: _Types) -> _Types:
        """Return the types of a part that is evaluated on a value."""
        parts = [one for one in tree["children"] if isinstance(one, dict)]
        match tree["type"]:
            case "field":
                return self._field(tree, here)
            case "identity" | "current":
                return here
            case "literal":
                return _of_literal(tree["value"])
            case "subexpression" | "pipe":
                return self._chain(parts, here)
            case "function_expression":
                return self._call(tree, parts, here)
            case "multi_select_list" | "multi_select_dict" | "or_expression":
                return self._combined(tree["type"], parts, here)
        found = [self.types(part, here) for part in parts[:1]]
        if tree["type"] in _ON_LISTS:
            return self._of_list(tree["type"], parts, found[0])
        found += [self.types(part, here) for part in parts[1:]]
        if tree["type"] == "comparator":
            self._compare(tree, found, parts, here)
        # Comparisons of values that have no order are null.
        is_boolean = tree["type"] == "not_expression" or tree.get("value") in _EQUALITIES
        return (_BOOLEAN,) if is_boolean else ()

    def _chain(self, parts: list[Tree], here: _Types) -> _Types:
        first, *others = parts
        here = self.types(first, here)
        if first["type"] == "not_expression":
            negated = _NEGATED.search(self.expression)
            meant = f": write `!({negated[1]})`" if negated else ""
            text = f"`!` only applies to the first name{meant}"
            self.problems.append(("KV350", text))
            return ()
        for part in others:
            here = self.types(part, here)
        return here

    def _combined(self, kind: str, parts: list[Tree], here: _Types) -> _Types:
        """Return the types of a multi-select, or of a value with a default."""
        if kind == "multi_select_dict":
            fields = [(one["value"], self.types(one["children"][0], here)) for one in parts]
            return (_map_of({name: _single(types) for name, types in fields}),)
        found = [self.types(one, here) for one in parts]
        if kind == "multi_select_list":
            return tuple(map(_list_of, _either(found))) or (_list_of(DEDUCED),)
        default = parts[1]["value"] if parts[1]["type"] == "literal" else None
        return found[0] if _is_empty_of(found[0], default) else _either(found)

    def _of_list(self, kind: str, parts: list[Tree], owner: _Types) -> _Types:
        """Return the types of an index, a slice or a projection of a value."""
        if kind == "value_projection":
            refs = [one.mapping.others for one in owner if one.mapping and not one.mapping.fields]
            values = tuple(resolved(ref) for ref in refs if ref is not None)
            return tuple(map(_list_of, self.types(parts[1], values))) or (_list_of(DEDUCED),)
        elements = self._elements(parts[0], owner)
        if kind == "index_expression":
            return owner if parts[1]["type"] == "slice" else elements
        if kind == "flatten":
            flat = [resolve(one.sequence.element) if one.sequence else one for one in elements]
            return tuple(map(_list_of, flat)) or ((_list_of(DEDUCED),) if owner else ())
        for condition in parts[2:]:
            self.types(condition, elements)
        return tuple(map(_list_of, self.types(parts[1], elements))) or (_list_of(DEDUCED),)

    def _written(self, tree: Tree) -> str:
        start, end = tree.get("span", (0, 0))
        return self.expression[start:end].strip()

    def _field(self, tree: Tree, here: _Types) -> _Types:
        name = str(tree["value"])
        maps = [one.mapping for one in here if one.mapping is not None]
        found = [resolved(ref) for one in maps if (ref := one.fields.get(name, one.others))]
        if maps and not any(one.fields for one in maps):
            # Labels and the like: see KV305.
            return tuple(one for one in found if one.mapping or one.scalar in {QUANTITY, ENCODED})
        if here and not maps:
            owner = "a list" if any(one.sequence for one in here) else noun_of(here)
            instead = f": write `[].{name}`" if owner == "a list" else ""
            if instead and name == "items":
                instead = ", only the response to an API call has one: write `[]` instead of it"
            self.problems.append(("KV350", f"{owner} has no field `{name}`{instead}"))
        elif maps and not found:
            hint = field_hint(name, {field for one in maps for field in one.fields}, here)
            if hint:
                self.problems.append(("KV328", f"there is no field `{name}` here{hint}"))
        return tuple(found)

    def _elements(self, tree: Tree, owner: _Types) -> _Types:
        lists = [one.sequence for one in owner if one.sequence is not None]
        is_root = any(one.mapping and "request" in one.mapping.fields for one in owner)
        if owner and not lists and not is_root:  # see KV301
            text = (
                f"`{self._written(tree) or '@'}` is {noun_of(owner)}, not a list, so this is null"
            )
            if any(one.mapping and not one.mapping.fields for one in owner):
                text = f"{text}: write `.*` for the values of the map"
            if any(one.mapping and "items" in one.mapping.fields for one in owner):
                text = f"{text}: the objects of a list are in `items`"
            self.problems.append(("KV350", text))
        return tuple(resolve(one.element) for one in lists)

    def _compare(self, tree: Tree, found: list[_Types], parts: list[Tree], here: _Types) -> None:
        for part, types, other in zip(parts, found, found[::-1], strict=True):
            if part["type"] == "field" and not types and _is_text(other) and _is_closed(here):
                name = part["value"]
                is_quoted = f'"{name}"' in self.expression  # reported without types
                if not is_quoted and not any(
                    name in one.mapping.fields for one in here if one.mapping
                ):
                    text = (
                        f"`{name}` is the name of a field, which does not exist here: write "
                        f"`'{name}'` in single quotes for a string"
                    )
                    self.problems.append(("KV303", text))
        left, right = ({one.scalar for one in types} if types else {""} for types in found)
        kinds = {STRING, NUMERIC, BOOLEAN}
        if left <= kinds and right <= kinds and left.isdisjoint(right):
            nouns = f"{noun_of(found[0])} and {noun_of(found[1])}"
            result = "are never equal" if tree["value"] in _EQUALITIES else "cannot be compared"
            if not any(part["type"] == "function_expression" for part in parts):  # see KV304
                text = f"{nouns} {result}: `{self._written(tree)}`{_unquoted(found)}"
                self.problems.append(("KV350", text))
            return
        for types, other in (found, found[::-1]):
            values = {value for one in other for value in one.values}
            problem = values and len(other) == 1 and value_problem(types, values)
            if problem and tree["value"] in _EQUALITIES:
                self.problems.append(("KV349", problem))

    def _call(self, tree: Tree, parts: list[Tree], here: _Types) -> _Types:
        function = function_named(tree["value"])
        found = [() if one["type"] == "expref" else self.types(one, here) for one in parts]
        elements = [
            resolve(one.sequence.element) for types in found for one in types if one.sequence
        ]
        by = {
            index: self.types(one["children"][0], tuple(elements))
            for index, one in enumerate(parts)
            if one["type"] == "expref"
        }
        if function is None:
            return ()
        given_and_taken = zip(parts, found, function.arguments, strict=False)
        for index, (part, types, accepted) in enumerate(given_and_taken):
            given = {name for one in types for name in _names_of(one)}
            takes = {_ARGUMENTS.get(name, name) for name in accepted}
            problem = self._form_problem(tree["value"], part, by.get(index, types))
            if problem:
                self.problems.append(("KV351", problem))
            elif given and "any" not in takes and given.isdisjoint(takes):
                text = (
                    f"`{tree['value']}` takes {listed(takes)}: `{self._written(part)}` is "
                    f"{noun_of(types)}"
                )
                self.problems.append(("KV350", text))
        return _of_result(function, found, tuple(elements), by)

    def _form_problem(self, name: str, part: Tree, types: _Types) -> str:
        """Return why a function does something else to amounts or encoded data, or ""."""
        written = self._written(part)
        elements = [resolve(one.sequence.element) for one in types if one.sequence]
        forms = {one.scalar for one in (elements or types)}
        # Other quantities, such as the number of Pods in a quota, are numbers.
        if forms == {QUANTITY} and not last_field(part).endswith(_WITH_UNITS):
            return ""
        if name in {"sum", "avg"} and forms == {STRING} and elements:
            return f"`{name}` adds numbers and quantities: the elements of `{written}` are texts"
        if forms == {QUANTITY} and name in _ORDERING:
            return (
                f"`{name}` compares the quantities in `{written}` as text, in which `512Mi` is "
                "greater than `4Gi`: compare each in a `foreach`"
            )
        if forms == {QUANTITY} and name == "to_number":
            return (
                f"`to_number` is null for quantities with a unit such as `1Gi`, which `{written}` "
                "may be: compare the quantity itself, with a quantity as the value"
            )
        if forms == {ENCODED} and name in _DECODING:
            return f"the data of a Secret is in base64: write `{name}(base64_decode({written}))`"
        return ""


def _either(found: Iterable[_Types]) -> _Types:
    """Return the types of a value that is one of several; () if those of one are unknown."""
    given = tuple(found)
    every: list[Type] = []
    for one in (one for types in given for one in types):
        if one not in every:  # types have no hash
            every.append(one)
    return tuple(every) if all(given) else ()


def _single(types: _Types) -> TypeRef:
    return types[0] if types and all(one == types[0] for one in types) else DEDUCED


def _is_empty_of(types: _Types, default: Json) -> bool:
    """Return whether a default is an empty list or map, in place of a value of some types."""
    if default == {}:
        return bool(types) and all(one.mapping for one in types)
    return default == [] and bool(types) and all(one.sequence for one in types)


def _unquoted(found: list[_Types]) -> str:
    """Return how to write the string of a comparison as a boolean or number; "" if it is none."""
    kind = next((one.scalar for types in found for one in types if one.scalar != STRING), "")
    for value in (value for types in found for one in types for value in one.values):
        is_meant = value in {"true", "false"} if kind == BOOLEAN else value.isdecimal()
        if is_meant:
            return f" (write `{value}` in backticks instead of quotes)"
    return ""


def _is_text(types: _Types) -> bool:
    return bool(types) and all(one.scalar == STRING and not one.mapping for one in types)


def _is_closed(types: _Types) -> bool:
    """Return whether values of the types have no other fields than those of Kubernetes."""
    maps = [one.mapping for one in types]
    return bool(maps) and all(one and one.fields and one.others is None for one in maps)


def _of_literal(value: Json) -> _Types:
    if isinstance(value, str):
        return (Type(STRING, values=(value,)),)
    if isinstance(value, bool):
        return (_BOOLEAN,)
    if isinstance(value, int | float):
        return (Type(NUMERIC),)
    return (_list_of(DEDUCED),) if isinstance(value, list) else ()


def _names_of(one: Type) -> Iterator[str]:
    """Yield the names that functions use for the values of a type."""
    names = {STRING: ["string"], NUMERIC: ["number"], BOOLEAN: ["boolean"], "": []}
    names |= {ENCODED: ["string"], TIME: ["string"], _DURATION: ["string"]}
    yield from names.get(one.scalar, ["string", "number", "boolean"])
    if one.sequence:
        yield "array"
    if one.mapping:
        yield "object"


def noun_of(types: Iterable[Type]) -> str:
    """Return the name of some types in a message."""
    names = {name for one in types for name in _names_of(one)}
    nouns = {"array": "a list", "object": "a map"}
    return " or ".join(nouns.get(one, f"a {one}") for one in sorted(names))


def _of_result(
    function: Function, found: list[_Types], elements: _Types, by: Mapping[int, _Types]
) -> _Types:
    """Return the types of the result of a function.

    `elements` are the types in its lists, `by` those of the results of its expressions.
    """
    match function.name:
        case "sort" | "sort_by" if all(one.sequence for one in found[0]):
            return found[0]
        case "max_by" | "min_by":
            return elements
        case "map":
            return tuple(map(_list_of, by.get(0, ()))) or (_list_of(DEDUCED),)
        case "not_null":
            return _either(found)
        case "split" | "keys":
            return (_list_of(Type(STRING)),)
        case "time_since" | "time_diff":
            return (Type(_DURATION),)
    if function.returns == ("array",):
        return (_list_of(DEDUCED),)
    return _BY_NAME.get(function.returns[0], ()) if len(function.returns) == 1 else ()


class _RuleTypes(NamedTuple):
    """The types of what the expressions of a rule read."""

    find: FindType
    objects: _Types
    is_cleanup: bool = False
    """Whether there is no request, but the objects are targets."""
    entries: Sequence[ContextEntry] = ()
    loops: Sequence[ForEachValidation | ForEachMutation | ForEachGeneration] = ()
    targets: Sequence[MutateTarget] = ()
    operations: tuple[str, ...] = OPERATIONS
    shared: Mapping[str, _Types] = {}
    """The types of the data of GlobalContextEntries."""

    def scope(self, path: Path, *, before: Path = ()) -> _Types:
        """Return the types of the names at a place; `before` is an entry that uses earlier ones."""
        names: dict[str, _Types] = {"images": (_IMAGES,)}
        if self.is_cleanup:
            names["target"] = self.objects
        for one in self.targets:
            if path[: len(one.path)] == one.path:
                found = type_named(one.api_version, one.kind, self.find)
                names["target"] = (found,) if found else ()
        around = [one for one in self.loops if path[: len(one.path)] == one.path]
        for level, loop in enumerate(around):
            names["element"] = names[f"element{level}"] = self._elements(loop)
        for entry in self.entries:
            if entry.path == before:
                break
            if path[: len(entry.path) - 2] == entry.path[:-2] and "." not in entry.name:
                names[entry.name] = self._entry(entry)
        request: dict[str, _Types] = {
            "operation": (Type(STRING, values=self.operations),),
            "userInfo": (_USER,),
            **dict.fromkeys(("roles", "clusterRoles"), (_list_of(Type(STRING)),)),
        }
        if not self.is_cleanup:
            request |= {"object": self.objects, "oldObject": self.objects}
        number = max((len(one) for one in (*names.values(), self.objects)), default=1)
        return tuple(
            _map_of(
                {**_nth(names, index), "request": _map_of(_nth(request, index), DEDUCED)}, DEDUCED
            )
            for index in range(number or 1)
        )

    def _elements(self, loop: ForEachValidation | ForEachMutation | ForEachGeneration) -> _Types:
        found = self.listed(loop)
        return tuple(resolve(one.sequence.element) for one in found if one.sequence)

    def listed(self, loop: ForEachValidation | ForEachMutation | ForEachGeneration) -> _Types:
        """Return the types of the value over which a loop runs."""
        return self.read(loop.list.strip(), self.scope(loop.path[:-1]))[0]

    def _entry(self, entry: ContextEntry) -> _Types:
        base = self.base(entry)
        query = "" if isinstance(entry, ConfigMapEntry) else entry.jmes_path
        found = self.read(query, base)[0] if query and "{{" not in query else base
        default = entry.default if isinstance(entry, ApiCallEntry | VariableEntry) else None
        if default is None or _is_empty_of(found, default):
            return found
        return _either((found, _of_literal(default)))

    def base(self, entry: ContextEntry) -> _Types:
        """Return the types of the value on which the query of an entry is evaluated."""
        if isinstance(entry, ConfigMapEntry):
            found = type_named("v1", "ConfigMap", self.find)
            return (found,) if found else ()
        if isinstance(entry, ImageRegistryEntry):
            return (_IMAGE_DATA,)
        if isinstance(entry, ApiCallEntry) and not entry.service:
            return _response(entry.url_path, self.find)
        if isinstance(entry, GlobalReferenceEntry):
            return self.shared.get(entry.reference, ())
        if not isinstance(entry, VariableEntry):
            return ()
        scope = self.scope(entry.path, before=entry.path)
        whole = VARIABLE.fullmatch(entry.value.strip()) if isinstance(entry.value, str) else None
        if whole:
            return self.read(expression_of(whole[2]), scope)[0]
        return scope if entry.value is None and entry.jmes_path else ()

    def read(self, expression: str, here: _Types) -> tuple[_Types, list[tuple[str, str]]]:
        """Return the types of an expression, and its problems."""
        reader = _Reader(expression, [])
        try:
            found = reader.types(parse(expression), here)
            if reader.problems:  # again, with the positions that messages need
                reader = _Reader(expression, [])
                reader.types(parse(expression, with_spans=True), here)
        except QuerySyntaxError:
            return (), []
        return found, reader.problems


def _nth(names: Mapping[str, _Types], index: int) -> dict[str, TypeRef]:
    return {name: one[min(index, len(one) - 1)] if one else DEDUCED for name, one in names.items()}


def _response(url_path: str, find: FindType) -> _Types:
    """Return the type of the response to a call of the Kubernetes API; () if it is unknown."""
    steps = (
        VARIABLE.sub(lambda one: f"{one[1]}\0", url_path).partition("?")[0].strip("/").split("/")
    )
    if steps[0] not in {"api", "apis"} or len(steps) < 3:
        return ()
    api_version, rest = steps[1], steps[2:]
    if steps[0] == "apis":
        api_version, rest = "/".join(steps[1:3]), steps[3:]
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        rest = rest[2:]
    group = api_version.rpartition("/")[0]
    kind = kind_of_plural(group, rest[0]) if rest and "\0" not in f"{api_version}{rest[0]}" else ""
    found = type_named(api_version, kind, find) if kind else None
    if found is None or len(rest) > 2 or rest[-1] == "":
        return ()
    if len(rest) > 1:
        return (found,)
    own: dict[str, TypeRef] = dict.fromkeys(("apiVersion", "kind"), Type(STRING))
    return (_map_of({**own, "metadata": DEDUCED, "items": _list_of(found)}),)


def _shared_data(documents: Iterable[Document], find: FindType) -> Iterator[tuple[str, _Types]]:
    """Yield the names of GlobalContextEntries, and the types of their data.

    upstream: pkg/globalcontext/k8sresource/entry.go, a plain list; pkg/globalcontext/externalapi
    """
    for document in documents:
        if text_field(document.data, "kind") != "GlobalContextEntry":
            continue
        spec, name = document.data.get("spec"), text_field(metadata(document.data), "name")
        fields = ("group", "version", "resource")
        values = (value_at(spec, ("kubernetesResource", field)) for field in fields)
        group, version, plural = (one if isinstance(one, str) else "" for one in values)
        url_path = value_at(spec, ("apiCall", "urlPath"))
        if plural:
            kind = kind_of_plural(group, plural)
            api_version = f"{group}/{version}" if group else version
            found = type_named(api_version, kind, find) if kind else None
            yield name, (_list_of(found or DEDUCED),)
        elif isinstance(url_path, str):
            yield name, _response(url_path, find)


def typed_expressions(
    policies: Iterable[Policy],
    kinds: KindTable,
    exceptions: Iterable[PolicyException] = (),
    documents: Iterable[Document] = (),
) -> Iterator[Diagnostic]:
    """KV328, KV349, KV350: what expressions read that no object has, by the types of its fields.

    KV222 for conditions on fields whose type makes them constant. GlobalContextEntries are among
    the documents.
    """
    find = type_finder(kinds)
    shared = dict(_shared_data(documents, find))
    for policy in policies:
        for rule in policy.rules:
            is_limited = _operations(rule) != OPERATIONS
            if contains_text(rule.tree.data, *_READING, *["request.operation"] * is_limited):
                types = _types_of_rule(policy, rule, find, kinds)._replace(shared=shared)
                yield from _problems(policy.document, types, texts_of(rule), nodes_of(rule))
    for one in exceptions:
        if one.conditions:
            spec = one.document.data.get("spec") or {}
            found = tuple(texts_within(spec.get("conditions"), ("spec", "conditions")))
            types = _RuleTypes(find, types_matched(one.match, find, kinds))
            yield from _problems(one.document, types, found, walk(one.conditions))


def typed_expressions_of(policy: Policy) -> Iterator[Diagnostic]:
    """Yield what the expressions of one policy read that no object of Kubernetes' kinds has."""
    return typed_expressions((policy,), NO_KINDS)


def _types_of_rule(policy: Policy, rule: Rule, find: FindType, kinds: KindTable) -> _RuleTypes:
    nodes = nodes_of(rule)
    return _RuleTypes(
        find,
        types_matched(rule.tree.match, find, kinds),
        policy.kind in {"CleanupPolicy", "ClusterCleanupPolicy"},
        [one for one in nodes if isinstance(one, ContextEntry) and one.name],
        [one for one in nodes if isinstance(one, _LOOPS)],
        [one for one in nodes if isinstance(one, MutateTarget)],
        _operations(rule),
    )


def _operations(rule: Rule) -> tuple[str, ...]:
    """Return the operations that a rule matches."""
    every = matched_operations(rule.tree.match)
    return tuple(one for one in OPERATIONS if one in every) or OPERATIONS


def _problems(
    document: Document, types: _RuleTypes, texts: tuple[Text, ...], nodes: Iterable[Node]
) -> Iterator[Diagnostic]:
    keys: dict[Path, _Types] = {}
    for path, expression, here, text in _expressions(types, texts):
        found, problems = types.read(expression, here)
        if VARIABLE.fullmatch(text.strip()):
            keys[path] = found
        for code, problem in dict.fromkeys((*problems, *_missing_loops(types, path, expression))):
            reported = warn(document, code, problem, path)
            if "\n" in text:
                place = place_in_text(document, path, text, max(0, text.find(expression)))
                reported = reported._replace(location=place)
            yield reported
    for loop in types.loops:
        inside = (one.text for one in texts if one.path[: len(loop.path)] == loop.path)
        reads_entries = "[" not in loop.list and any(map(_OF_ENTRIES.search, inside))
        problem = _loop_problem(loop, types.listed(loop)) if reads_entries else ""
        if problem:
            yield warn(document, "KV350", problem, (*loop.path, "list"))
    for node in nodes:
        if isinstance(node, Condition) and (found := keys.get((*node.path, "key"), ())):
            yield from _condition_problems(document, node, found)


_NEGATED = re.compile(r"""!\s*((?:[\w@]+|"[^"]+")(?:\.(?:\w+|"[^"]+")|\[[^]]*\])+)""")
_LEVEL = re.compile(r"(?<![\w.\"'])(element(?:Index)?)(\d+)\b")


def _missing_loops(types: _RuleTypes, path: Path, expression: str) -> Iterator[tuple[str, str]]:
    """Yield KV328 for the element or index of a loop that is not around an expression."""
    if "element" not in expression:
        return
    depth = sum(path[: len(one.path)] == one.path for one in types.loops) - (path[-1] == "list")
    for name, level in _LEVEL.findall(expression):
        if int(level) >= depth > 0:
            text = (
                f"`{name}{level}` has no value: loops are numbered from 0, the outermost one, and "
                f"this is in {depth} (write `{name}` for the innermost one)"
            )
            yield "KV328", text


_OF_ENTRIES = re.compile(r"\belement\d*\.(?:key|value|name)\b|\{\{\s*element\d*\s*\}\}")


def _loop_problem(
    loop: ForEachValidation | ForEachMutation | ForEachGeneration, found: _Types
) -> str:
    """Return that a loop over the entries of a map has one element, the whole map; or ""."""
    maps = [one.mapping for one in found if one.mapping is not None and not one.sequence]
    if not maps or len(maps) < len(found) or any(one.fields for one in maps):
        return ""
    return (
        f"`{loop.list}` is a map, so the loop has one element, the whole map: write "
        f"`items({loop.list}, 'key', 'value')` for a list of its entries"
    )


def _expressions(
    types: _RuleTypes, texts: Iterable[Text]
) -> Iterator[tuple[Path, str, _Types, str]]:
    """Yield each expression with its path, what it is evaluated on, and the string around it."""
    bases = {
        (*one.path, part, "jmesPath"): one for one in types.entries for part in CONTEXT_SOURCES
    }
    scopes: dict[Path, _Types] = {}
    typed = ["bject.", "element", "target", "request.operation", "images.", *_OF_USERS]
    typed += [one.name for one in types.entries]
    for path, text, kind in texts:
        if kind is TextKind.QUERY and "{{" not in text:
            entry = bases.get(path)
            here = types.base(entry) if entry else ()
            yield path, text.strip(), types.scope(path[:-2]) if path[-1] == "list" else here, ""
        elif "{{" in text and kind is not TextKind.CEL and any(one in text for one in typed):
            if path[:-1] not in scopes:
                own = (one.path for one in types.entries if path[: len(one.path)] == one.path)
                scopes[path[:-1]] = types.scope(path, before=next(own, ()))
            for _, found in VARIABLE.findall(text):
                yield path, expression_of(found), scopes[path[:-1]], text


def _condition_problems(document: Document, one: Condition, found: _Types) -> Iterator[Diagnostic]:
    """Yield that a condition has the same result for all values of its key, or compares bytes."""
    operator, value = operators.get(one.operator), one.value
    if operator is None or is_open(value) or value == "null":  # people test for missing fields
        return
    elements = [resolve(each.sequence.element) for each in found if each.sequence]
    problem = value_problem(elements or found, [value] if isinstance(value, str) else value)
    if problem and not _are_operations(found):
        yield warn(document, "KV349", problem, (*one.path, "value"))
        return
    is_quantity = any(each.scalar == QUANTITY for each in found)
    if is_quantity and operator.name.startswith(_ORDERS) and _OF_BYTES.search(str(one.key)):
        meant = few_bytes(value)
        if meant:
            text = f"`{value}` means bytes: write `{meant}`"
            yield warn(document, "KV307", text, (*one.path, "value"))
    # A list that equals one value is found without its type, too.
    if list_hint(operator) and "[" in str(one.key) and any(each.sequence for each in found):
        return
    samples = _samples(found, value, is_order="In" not in operator.name)
    results = {operator.holds(sample, value) for sample in samples}
    # It is no mistake to exclude an operation that the rule does not match anyway.
    if len(results) == 1 and not (_are_operations(found) and True in results):
        word = "always" if results.pop() else "never"
        why = _why_constant(operator, value, found)
        yield warn(document, "KV222", f"the condition is {word} true: {why}", one.path)


def _are_operations(types: _Types) -> bool:
    return bool(types) and all(one.values and {*one.values} <= {*OPERATIONS} for one in types)


def _why_constant(operator: Operator, value: Json, found: _Types) -> str:
    """Return why a condition on a key of some types is constant, and what to write instead."""
    text = f"the key is {noun_of(found)}"
    if _are_operations(found):
        return f"the rule only matches {listed(found[0].values)}"
    if {one.scalar for one in found} == {_DURATION}:
        return "the key is a duration: write a value with a unit, such as `30s` or `720h`"
    if {one.scalar for one in found} == {TIME}:
        return "the key is a time: for an age, compare `time_since('', …, '')`"
    if any(one.sequence and resolve(one.sequence.element).sequence for one in found):
        return f"{text} of lists: write `[]` after each list to join their elements"
    if any(one.sequence for one in found):
        if isinstance(value, int | float):
            return f"{text}: compare its length, `length(…)`"
        of_orders = " (compare each element in a `foreach`)"
        how = of_orders if operator.name.startswith(_ORDERS) else list_hint(operator)
        return f"{text}, and the value is not{how}"
    if isinstance(value, list) and {one.scalar for one in found} == {NUMERIC}:
        how = f"`value: {value[0]}`" if len(value) == 1 else "a condition for each"
        return f"{text}, and a range is not an item of a list: write {how}"
    if isinstance(value, str) and all(one == _BOOLEAN for one in found):
        return f"{text} (write `{value}` without quotes)"
    return text


_OF_SCALARS: Mapping[str, tuple[Json, ...]] = {
    TIME: ("2000-01-01T00:00:00Z", "2100-01-01T00:00:00Z"),
    _DURATION: ("0s", "1s", "1h0m0s", "240000h0m0s", "-240000h0m0s"),
}
"""Values of scalars that show whether a comparison can have both results."""


def _samples(found: _Types, value: Json, *, is_order: bool) -> list[Json]:
    """Return values of types that show whether a condition can have both results; [] if unknown.

    `is_order` is whether the operator compares whole values, not the elements of lists.
    """
    values = value if isinstance(value, list) else [value]
    samples: list[Json] = []
    for one in found:
        if one.scalar == NUMERIC and not one.mapping:
            numbers = _numbers(value)
            if not numbers:
                return []
            samples += numbers
        elif one.scalar == BOOLEAN and not one.mapping:
            samples += [True, False]
        elif one.scalar in _OF_SCALARS and not has_wildcard("".join(map(str, values))):
            samples += [*_OF_SCALARS[one.scalar], *values]
        elif _are_operations((one,)) and len(one.values) < len(OPERATIONS):
            samples += one.values
        elif one.sequence and (inner := resolve(one.sequence.element)).sequence:
            if inner.mapping:
                return []
            samples += [[[]], [values], [[each] for each in values], [[*values, "x"], ["x"]]]
        elif one.sequence and not one.mapping and is_order:
            samples += [[], ["x"], values, [*values, "x"]]
        else:
            return []
    return samples


def _numbers(value: Json) -> list[Json]:
    """Return numbers with which a comparison may have both results; [] if none are known."""
    values = value if isinstance(value, list) else [value]
    numbers = [each for each in values if isinstance(each, int | float)]
    numbers += [int(each) for each in values if isinstance(each, str) and each.isdecimal()]
    if isinstance(value, list):
        ends = [range_ends(each) for each in values if isinstance(each, str)]
        first = [int(each.first) for each in ends if each and each.first.isdecimal()]
        numbers += [*first, *(each + 1 for each in first)]
    has_digits = any(any(map(str.isdigit, each)) for each in values if isinstance(each, str))
    return [0, 1, 1 << 31, -(1 << 31), *numbers] if numbers or not has_digits else []
