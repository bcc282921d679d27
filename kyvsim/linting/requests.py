"""Checks of what rules read from requests and write to objects: values that never exist."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import TypeAlias

from kyvsim.engine.compile.compiled import warn
from kyvsim.engine.conditions import operators
from kyvsim.jmespath import QueryError, QuerySyntaxError, compile_query
from kyvsim.jmespath.variables import VARIABLE
from kyvsim.kubernetes.discovery import NO_KINDS, parse_kind_selector
from kyvsim.kubernetes.lifetimes import TTL_LABEL
from kyvsim.kubernetes.objects import Json, Path, contains_text
from kyvsim.kubernetes.wildcard import Comparison, has_wildcard
from kyvsim.languages.classic.autogen import compute_rules
from kyvsim.languages.classic.validation.rule_parts import is_open
from kyvsim.languages.classic.validation.variables import expression_of
from kyvsim.linting.cel_fields import is_optional
from kyvsim.linting.documents import lifetime_problems
from kyvsim.linting.fields import types_matched
from kyvsim.linting.matching import cluster_kinds, matched_operations, not_in_body
from kyvsim.linting.patterns import validation_patterns
from kyvsim.linting.traversal import (
    expressions_in,
    joined_texts,
    nodes_of,
    texts_of,
    texts_of_preconditions,
)
from kyvsim.model.diagnostic import ChangeKind, Diagnostic, Fix, change, listed
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.ports import BudgetError, still_system
from kyvsim.policy.anchors import CONDITION, EQUALITY, GLOBAL, NEGATION
from kyvsim.policy.autogen import ANNOTATION
from kyvsim.policy.rule import (
    Clone,
    CloneList,
    ForEachMutation,
    ForEachValidation,
    GenerateTarget,
    MutateTarget,
    RuleNode,
)
from kyvsim.policy.tree import (
    Condition,
    PatternEntry,
    PatternLeaf,
    PatternList,
    PatternMap,
    PatternNode,
)
from kyvsim.policy.visit import TextKind, written_at
from kyvsim.schema.merge_types import find_type

_NAMESPACE = re.compile(r"request\.(?:object|oldObject)\.metadata\.namespace\b")
_OF_REQUEST = re.compile(r"request\.namespace\b")


def missing_namespaces(policy: Policy) -> Iterator[Diagnostic]:
    """KV316: the namespace of an object that is cluster-scoped."""
    for rule in policy.rules:
        found = [cluster_kinds(one) for one in rule.tree.match.effective]
        kinds = frozenset[str]().union(*found) if all(found) else frozenset()
        for path, expression in expressions_in(texts_of(rule)) if kinds else ():
            read = _NAMESPACE.search(expression)
            if read is None and "Namespace" not in kinds:
                read = _OF_REQUEST.search(expression)
            if read is None or "||" in expression:
                continue
            text = f"`{read[0]}` has no value: {listed(kinds)} objects have no namespace"
            instead = None
            if kinds == {"Namespace"}:
                text = f"{text} (the name is in `request.object.metadata.name`)"
                instead = read[0], read[0].replace("namespace", "name")
            yield warn(policy.document, "KV316", text, path, instead=instead)
        for pattern in validation_patterns(rule.tree) if kinds else ():
            for one in _fields_of(pattern.root, "metadata"):
                if one.key == "namespace" and one.anchor != NEGATION:
                    text = f"`metadata.namespace` has no value: {listed(kinds)} objects have none"
                    yield warn(policy.document, "KV316", text, one.path)


_FIELD = re.compile(r"""(request\.object|element)((?:\.(?:\w+|"[^"]+")|\[\d+\])+)""")
_STEP = re.compile(r"""\.(\w+)|\."([^"]+)"|\[\d+(\])""")
_COUNTED = re.compile(
    r"""(?P<of>length\()?(?P<read>(?:request\.object)(?P<steps>(?:\.\w+)+)\[(?:\?|\*?\])[^|]*?)"""
    r"""(?(of)\)|\|\s*length\(@\))"""
)
"""The number of some elements of a list."""
_LIST = re.compile(r"request\.object((?:\.\w+)*\.)(?:(\w+)|\[([\w, ]+)\])(?:\[\])?")
_CONTAINERS = frozenset({"containers", "initContainers", "ephemeralContainers"})
_LABELS = frozenset({"labels", "annotations"})
_EVERYWHERE = frozenset({"metadata", "spec", "template", "labels", "annotations", "[]"})
"""Names that do not show which field a text is about."""


def optional_fields(policy: Policy) -> Iterator[Diagnostic]:
    """KV373: a condition on a field that an object may lack, without a default.

    upstream: pkg/engine/variables/vars.go; fields marked as optional in k8s.io/api
    """
    for rule in policy.rules:
        reads = (*_field_reads(rule), *_field_copies(rule))
        kinds, may_lack = _whole_kinds(rule) if reads else (frozenset(), None)
        if may_lack is None or matched_operations(rule.tree.match) == {"DELETE"}:
            continue
        if len(kinds) > 1 and contains_text(texts_of_preconditions(rule), "kind"):
            continue  # the rule may read the field of one kind only
        texts = [one for one in texts_of(rule) if one.path[-1] not in {"message", "name"}]
        for path, whole, read, steps, default in reads:
            optional = (at for at in range(1, len(steps)) if may_lack(("object", *steps[: at + 1])))
            missing = next(optional, 0)
            names = {*steps[missing:]} - _EVERYWHERE
            others = [each.text for each in texts if each.text != whole]
            if path[-1] != "key":
                # Variables are replaced before the anchors of a pattern are evaluated.
                others = [*filter(_OF_OBJECT.search, others), *texts_of_preconditions(rule)]
            # Another text, or the match block, may make sure that the field is there.
            if missing and not contains_text([*others, rule.tree.data.get("match")], *names):
                text = f"`{read}` may be missing, which is an error: write `{read} || {default}`"
                if path[-1] != "key":
                    text = f"{text}, or test it in `preconditions`"
                yield warn(policy.document, "KV373", text, path)


_MayLack = Callable[[tuple[str, ...]], bool]
"""Tells whether an object may have nothing at a path; see `is_optional`."""


def _whole_kinds(rule: Rule) -> tuple[frozenset[str], _MayLack | None]:
    """Return the kinds that a rule matches, and what their objects may lack.

    Returns no kinds and None if objects of requests may have others.
    """
    match = rule.tree.match
    selectors = [parse_kind_selector(text) for one in match.filters for text in one.kinds]
    kinds = frozenset(one.kind for one in selectors)
    if not kinds or any(one.subresource or has_wildcard(one.kind) for one in selectors):
        return frozenset(), None
    types = types_matched(match, find_type, NO_KINDS)
    return kinds, partial(is_optional, kinds=kinds, types=types, is_outside=False)


_Read: TypeAlias = tuple[Path, str, str, tuple[str, ...], str]
"""Where a field is read, the text there, the expression, the path in objects, and a default."""
_OF_OBJECT = re.compile(r"\b(?:request|target|element)\b")
_COPIED = re.compile(r"request\.object((?:\.(?:\w+|\"[^\"]+\"))+)")
_MAPS = frozenset({"labels", "annotations", "nodeSelector", "data"})
_SECTIONS = frozenset({"patchStrategicMerge", "pattern", "generate"})


def _field_copies(rule: Rule) -> Iterator[_Read]:
    """Yield the fields whose values are part of a patch, a pattern, or a generated object.

    The author of a rule for single objects, which are matched by name, may know their fields.
    """
    filters = rule.tree.match.effective
    if filters and all(one.all_names for one in filters):
        return
    for one in texts_of(rule):
        if "request.object." not in one.text or _SECTIONS.isdisjoint(one.path):
            continue
        for _, variable in VARIABLE.findall(one.text):
            read = expression_of(variable)
            found = _COPIED.fullmatch(read)
            parts = _STEP.findall(found[1]) if found else ()
            steps = tuple(name or quoted for name, quoted, _ in parts)
            if len(steps) > 1:
                yield one.path, one.text, read, steps, "`{}`" if steps[-1] in _MAPS else "''"


def _field_reads(rule: Rule) -> Iterator[_Read]:
    """Yield the conditions whose whole key is a field.

    Those on missing labels and annotations are left out: see KV356.
    """
    nodes = nodes_of(rule)
    loops = [one for one in nodes if isinstance(one, ForEachValidation | ForEachMutation)]
    for one in nodes:
        if isinstance(one, Condition) and one.value is not None:
            read, steps = _field_read(one, loops)
            default = {bool: "`false`", int: "`0`"}.get(type(one.value), "''")
            if not _FIELD.fullmatch(read):
                default = "`[]`"
            if len(steps) > 1 and not (one.value == "" and _LABELS & {*steps}):
                yield (*one.path, "key"), str(one.key), read, steps, default


def _field_read(
    condition: Condition, loops: Iterable[ForEachValidation | ForEachMutation]
) -> tuple[str, tuple[str, ...]]:
    """Return the expression that is a condition's whole key, and the path of its field in objects.

    The path is empty for other expressions than fields of an object or of an element of its lists,
    and than the number of elements of a list.
    """
    key = condition.key
    found = VARIABLE.fullmatch(key.strip()) if isinstance(key, str) else None
    expression = expression_of(found[2]) if found else ""
    read = _FIELD.fullmatch(expression)
    if read is None:
        counted = _COUNTED.fullmatch(expression)
        return (counted["read"], (*counted["steps"][1:].split("."),)) if counted else ("", ())
    steps = tuple(name or quoted or "[]" for name, quoted, _ in _STEP.findall(read[2]))
    if read[1] == "element":
        around = [one for one in loops if condition.path[: len(one.path)] == one.path]
        over = _LIST.fullmatch(around[0].list.strip()) if len(around) == 1 else None
        names = {over[2]} if over and over[2] else {*re.split(", *", over[3])} if over else set()
        if over is None or not (len(names) == 1 or names <= _CONTAINERS):
            return "", ()
        steps = (*over[1].strip(".").split("."), min(names), "[]", *steps)
    return read[0], steps


_ONLY_TRUE = frozenset({"hostNetwork", "hostPID", "hostIPC"})
"""Booleans that an API server omits unless they are true."""


def required_by_negations(policy: Policy) -> Iterator[Diagnostic]:
    """KV374: a pattern that requires an optional field, but only forbids something of it.

    upstream: pkg/engine/validate/validate.go; fields marked as optional in k8s.io/api
    """
    for rule in policy.rules:
        section, match = rule.tree.validate, rule.tree.data.get("match")
        if section is None or section.pattern is None:
            continue
        _, may_lack = _whole_kinds(rule)
        if may_lack is None:
            continue
        for entry in _forbidding(section.pattern.root, ("object",), may_lack):
            key = entry.key
            # What selects objects may make sure that they have the field.
            found = contains_text(match, "selector" if key == "labels" else key)
            if found or contains_text(texts_of_preconditions(rule), key):
                continue
            why = f"the pattern fails for objects without `{key}`, although it only forbids values"
            if key in _ONLY_TRUE:
                why = f"an API server omits `{key}` unless it is true, so the pattern always fails"
            yield warn(policy.document, "KV374", f"{why}: write `=({key})`", entry.path)


def _forbidding(
    node: PatternNode, steps: tuple[str, ...], may_lack: _MayLack
) -> Iterator[PatternEntry]:
    """Yield the entries without anchor for optional fields whose values only forbid something."""
    if isinstance(node, PatternList):
        for item in node.items:
            yield from _forbidding(item, (*steps, "[]"), may_lack)
    entries = node.entries if isinstance(node, PatternMap) else ()
    # A condition may select the objects that have the field.
    are_selected = any(one.anchor in {CONDITION, GLOBAL} for one in entries)
    for entry in entries:
        at = (*steps, entry.key)
        # A value of a label may be forbidden for objects that need the label.
        is_plain = entry.anchor is None and steps[-1] not in {"labels", "annotations"}
        if is_plain and _only_forbids(entry, is_in_list=steps[-1] == "[]") and may_lack(at):
            if entry.key in _ONLY_TRUE or not are_selected:
                yield entry
        elif entry.anchor in {None, EQUALITY} and not are_selected:
            yield from _forbidding(entry.value, at, may_lack)


def _only_forbids(entry: PatternEntry, *, is_in_list: bool) -> bool:
    value = entry.value
    if isinstance(value, PatternLeaf):
        atoms = [atom for alternative in value.alternatives for atom in alternative]
        if entry.key in _ONLY_TRUE:
            return value.data in (False, "false", "!true")
        if is_in_list:
            return False  # an element without the field may be what the pattern forbids
        return bool(atoms) and all(
            isinstance(one, Comparison) and one.operator == "!" and one.operand.strip("*?")
            for one in atoms
        )
    maps = value.items if isinstance(value, PatternList) else (value,)
    return bool(maps) and all(
        isinstance(one, PatternMap)
        and one.entries
        and all(inner.anchor in {NEGATION, EQUALITY} for inner in one.entries)
        for one in maps
    )


def _fields_of(pattern: PatternNode, key: str) -> Iterator[PatternEntry]:
    """Yield the entries of a map in a pattern."""
    for entry in pattern.entries if isinstance(pattern, PatternMap) else ():
        if entry.key == key and isinstance(entry.value, PatternMap):
            yield from entry.value.entries


_OF_POD = re.compile(
    r"request\.(?:object|oldObject)\.metadata\."
    r"(name|namespace|uid|generateName|ownerReferences|creationTimestamp|resourceVersion)\b"
)
"""Fields of Pods that the metadata of Pod templates do not have."""
_LOST = frozenset(
    {"name", "namespace", "uid", "generateName", "ownerReferences", "creationTimestamp"}
)


def lost_metadata(policy: Policy) -> Iterator[Diagnostic]:
    """KV317: metadata that autogen rules read from Pod templates, which lack it."""
    if not any("metadata" in joined_texts(rule) for rule in policy.rules):
        return
    derived = {one.written for one in compute_rules(policy).derived}
    for rule in (one for one in policy.rules if one in derived):
        for path, expression in expressions_in(texts_of(rule)):
            found = _OF_POD.search(expression)
            if found is None or "||" in expression or path[-1] not in {"message", "key"}:
                continue
            own = f"request.{found[1]}" if found[1] in {"name", "namespace"} else ""
            advice = f"use `{own}`" if own else f"set `{ANNOTATION}: none`"
            is_message = path[-1] == "message"
            result = "their message is not shown" if is_message else "they end in an error"
            text = (
                f"`{found[0]}` has no value in autogen rules, which read it from the Pod template, "
                f"so {result}: {advice}"
            )
            instead = (found[0], own) if own and is_message else None
            yield warn(policy.document, "KV317", text, path, instead=instead)
        for path, name in () if _is_for_pods_only(rule.tree) else _lost_fields(rule.tree):
            text = (
                f"autogen rules read `{name}` from the Pod template, which does not have it, so "
                f"that they fail for every controller: set the annotation `{ANNOTATION}: none`"
            )
            yield warn(policy.document, "KV317", text, path)


def _is_for_pods_only(rule: RuleNode) -> bool:
    """Return whether the preconditions of a rule may exclude all Pod controllers."""
    conditions = rule.preconditions.conditions if rule.preconditions else ()
    return contains_text([[one.key, one.value] for one in conditions], "kind") or any(
        _holds_without(one, _OF_POD, {"object": {"metadata": {}}}) is False for one in conditions
    )


def _lost_fields(rule: RuleNode) -> Iterator[tuple[Path, str]]:
    """Yield the fields that Pod templates lack, if the rule fails for all objects without them."""
    pattern = rule.validate.pattern if rule.validate else None
    if pattern is not None and pattern.root.anchors.isdisjoint({CONDITION, GLOBAL}):
        for entry in _fields_of(pattern.root, "metadata"):
            value = entry.value.data
            # Kyverno takes a missing field for a small number.
            may_be_missing = value is None or str(value).startswith(("<", "null"))
            if entry.anchor is None and entry.key in _LOST and not may_be_missing:
                yield entry.path, f"metadata.{entry.key}"
    for one in _denials(rule):
        if _holds_without(one, _OF_POD, {"object": {"metadata": {}}}):
            found = _OF_POD.search(str(one.key))
            yield (*one.path, "key"), f"metadata.{found[1]}" if found else "metadata"


def _denials(rule: RuleNode) -> Iterator[Condition]:
    """Yield the conditions of a rule each of which alone denies an object."""
    deny = rule.validate.deny if rule.validate else None
    groups = deny.conditions.effective if deny and deny.conditions else ()
    for group in groups if len(groups) == 1 else ():
        if not group.all or len(group.conditions) == 1:
            yield from group.conditions


_OF_OBJECT = re.compile(r"request\.object\.")
_OF_OLD_OBJECT = re.compile(r"request\.oldObject\.")
_SYSTEM = still_system(datetime(2000, 1, 1, tzinfo=UTC))
_READ_OF_REQUEST = re.compile(r"(?<![\w.])request\.")
_CHANGING = re.compile(r"\b(?:time_now|time_since|random)")


def _only_reads(expression: str, allowed: re.Pattern[str]) -> bool:
    reads = [*_READ_OF_REQUEST.finditer(expression)]
    return bool(reads) and all(allowed.match(expression, one.start()) for one in reads)


def _holds_without(one: Condition, absent: re.Pattern[str], request: Json) -> bool | None:
    """Return the result of a condition for a request without what its key reads.

    None if the key reads anything else, has no value then, or if the value is not constant.
    """
    whole = VARIABLE.fullmatch(one.key.strip()) if isinstance(one.key, str) else None
    expression, operator = expression_of(whole[2]) if whole else "", operators.get(one.operator)
    if operator is None or is_open(one.value) or not _only_reads(expression, absent):
        return None
    if _CHANGING.search(expression):
        return None
    try:
        value = compile_query(expression, _SYSTEM).evaluate({"request": request})
    except (QueryError, QuerySyntaxError, BudgetError):
        return None
    return operator.holds(value, one.value)


_ABSENT = (
    (
        "CREATE",
        "oldObject",
        "KV318",
        "created",
        "`request.object`, or match `operations: [UPDATE]`",
    ),
    ("DELETE", "object", "KV342", "deleted", "`request.oldObject`"),
)
"""The object that requests for an operation do not have, and what to use instead."""


def absent_objects(policy: Policy) -> Iterator[Diagnostic]:
    """KV318 and KV342: an object that the requests of a rule for a single operation never have.

    upstream: pkg/engine/context/context.go `AddRequest`, pkg/background/common/context.go
    """
    for rule in policy.rules:
        operations = matched_operations(rule.tree.match)
        for operation, absent, code, what, instead in _ABSENT if len(operations) == 1 else ():
            if operations != {operation} or f"request.{absent}." not in joined_texts(rule):
                continue
            # In the background, `request.object` is the trigger, also if it was deleted.
            if absent == "object" and (rule.tree.generate or rule.mutates_existing):
                continue
            read = re.compile(rf"\brequest\.{absent}\.[^|]*(?P<default>\|\|\s*['\"`])?")
            text = (
                f"`request.{absent}` does not exist when an object is {what}, which is all that "
                f"the rule matches: use {instead}"
            )
            expressions = expressions_in(texts_of(rule))
            found = [(path, one) for path, each in expressions if (one := read.search(each))]
            changed = (f"request.{absent}", "request.oldObject") if absent == "object" else None
            for path, one in found:
                if "||" not in one.string:
                    yield warn(policy.document, code, text, path, instead=changed)
            defaults = [path for path, one in found if one["default"]]
            if defaults and absent == "object":
                yield warn(policy.document, code, text, defaults[0], instead=changed)
            elif defaults:  # evaluated without an error, but for the wrong requests
                filters = rule.tree.match.effective
                path = next(one.path for one in filters if one.operations)
                path = (*path, "resources", "operations", 0)
                yield warn(policy.document, code, f"{text} (its default is always used)", path)


def old_objects(policy: Policy) -> Iterator[Diagnostic]:
    """KV318: the old object of a request that may create one; KV342: the object of a deletion."""
    for rule in policy.rules:
        operations = matched_operations(rule.tree.match)
        if rule.tree.validate is None or len(operations) < 2:  # see `absent_objects`
            continue
        if "CREATE" in operations and "request.oldObject" in joined_texts(rule):
            for path, text in () if tests_operation(rule.tree) else _read_at_creation(rule):
                yield warn(policy.document, "KV318", text, path)
        is_listed = all(one.operations for one in rule.tree.match.effective)
        if "DELETE" in operations and is_listed and "request.object" in joined_texts(rule):
            for path, text in _denied_at_deletion(rule):
                yield warn(policy.document, "KV342", text, path)


def _read_at_creation(rule: Rule) -> Iterator[tuple[Path, str]]:
    text = (
        "`request.oldObject` does not exist when an object is created, which the rule also matches"
    )
    advice = "add `operations: [UPDATE]` to the match block"
    for path, expression in expressions_in(texts_of(rule)):
        is_read = path[len(rule.path)] == "validate" and path[-1] != "message"
        if is_read and "request.oldObject." in expression and "||" not in expression:
            yield path, f"{text}: {advice}"
    for one in _denials(rule.tree):
        if _holds_without(one, _OF_OLD_OBJECT, {"operation": "CREATE"}):
            yield (*one.path, "key"), f"{text}, so every creation is denied: {advice}"
        elif side := _compares_with_default(one):
            result = "its default is compared, and objects with another value are denied"
            yield (*one.path, side), f"{text}, so {result}: {advice}"


def _denied_at_deletion(rule: Rule) -> Iterator[tuple[Path, str]]:
    guards = rule.tree.preconditions.conditions if rule.tree.preconditions else ()
    request = {"operation": "DELETE"}
    if contains_text(rule.tree.data, "request.operation") or any(
        _holds_without(one, _OF_OBJECT, request) is False for one in guards
    ):
        return
    for one in _denials(rule.tree):
        if _holds_without(one, _OF_OBJECT, request):
            text = (
                "`request.object` does not exist when an object is deleted, which the rule also "
                "matches, so every deletion is denied: match DELETE in a rule of its own, which "
                "reads `request.oldObject`"
            )
            yield (*one.path, "key"), text


def _compares_with_default(one: Condition) -> str:
    """Return the side with the default of an old object from which objects differ, or ""."""
    if one.operator not in {"NotEqual", "NotEquals", "AnyNotIn", "AllNotIn"}:
        return ""
    sides = {"key": VARIABLE.fullmatch(str(one.key)), "value": VARIABLE.fullmatch(str(one.value))}
    read = {name: expression_of(side[2]) for name, side in sides.items() if side}
    is_new = any(_only_reads(side, _OF_OBJECT) for side in read.values())
    old = (
        name for name, side in read.items() if "||" in side and _only_reads(side, _OF_OLD_OBJECT)
    )
    return next(old, "") if is_new else ""


def tests_operation(rule: RuleNode) -> bool:
    """Return whether a rule tests the operation, or the old object, before it reads the latter."""
    block = rule.preconditions
    guards = [one.key for one in block.conditions] if block else []
    excluded = any(one.operations for one in (rule.exclude.effective if rule.exclude else ()))
    return (
        excluded
        or contains_text(rule.data, "request.operation", "request.oldObject ||")
        or contains_text(guards, "request.oldObject")
    )


_READ = re.compile(r"request\.(?:object|oldObject)\.(\w+)(?:\.(\w+))?")


def fields_of_owners(policy: Policy) -> Iterator[Diagnostic]:
    """KV329: a field that the object sent to a subresource does not have, such as that of exec."""
    for rule in policy.rules:
        filters = rule.tree.match.effective
        if not any("/" in text for one in filters for text in one.kinds):
            continue
        kinds = [parse_kind_selector(text) for one in filters for text in one.kinds]
        subresources = {one.subresource for one in kinds}
        if len(subresources) != 1 or not all(one.kinds for one in filters):
            continue
        (subresource,) = subresources
        reads = [
            (path, tuple(filter(None, found)))
            for path, expression in expressions_in(texts_of(rule))
            for found in _READ.findall(expression)
        ]
        for pattern in validation_patterns(rule.tree):
            entries = pattern.root.entries if isinstance(pattern.root, PatternMap) else ()
            for one in entries:
                inner = one.value.entries if isinstance(one.value, PatternMap) else ()
                reads += [(below.path, (one.key, below.key)) for below in inner] or [
                    (one.path, (one.key,))
                ]
        for path, fields in dict.fromkeys(reads):
            problem = not_in_body(subresource, fields)
            if problem:
                yield warn(policy.document, "KV329", problem, path)


def patterns_at_deletion(policy: Policy) -> Iterator[Diagnostic]:
    """KV338: a pattern in a rule for deletions only, which is not evaluated then.

    upstream: pkg/engine/handlers/validation/validate_resource.go `validateResourceWithRule`
    """
    for rule in policy.rules:
        operations = [one.operations for one in rule.tree.match.effective]
        validate = rule.tree.validate
        if validate is None or not operations or any(one != ("DELETE",) for one in operations):
            continue
        for pattern in filter(None, (validate.pattern, *(validate.any_pattern or ()))):
            text = (
                "patterns are not evaluated when an object is deleted, so the rule never fails: "
                "write `deny` with conditions on `request.oldObject`"
            )
            yield warn(policy.document, "KV338", text, pattern.path)
            break


_NOT_IN_CLEANUP = re.compile(r"(?<![\w.])request\.(object|oldObject|operation|userInfo|name)\b")
_WITHOUT_TARGET = re.compile(
    r"""[^\[|&{]*?(?<![\w."'])((?:object\.)?(?:metadata|spec|status)\.[\w.]+)"""
)
"""A field of the object, before names are those of elements or of the value before a pipe."""


def requests_of_cleanup(policy: Policy) -> Iterator[Diagnostic]:
    """KV337: a field of a request in a cleanup policy, which runs without one, or of nothing.

    upstream: pkg/controllers/cleanup/controller.go, which sets `target` and `request.namespace`
    """
    if policy.kind not in {"CleanupPolicy", "ClusterCleanupPolicy"}:
        return
    for rule in policy.rules:
        for path, expression in expressions_in(texts_of(rule)):
            found = _NOT_IN_CLEANUP.search(expression)
            if found:
                meant = {"object": "target", "name": "target.metadata.name"}.get(found[1], "")
                advice = f": write `{meant}`" if meant else ", only `target`"
                text = f"`{found[0]}` has no value, since no request starts a cleanup{advice}"
                instead = (found[0], meant) if meant else None
                yield warn(policy.document, "KV337", text, path, instead=instead)
                continue
            found = _WITHOUT_TARGET.match(expression)
            entries = {one.name for one in rule.tree.context}
            if found and found[1].partition(".")[0] not in entries:
                meant = f"target.{found[1].removeprefix('object.')}"
                text = f"`{found[1]}` has no value, since the object is `target`: write `{meant}`"
                yield warn(policy.document, "KV337", text, path, instead=(found[1], meant))


def wildcard_selectors(policy: Policy) -> Iterator[Diagnostic]:
    """KV320: a selector with wildcards that an API server evaluates, which rejects it.

    upstream: pkg/policy/policy_controller.go `getResources`, pkg/background/generate/clone.go
    """
    for rule in policy.rules:
        generation = rule.facts.generation
        is_listed = bool(generation and generation.looks_back)
        if is_listed or (rule.mutates_existing and rule.facts.runs_on_policy_update):
            for one in rule.tree.match.effective:
                if _has_wildcard(one.selector):
                    text = (
                        "objects that exist before the policy are not found: an API server has no "
                        "wildcards in selectors (test the labels in preconditions)"
                    )
                    yield warn(policy.document, "KV320", text, (*one.path, "resources", "selector"))
        for clones in _clone_lists(rule):
            if _has_wildcard(clones.selector):
                text = (
                    "nothing is cloned: an API server has no wildcards in selectors (list values)"
                )
                yield warn(policy.document, "KV320", text, (*clones.path, "selector"))


def _clone_lists(rule: Rule) -> Iterator[CloneList]:
    section = rule.tree.generate
    targets = [section.target, *(one.target for one in section.foreach or ())] if section else []
    yield from (one.clone_list for one in targets if one.clone_list)


def _has_wildcard(selector: Mapping[str, object] | None) -> bool:
    labels = (selector or {}).get("matchLabels")
    found = [*labels, *labels.values()] if isinstance(labels, Mapping) else []
    return any(isinstance(one, str) and has_wildcard(one) for one in found)


def lifetimes(policy: Policy) -> Iterator[Diagnostic]:
    """KV321 and KV345 for the objects that a rule changes or creates."""
    for rule in policy.rules:
        if TTL_LABEL not in joined_texts(rule):
            continue
        for path, text, _ in texts_of(rule):
            if text in {TTL_LABEL, f"+({TTL_LABEL})", f"({TTL_LABEL})", f"=({TTL_LABEL})"}:
                value = written_at(rule.tree, path)
                if isinstance(value, dict) and text in value:
                    yield from lifetime_problems(policy.document, (*path, text), value[text])


def clones_of_themselves(policy: Policy) -> Iterator[Diagnostic]:
    """KV354: a generate rule whose source is its target, so that it copies nothing."""
    for rule in policy.rules:
        for one in nodes_of(rule) if rule.tree.generate else ():
            if not isinstance(one, GenerateTarget):
                continue
            source = one.clone or one.clone_list
            if source is None or not source.namespace or source.namespace != one.namespace:
                continue
            if isinstance(source, CloneList) or source.name == one.name:
                text = (
                    "the source is the target, so nothing is copied: write another `namespace`, "
                    "such as `{{ request.object.metadata.name }}` for that of a new Namespace"
                )
                yield warn(policy.document, "KV354", text, source.path)


def targets_not_read(policy: Policy) -> Iterator[Diagnostic]:
    """KV371: preconditions of targets that only read the request, and so hold for all or none.

    upstream: pkg/engine/handlers/mutation/mutate_existing.go, which evaluates them for each target
    """
    for rule in policy.rules:
        targets = (rule.tree.mutate and rule.tree.mutate.targets) or ()
        # Each of several targets may be for other triggers.
        block = targets[0].preconditions if len(targets) == 1 else None
        if block is None:
            continue
        # Entries are evaluated when they are read, so those of the rule may read the target.
        used = [one.text for one in texts_of(rule) if "context" in one.path[:7]]
        if contains_text([used, [[one.key, one.value] for one in block.conditions]], "target"):
            continue
        read = [one for one in block.conditions if contains_text([one.key, one.value], "request.o")]
        for one in read[:1]:
            text = (
                "the preconditions only read the request, that is the trigger, so they hold for "
                "all targets or for none: write `target.…` for fields of the target"
            )
            yield warn(policy.document, "KV371", text, one.path)


_OF_RULES = (
    r"(?:request\.(?:object|oldObject|operation|userInfo|namespace|name)|element\d*\.|target\.meta"
    r"|serviceAccountName)"
)
_BROKEN = re.compile(rf"(?<![\\{{])(?:\{{\{{-?|\$\{{|{{)\s*{_OF_RULES}[^{{}}]*\}}*")


_BARE = re.compile(
    r"request\.(?:object|oldObject|userInfo)\.[\w.]+|request\.(?:operation|namespace|name)"
    r"|(?:element|target)\.(?:metadata\.[\w.]+|name|image|key|value)"
)


_UNUSUAL = (
    *(
        "\0request.",
        "\0element.",
        "\0target.",
        "${",
        "$ {",
        "{ request.",
        "{ element.",
        "{ target.",
    ),
    *("{request.", "{element.", "{target."),
)
"""Each rule with incomplete braces contains one of these, unless their numbers are different."""


def _without_variables(text: str) -> str:
    before = ""
    while text != before:  # variables may be in others
        text, before = VARIABLE.sub(r"\1", text), text
    return text


def broken_variables(policy: Policy) -> Iterator[Diagnostic]:
    """KV355: an expression that is not a variable, since its braces are not complete."""
    for rule in policy.rules:
        written = joined_texts(rule)
        is_balanced = written.count("{{") == written.count("}}")
        if is_balanced and not any(sign in written for sign in _UNUSUAL):
            continue
        for path, text, kind in texts_of(rule):
            if kind in {TextKind.QUERY, TextKind.CEL}:
                continue
            # Names of context entries may have dots.
            is_bare = _BARE.fullmatch(text) and path[-1] not in {"key", "message", "name"}
            if is_bare and written_at(rule.tree, path) == text:  # and not a key of a map
                meant = f"{{{{ {text} }}}}"
                message = f"`{text}` is not a variable, but text: write `{meant}`"
                fix = Fix("add braces", (change(policy.document, ChangeKind.VALUE, path, meant),))
                yield warn(policy.document, "KV355", message, path, fix=fix)
            if "{" not in text:
                continue
            found = _BROKEN.search(_without_variables(text))
            # Conditions without a variable are constant: see KV222.
            if found and ("{{" in found[0] or path[-1] not in {"key", "value"}):
                meant = found[0].strip("${}- ")
                message = f"`{found[0]}` is not a variable, but text: write `{{{{ {meant} }}}}`"
                changes = (
                    change(
                        policy.document,
                        ChangeKind.VALUE,
                        path,
                        text.replace(found[0], f"{{{{ {meant} }}}}"),
                    ),
                )
                fix = Fix("complete the braces", changes)
                yield warn(policy.document, "KV355", message, path, fix=fix)


_NAMES: Mapping[str, str] = {
    "api_version": "apiVersion",
    "kind": "kind",
    "namespace": "namespace",
    "name": "name",
}
"""Fields of nodes that name objects, and their fields in the document."""


def names_with_spaces(policy: Policy) -> Iterator[Diagnostic]:
    """KV322: a space before or after the name of an object to read or write."""
    for rule in policy.rules:
        for node in nodes_of(rule) if rule.tree.mutate or rule.tree.generate else ():
            if not isinstance(node, MutateTarget | GenerateTarget | Clone):
                continue
            for attribute, field in _NAMES.items():
                value = getattr(node, attribute, "")
                if value != value.strip():
                    path = (*node.path, field)
                    changes = (change(policy.document, ChangeKind.VALUE, path, value.strip()),)
                    text = f"`{field}` begins or ends with a space, which is part of the value"
                    fix = Fix("remove the space", changes)
                    yield warn(policy.document, "KV322", text, path, fix=fix)
