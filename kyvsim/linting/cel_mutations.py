"""Checks of CEL mutations and templates: JSON patches, apply configurations, placeholders."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kyvsim.cel.nodes import (
    Call,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
)
from kyvsim.cel.parser import ExpressionSyntaxError, parse
from kyvsim.cel.unparse import written
from kyvsim.kubernetes.discovery import is_builtin, is_namespaced_in_cluster, split_api_version
from kyvsim.linting.cel_logic import demands
from kyvsim.linting.cel_policy import (
    MUTATING,
    CelPolicy,
    ParsedExpression,
    changed_types,
    element_of,
    field_names,
    field_of,
    is_atomic,
    matched_kinds,
)
from kyvsim.linting.fields import (
    key_problem,
    label_problem,
    mistyped_parts,
    type_named,
    unknown_parts,
)
from kyvsim.linting.patches import name_in_list, path_problem, replaced_problem
from kyvsim.linting.references import kind_problem
from kyvsim.model.diagnostic import Diagnostic, listed, nearest
from kyvsim.model.source import place_in_text
from kyvsim.patch.json_patch import OPERATIONS
from kyvsim.policy.read import read_pattern
from kyvsim.schema.hints import field_hint
from kyvsim.schema.merge_types import Type, find_type

UNKNOWN = "\0"
"""Represents the part of a path that is only known during evaluation."""
_WRITES = frozenset({"add", "replace"})


class PatchStep(NamedTuple):
    """One path of a JSON patch that sets values."""

    path: str
    """The path as written, with UNKNOWN for each computed part."""
    operations: frozenset[str]
    """All operations of the expression with this path."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the path."""
        parts = self.path.split("/")[1:]
        return tuple(one.replace("~1", "/").replace("~0", "~") for one in parts)


def steps_of(expression: ParsedExpression) -> tuple[PatchStep, ...]:
    """Return the paths to which a patch writes, as far as its source shows, without duplicates."""
    if not expression.is_mutation("jsonPatch"):
        return ()
    found: dict[str, set[str]] = {}
    for node in expression.nodes():
        if isinstance(node, StructLiteral) and node.type_name.lstrip(".") == "JSONPatch":
            fields = {one.name: one.value for one in node.fields}
            op, path = fields.get("op"), fields.get("path")
            if isinstance(op, Literal) and isinstance(op.value, str) and path is not None:
                found.setdefault(_path_text(path), set()).add(op.value)
    return tuple(
        PatchStep(path, frozenset(operations))
        for path, operations in found.items()
        if path.startswith("/") and operations & _WRITES
    )


def unknown_operations(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV326: an operation that JSON patches do not have, or a new value that is missing.

    upstream: k8s.io/apiserver pkg/admission/plugin/policy/mutating/patch/json_patch.go
    """
    if policy.kind not in MUTATING:
        return
    for one in policy.expressions:
        for node in one.nodes():
            if not isinstance(node, StructLiteral) or node.type_name.lstrip(".") != "JSONPatch":
                continue
            fields = {field.name: field.value for field in node.fields}
            op = fields.get("op")
            name = str(op.value) if isinstance(op, Literal) else ""
            if name in _WRITES and "value" not in fields:
                yield policy.warn("KV326", f"`{name}` without `value` writes null", one.path)
            for field in node.fields:
                value = field.value
                if (
                    field.name != "op"
                    or not isinstance(value, Literal)
                    or value.value in OPERATIONS
                ):
                    continue
                near = nearest(str(value.value), OPERATIONS, 0.5)
                hint = f"did you mean `{near}`?" if near else f"they are {listed(OPERATIONS, 6)}"
                text = (
                    f"`{value.value}` is not an operation of JSON patches, so the policy is an "
                    f"error: {hint}"
                )
                yield policy.warn("KV326", text, one.path)


def _path_text(node: Node) -> str:
    if isinstance(node, Literal) and isinstance(node.value, str):
        return node.value
    if isinstance(node, Call) and node.function == "_+_":
        return "".join(map(_path_text, node.arguments))
    if isinstance(node, Call) and node.function == "escapeKey" and len(node.arguments) == 1:
        inner = _path_text(node.arguments[0])
        return inner.replace("~", "~0").replace("/", "~1")
    return UNKNOWN


_PARENTS: Mapping[str, str] = {
    "/metadata/labels": "labels",
    "/metadata/annotations": "annotations",
    "/metadata/finalizers": "finalizers",
    "/spec/nodeSelector": "nodeSelector",
}
"""Fields that API servers never set by default, by path, with their names."""
_LABELLED = frozenset({"Namespace", "Node"})
"""Kinds whose objects always have labels in a cluster."""


def absent_parents(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV261: a JSON patch below a field that may be missing, without a test for the field.

    Objects without the field cause an error. upstream: github.com/evanphx/json-patch patch.go
    """
    for one, _, parent in steps_below_absent(policy) if policy.kind in MUTATING else ():
        text = (
            f"the patch always fails: a condition requires that `{parent}` is missing (add "
            f"`{parent}` with the value)"
        )
        yield policy.warn("KV261", text, one.path)
    for one, step in steps_without_parent(policy):
        parent = step.path.rpartition("/")[0]
        text = (
            f"the patch fails on objects without `{parent}`, and nothing checks for "
            f"`{_PARENTS[parent]}`: first add `{parent}` if it is missing"
        )
        yield policy.warn("KV261", text, one.path)


def steps_below_absent(policy: CelPolicy) -> Iterator[tuple[ParsedExpression, PatchStep, str]]:
    """Yield the patch steps below a field of which a condition says that it is missing."""
    absent = {
        written(atom.operand)
        for one in policy.expressions
        if one.list_name == "matchConditions" and one.path[-1] == "expression"
        for atom in demands(one.root)
        if atom.relation == "not has"
    }
    for one in policy.expressions if absent else ():
        steps = steps_of(one)
        made = {step.path for step in steps}
        for step in steps:
            parent = step.path.rpartition("/")[0]
            if f"object{parent.replace('/', '.')}" in absent and parent not in made:
                yield one, step, parent


def steps_without_parent(policy: CelPolicy) -> Iterator[tuple[ParsedExpression, PatchStep]]:
    """Yield the patch steps below a field that objects may lack, with their expressions."""
    if policy.kind not in MUTATING:
        return
    steps = [(one, step) for one in policy.expressions for step in steps_of(one)]
    made = {step.path for _, step in steps}
    for one, step in steps:
        parent, _, key = step.path.rpartition("/")
        field = _PARENTS.get(parent)
        if field is None or parent in made or (key in {"", UNKNOWN} and field != "labels"):
            continue
        if not _knows_field(policy, field):
            yield one, step


def _knows_field(policy: CelPolicy, field: str) -> bool:
    constraints = policy.spec.match_constraints
    if field == "labels":
        kinds = matched_kinds(policy.spec)
        if not kinds or any(one.kind in _LABELLED for one in kinds):
            return True
        if constraints is not None and constraints.selects_objects:
            return True
    return policy.spec.target_match_constraints is not None or policy.mentions(field)


_MAPS = frozenset({"labels", "annotations", "nodeSelector", "matchLabels", "data", "stringData"})
"""Fields with free keys, for which API servers have no default entries."""


def added_by_replace(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV267: a JSON patch with `replace` for an untested entry, which it may add.

    upstream: gopkg.in/evanphx/json-patch.v4 patch.go, which sets map entries unconditionally
    """
    if policy.kind not in MUTATING or policy.spec.target_match_constraints:
        return
    steps = [(one, step) for one in policy.expressions for step in steps_of(one)]
    apart = {step.path for _, step in steps if step.operations != {"replace"}}
    apart |= {step.path for _, step in steps_without_parent(policy)}
    for one, step in steps:
        *way, key = step.keys
        if not way or way[-1] not in _MAPS or UNKNOWN in step.path or step.path in apart:
            continue
        constraints = policy.spec.match_constraints
        selector = constraints and constraints.object_selector
        if not (_contains(selector, key) or policy.mentions(key)):
            text = (
                f"`replace` adds `{key}` to objects that do not have it, and nothing in the "
                "policy tests for it (use `add` if that is intended, or add a condition)"
            )
            yield policy.warn("KV267", text, one.path)


def _contains(value: object, key: str) -> bool:
    if isinstance(value, dict):
        return key in value or any(_contains(one, key) for one in value.values())
    if isinstance(value, list):
        return any(_contains(one, key) for one in value)
    return bool(value == key)


def replaced_by_add(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV382: a JSON patch that adds a whole list or map, and so replaces the one that is there.

    upstream: RFC 6902 section 4.1
    """
    types = changed_types(policy)
    for one in policy.expressions if types else ():
        for node in one.nodes() if one.is_mutation("jsonPatch") else ():
            if not isinstance(node, StructLiteral) or node.type_name.lstrip(".") != "JSONPatch":
                continue
            fields = {field.name: field.value for field in node.fields}
            op, place, value = (fields.get(name) for name in ("op", "path", "value"))
            if not isinstance(op, Literal) or op.value != "add" or place is None:
                continue
            step = PatchStep(_path_text(place), frozenset())
            key = step.keys[-1] if step.keys else ""
            if not isinstance(value, ListLiteral | MapLiteral) or policy.mentions(key):
                continue
            problem = replaced_problem(
                _shown(step), key, _types_at(step, types), is_list=isinstance(value, ListLiteral)
            )
            if problem:
                found = policy.warn("KV382", problem, one.path)
                document = policy.policy.document
                at = place_in_text(document, one.path, one.text, place.at)
                yield found._replace(location=at)


def _types_at(step: PatchStep, types: Sequence[Type]) -> list[Type]:
    """Return the types of the field at a path, of the kinds that have it."""
    here = list(types)
    for key in step.keys:
        below = (field_of(one, key) if one.mapping else element_of(one) for one in here)
        here = [one for one in below if one is not None]
    return here


_NEAR = 0.8
_TEMPLATES = (("spec", "template"), ("spec", "jobTemplate", "spec", "template"))


def unknown_paths(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV260: a path of a JSON patch that none of the policy's kinds has: a cluster drops the value.

    Only typos are reported, since newer versions of Kubernetes may have other fields.
    """
    types = () if policy.is_moved else changed_types(policy)
    if not types:
        return
    for one in policy.expressions:
        for step in steps_of(one):
            meant = _meant(step, types)
            if meant:
                text = (
                    f"no kind that the policy matches has a field at `{_shown(step)}`: "
                    f"did you mean `{meant}`?"
                )
                yield policy.warn("KV260", text, one.path)


def _meant(step: PatchStep, types: Sequence[Type]) -> str:
    ends = [_walk(one, step.keys) for one in types]
    if any(end is None for end in ends):
        return ""
    for root in types:
        for way in _TEMPLATES:
            if _walk(root, way) is None and _walk(root, (*way, *step.keys)) is None:
                return "/".join(("", *way, _shown(step)[1:]))
    for at, key, known in filter(None, ends):
        if near := nearest(key, known, _NEAR):
            keys = (*step.keys[:at], near, *step.keys[at + 1 :])
            escaped = (one.replace("~", "~0").replace("/", "~1") for one in keys)
            return "".join(f"/{one}" for one in escaped).replace(UNKNOWN, "…")
    return ""


def _walk(root: Type, keys: Sequence[str]) -> tuple[int, str, tuple[str, ...]] | None:
    """Return where a path ends too early: index, key, and existing fields; None if it exists."""
    here: Type | None = root
    for index, key in enumerate(keys):
        if here is None:
            return None
        known = tuple(field_names(here))
        if here.mapping is not None and here.mapping.others is None:
            if UNKNOWN in key:
                return None
            if key not in known:
                return index, key, known
        here = field_of(here, key) if here.mapping is not None else element_of(here)
    return None


def _shown(step: PatchStep) -> str:
    return step.path.replace(UNKNOWN, "…")


def set_fields(
    expression: ParsedExpression, types: Sequence[Type]
) -> Iterator[tuple[str, tuple[Type | None, ...]]]:
    """Yield the dotted name of each field that typed objects set, once, and its type by kind.

    Fields of an object that a kind does not have are omitted: their parent is reported.
    """
    if not expression.is_mutation("applyConfiguration"):
        return
    seen = set()
    for node in expression.nodes():
        if not isinstance(node, StructLiteral):
            continue
        root, *way = node.type_name.lstrip(".").split(".")
        owners = [_below(one, way) for one in types] if root == "Object" else []
        for field in node.fields:
            name = ".".join((*way, field.name))
            if not owners or None in owners or name in seen:
                continue
            seen.add(name)
            yield name, tuple(field_of(one, field.name) for one in owners if one is not None)


def _below(found: Type, way: Sequence[str]) -> Type | None:
    """Return the type of the objects at a path of fields; lists represent their elements."""
    here: Type | None = found
    for name in way:
        here = field_of(here, name) if here is not None else None
        here = (element_of(here) or here) if here is not None and here.mapping is None else here
    return here if here is not None and here.mapping is not None else None


_ALTERNATIVES: Mapping[str, str] = {
    "MutatingPolicy": "set `spec.evaluation.useServerSideApply: true`, or write a JSON patch",
    "MutatingAdmissionPolicy": "write a JSON patch",
}


def atomic_fields(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV258: an apply configuration that sets an atomic list or map.

    upstream: k8s.io/apiserver pkg/admission/plugin/policy/mutating/patch/smd.go
    """
    types = changed_types(policy)
    if not types or policy.spec.evaluation.use_server_side_apply:
        return
    for one in policy.expressions:
        for name, found in set_fields(one, types):
            if all(kind is not None and is_atomic(kind) for kind in found):
                text = (
                    f"`{name}` is an atomic list or map, which an apply configuration cannot set: "
                    f"{_ALTERNATIVES[policy.kind]}"
                )
                yield policy.warn("KV258", text, one.path)


def rejected_labels(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV327: constant keys and labels in written objects that an API server rejects."""
    for one in policy.expressions if policy.kind in _WRITING else ():
        for node in one.nodes() if "labels" in one.text or "annotations" in one.text else ():
            for holder, value in _fields_of_metadata(node):
                for entry in value.entries if isinstance(value, MapLiteral) else ():
                    key, text = (
                        part.value if isinstance(part, Literal) else None
                        for part in (entry.key, entry.value)
                    )
                    problem = key_problem(holder, key) if isinstance(key, str) else ""
                    problem = problem or label_problem(holder, text)
                    if problem:
                        yield policy.warn("KV327", problem, one.path)


_WRITING = MUTATING | {"GeneratingPolicy"}


def _fields_of_metadata(node: Node) -> Iterator[tuple[str, Node]]:
    """Yield the labels and annotations of an object that is written as a struct or map."""
    fields: list[tuple[object, Node]] = []
    if isinstance(node, StructLiteral) and node.type_name.endswith(".metadata"):
        fields = [(one.name, one.value) for one in node.fields]
    elif isinstance(node, MapLiteral):
        maps = [one.value for one in node.entries if _is_text(one.key, "metadata")]
        entries = [one for each in maps if isinstance(each, MapLiteral) for one in each.entries]
        fields = [(one.key.value, one.value) for one in entries if isinstance(one.key, Literal)]
    for name, value in fields:
        if name in {"labels", "annotations"}:
            yield str(name), value


def _is_text(node: Node, text: str) -> bool:
    return isinstance(node, Literal) and node.value == text


def undeclared_fields(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV259: a field in an apply configuration that none of the policy's kinds has.

    upstream: sigs.k8s.io/structured-merge-diff/v6 typed/validate.go
    """
    types = changed_types(policy)
    for one in policy.expressions if types else ():
        for name, found in set_fields(one, types):
            if not any(found):
                *way, last = name.split(".")
                owners = [owner for owner in (_below(one, way) for one in types) if owner]
                known = {field for owner in owners for field in field_names(owner)}
                hint = field_hint(last, known, owners)
                text = (
                    f"no kind that the policy matches has a field `{name}`, so setting it is an "
                    f"error{hint}"
                )
                yield policy.warn("KV259", text, one.path)


def misplaced_types(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV259: an object in a field of an apply configuration whose type is that of another field.

    upstream: k8s.io/apiserver pkg/cel/mutation, whose types are named by their paths
    """
    for one in policy.expressions:
        for node in one.nodes() if one.is_mutation("applyConfiguration") else ():
            if not isinstance(node, StructLiteral):
                continue
            for field in node.fields:
                value = field.value
                for part in value.elements if isinstance(value, ListLiteral) else (value,):
                    meant = f"{node.type_name}.{field.name}"
                    if isinstance(part, StructLiteral) and part.type_name != meant:
                        text = (
                            f"the type of the field `{field.name}` here is `{meant}`, not "
                            f"`{part.type_name}`, so the policy is an error"
                        )
                        yield policy.warn("KV259", text, one.path)


def elements_without_keys(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV362: an element of a list in an apply configuration, without the keys to merge it by.

    upstream: sigs.k8s.io/structured-merge-diff/v6 typed/helpers.go (keyedAssociativeListItem...)
    """
    every = [one for one in policy.expressions if one.is_mutation("applyConfiguration")]
    types = changed_types(policy) if every else ()
    for one in every if types else ():
        for node in one.nodes():
            if not isinstance(node, StructLiteral):
                continue
            root, *way = node.type_name.lstrip(".").split(".")
            given = {field.name for field in node.fields}
            missing = [_missing_key(found, way, given) for found in types if root == "Object"]
            if missing and all(missing):
                text = (
                    f"elements of `{'.'.join(way)}` are merged by `{missing[0]}`: without it, this "
                    f"one is added as a new element (set it, such as `{missing[0]}: "
                    f"e.{missing[0]}`)"
                )
                yield policy.warn("KV362", text, one.path)


def _missing_key(root: Type, way: Sequence[str], given: Iterable[str]) -> str:
    """Return the key that an element of the list at a path lacks, "" if it is complete."""
    *above, last = way or ("",)
    owner = _below(root, above)
    found = field_of(owner, last) if owner is not None else None
    sequence = found.sequence if found is not None and found.mapping is None else None
    keys = sequence.keys if sequence is not None else None
    return next((key for key in keys or () if key not in given and key not in _DEFAULTED), "")


_DEFAULTED = frozenset({"protocol"})
"""Keys of elements that have a default."""


_COMPUTED = "{{ }}"
"""Represents a value that is only known during evaluation."""


def generated_objects(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV215, KV225, KV327: objects in expressions of a GeneratingPolicy that are not valid."""
    for one in policy.expressions if policy.kind == "GeneratingPolicy" else ():
        for node in one.nodes():
            data = _plain(node)
            if not isinstance(data, dict) or "metadata" not in data or data.keys() <= _HEADS:
                continue
            api_version, kind = data.get("apiVersion"), data.get("kind")
            missing = _missing_heads(data)
            if len(missing) == 1:
                text = f"an API server rejects the generated object: it has no `{missing[0]}`"
                yield policy.warn("KV327", text, one.path)
            if missing or _COMPUTED in {api_version, kind}:
                continue
            if problem := kind_problem(str(api_version), str(kind)):
                yield policy.warn("KV215", problem, one.path)
            found = type_named(str(api_version), str(kind), find_type)
            pattern = read_pattern(data, ())
            if found is None or pattern is None:
                continue
            for path, noun in mistyped_parts(pattern.root, (found,)):
                name = ".".join(map(str, path))
                text = f"an API server rejects this value: `{name}` must be {noun}"
                yield policy.warn("KV327", text, one.path)
            for path, hint in unknown_parts(pattern.root, (found,)):
                text = f"the generated kind does not have the field `{'.'.join(map(str, path))}`"
                yield policy.warn("KV225", f"{text}{hint}", one.path)


def _missing_heads(data: Mapping[object, object]) -> list[str]:
    """Return what an object lacks that each object has; a part of an object lacks several."""
    missing = [name for name in ("apiVersion", "kind") if name not in data]
    named = data["metadata"]
    if missing or not isinstance(named, dict):
        return missing
    is_named = not named.keys().isdisjoint({"name", "generateName", _COMPUTED})
    return [] if is_named else ["metadata.name"]


def misplaced_objects(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV327: objects that are generated without a namespace; KV314: in one, but have none.

    upstream: pkg/cel/libs/context.go `GenerateResources`
    """
    for one in policy.expressions if policy.kind == "GeneratingPolicy" else ():
        for node in one.nodes():
            if not isinstance(node, Call) or node.function not in {"Apply", "apply"}:
                continue
            *place, objects = node.arguments
            namespace = place[0].value if place and isinstance(place[0], Literal) else None
            made = _plain(objects)
            for data in made if isinstance(made, list) else ():
                head = data if isinstance(data, dict) else {}
                api_version, kind = head.get("apiVersion"), head.get("kind")
                group = split_api_version(str(api_version))[0]
                if _COMPUTED in {api_version, kind} or not is_builtin(group, str(kind)):
                    continue
                is_inside = is_namespaced_in_cluster(group, str(kind))
                if not place and not is_inside:
                    text = f"a namespaced policy cannot generate a {kind}, which has no namespace"
                    yield policy.warn("KV314", text, one.path)
                elif namespace == "" and is_inside:
                    text = f"an API server rejects a {kind} without a namespace: `Apply` needs one"
                    yield policy.warn("KV327", text, one.path)


_HEADS = frozenset({"metadata"})


def _plain(node: Node) -> object:
    """Return the value of a literal, with `_COMPUTED` for other parts."""
    if isinstance(node, Call) and node.function == "dyn" and node.target is None:
        return _plain(node.arguments[0])
    if isinstance(node, Literal):
        return node.value
    if isinstance(node, ListLiteral):
        return [_plain(one) for one in node.elements]
    if isinstance(node, MapLiteral):
        keys = [_plain(one.key) for one in node.entries]
        return dict(zip(keys, (_plain(one.value) for one in node.entries), strict=True))
    return _COMPUTED


_PLACEHOLDER = re.compile(r"(?<![$\\(])\(\(([^()\n]+(?:\([^()\n]*\)[^()\n]*)*)\)\)")
"""An expression in two parentheses; `$((` is shell arithmetic."""
_VARIABLES = frozenset({"object", "oldObject", "request", "variables", "namespaceObject"})


def unfilled_templates(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV263: a template whose placeholders are not substituted, because `interpolate` is not set.

    upstream: pkg/cel/policies/gpol/template, `interpolate` is none by default
    """
    if policy.kind != "GeneratingPolicy":
        return
    for one in policy.spec.generate or ():
        template = one.template
        if template is None or template.interpolate == "cel":
            continue
        for found in _PLACEHOLDER.finditer(template.value):
            if _is_expression(found[1], policy):
                text = (
                    f"`{found[0]}` is not evaluated and stays in the object as text: set "
                    "`interpolate: cel` next to the template"
                )
                yield policy.warn("KV263", text, template.path)
                break


def _is_expression(text: str, policy: CelPolicy) -> bool:
    try:
        parsed = ParsedExpression((), text, parse(text, policy.env.macros))
    except ExpressionSyntaxError:
        return False
    owners = (node.operand for node in parsed.nodes() if isinstance(node, Select))
    return any(isinstance(owner, Ident) and owner.name in _VARIABLES for owner in owners)


def misread_paths_in_cel(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV330 for the constant paths of mutations in CEL."""
    for one in policy.expressions if policy.kind in MUTATING else ():
        for node in one.nodes():
            fields = node.fields if isinstance(node, StructLiteral) else ()
            path = next((each.value for each in fields if each.name == "path"), None)
            text = path.value if isinstance(path, Literal) else "/"
            if isinstance(text, str) and not text.startswith("/"):
                problem = f"a path of a JSON patch begins with a slash: write `/{text}`"
                yield policy.warn("KV330", problem, one.path)
        for step in steps_of(one):
            problem, meant = path_problem(step.path)
            problem = problem or name_in_list(step.path, in_cel=True)
            if problem:
                instead = (step.path, meant) if meant else None
                yield policy.warn("KV330", problem, one.path, instead=instead)
