"""Deprecated fields and their successors, unknown fields in patterns, misspelt annotations."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.discovery import NO_KINDS, KindTable, every_kind, parse_kind_selector
from kyvsim.kubernetes.go_text import Base64Error, decode_base64
from kyvsim.kubernetes.labels import format_problems, is_value
from kyvsim.kubernetes.objects import Json, Path, contains_text
from kyvsim.kubernetes.quantities import parse_quantity
from kyvsim.kubernetes.validation import required_problems
from kyvsim.kubernetes.wildcard import Comparison, has_wildcard, matches
from kyvsim.languages.classic.autogen import POD_CONTROLLERS
from kyvsim.languages.classic.validation.rule_parts import is_open
from kyvsim.linting.traversal import nodes_of, texts_of_preconditions
from kyvsim.model.diagnostic import ChangeKind, Diagnostic, Fix, TextChange, change
from kyvsim.model.policy import Policy, Rule
from kyvsim.policy.anchors import ADDITION, NEGATION, parse_anchor
from kyvsim.policy.autogen import ANNOTATION
from kyvsim.policy.images import Attestation, ImageVerification
from kyvsim.policy.nodes import Node
from kyvsim.policy.read import read_pattern
from kyvsim.policy.rule import (
    ForEachMutation,
    ForEachValidation,
    GenerateTarget,
    JsonPatch,
    Mutate,
    RuleNode,
    Validate,
)
from kyvsim.policy.tree import (
    MatchBlock,
    Pattern,
    PatternEntry,
    PatternLeaf,
    PatternList,
    PatternMap,
    PatternNode,
    ResourceFilter,
)
from kyvsim.policy.visit import walk
from kyvsim.schema.hints import field_elsewhere, field_hint, value_problem
from kyvsim.schema.merge_types import (
    BOOLEAN,
    DEDUCED,
    NUMERIC,
    STRING,
    UNTYPED,
    FindType,
    MapType,
    NoTypesError,
    Type,
    TypeRef,
    find_type,
    resolve,
    type_finder,
)

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9./_-]*")
_NO_TEXTS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})

_Changes = tuple[TextChange, ...]
_Mover = Callable[[Policy, Json, Path], _Changes]


def _into_webhook(name: str) -> _Mover:
    def move(policy: Policy, data: Json, path: Path) -> _Changes:
        entry = f"{name}: {_word(data[path[-1]])}"
        webhook = data.get("webhookConfiguration")
        if webhook is None and "webhookConfiguration" not in data:
            text = f"webhookConfiguration:\n  {entry}"
            return (change(policy.document, ChangeKind.ENTRY, path, text),)
        if not webhook or name in webhook:
            return ()
        added = change(policy.document, ChangeKind.ADD, (*path[:-1], "webhookConfiguration"), entry)
        return change(policy.document, ChangeKind.REMOVE, path), added

    return move


def _into_rules(name: str, section: Callable[[Rule], Node | None]) -> _Mover:
    """Return a function that moves a field to the parts of rules that `section` returns."""

    def move(policy: Policy, data: Json, path: Path) -> _Changes:
        places = [one.path for one in map(section, policy.rules) if one]
        if not places or any(name in _written(policy, one) for one in places):
            return ()
        entry = f"{name}: {_word(data[path[-1]])}"
        added = (change(policy.document, ChangeKind.ADD, place, entry) for place in places)
        return change(policy.document, ChangeKind.REMOVE, path), *added

    return move


def _action(policy: Policy, data: Json, path: Path) -> _Changes:
    """Move the failure action to the rules; verifyImages rules have no equivalent field."""
    value = str(data[path[-1]])
    if any(one.tree.verify_images for one in policy.rules):
        return ()
    if "validationFailureActionOverrides" in data or value.lower() not in {"audit", "enforce"}:
        return ()
    spelled = {**data, path[-1]: value.capitalize()}
    return _into_validations(policy, spelled, path)


_into_validations = _into_rules("failureAction", lambda rule: rule.tree.validate)


def _written(policy: Policy, path: Path) -> Json:
    data = policy.document.data
    for step in path:
        data = data[step] if step.__class__ is int else data.get(step) or {}
    return data


def _one_filter(policy: Policy, data: Json, path: Path) -> _Changes:
    if "any" in data or "all" in data:
        return ()
    return (change(policy.document, ChangeKind.ITEM, path[:-1], "any"),)


def _into_names(policy: Policy, data: Json, path: Path) -> _Changes:
    if "names" in data or data.get("name").__class__ is not str:
        return ()
    return (change(policy.document, ChangeKind.ENTRY, path, f"names: [{_word(data['name'])}]"),)


def _word(value: Json) -> str:
    if value.__class__ is not str:
        return json.dumps(value)
    plain = _PLAIN.fullmatch(value) and value.lower() not in _NO_TEXTS
    return value if plain else json.dumps(value, ensure_ascii=False)


_CRITERIA = ("resources", "subjects", "roles", "clusterRoles")
_MOVERS: Mapping[str, _Mover] = {
    "validationFailureAction": _action,
    "failurePolicy": _into_webhook("failurePolicy"),
    "webhookTimeoutSeconds": _into_webhook("timeoutSeconds"),
    "mutateExistingOnPolicyUpdate": _into_rules(
        "mutateExistingOnPolicyUpdate",
        lambda rule: rule.tree.mutate if rule.mutates_existing else None,
    ),
    "generateExisting": _into_rules("generateExisting", lambda rule: rule.tree.generate),
    "schemaValidation": lambda policy, _, path: (change(policy.document, ChangeKind.REMOVE, path),),
    **dict.fromkeys(_CRITERIA, _one_filter),
    "name": _into_names,
    "predicateType": lambda policy, data, path: (
        () if "type" in data else (change(policy.document, ChangeKind.KEY, path, "type"),)
    ),
}
"""Functions that replace a deprecated field with its successor, if that is equivalent.

If both fields are set, there is no fix: the author has to decide.
"""
_TITLES: Mapping[str, str] = {
    "schemaValidation": "remove `schemaValidation`",
    "name": "use `names`",
    "predicateType": "use `type`",
    **dict.fromkeys(_CRITERIA, "use `any`"),
}
_SPEC = (
    ("validationFailureAction", "`validate.failureAction` of each rule"),
    ("validationFailureActionOverrides", "`validate.failureActionOverrides` of each rule"),
    ("failurePolicy", "`spec.webhookConfiguration.failurePolicy`"),
    ("webhookTimeoutSeconds", "`spec.webhookConfiguration.timeoutSeconds`"),
    ("mutateExistingOnPolicyUpdate", "`mutate.mutateExistingOnPolicyUpdate` of each rule"),
    ("generateExisting", "`generate.generateExisting` of each rule"),
    ("schemaValidation", ""),
)
_IMAGE = (
    ("image", "`imageReferences`"),
    ("key", "`attestors` with `keys`"),
    ("roots", "`attestors` with `keyless`"),
    ("subject", "`attestors` with `keyless`"),
    ("issuer", "`attestors` with `keyless`"),
    ("additionalExtensions", "`attestors` with `keyless`"),
    ("annotations", "`annotations` of each attestor"),
)
_FIELDS: Mapping[type, tuple[tuple[str, str], ...]] = {
    MatchBlock: tuple((name, "criteria under `any` or `all`") for name in _CRITERIA),
    ImageVerification: _IMAGE,
    Attestation: (("predicateType", "`type`"),),
    Validate: (("assert", ""),),
}


_SECTIONS: Mapping[str, Callable[[Rule], object]] = {
    "validationFailureAction": lambda rule: rule.tree.validate or rule.tree.verify_images,
    "validationFailureActionOverrides": lambda rule: rule.tree.validate or rule.tree.verify_images,
    "mutateExistingOnPolicyUpdate": lambda rule: rule.mutates_existing,
    "generateExisting": lambda rule: rule.tree.generate,
}
"""Fields without effect if no rule has one of the sections to which they moved."""


def deprecated_fields(policy: Policy) -> Iterator[Diagnostic]:
    """KV202: a deprecated field that has a successor, or no longer has an effect.

    Reads the document as written: defaults are not the author's choice. Fields that Kyverno now
    rejects (KV105) are not reported here. upstream: api/kyverno/v1, the comments `Deprecated`
    """
    places: list[tuple[Path, Iterable[tuple[str, str]]]] = [(("spec",), _SPEC)]
    for node in (node for rule in policy.rules for node in nodes_of(rule)):
        if isinstance(node, ResourceFilter):
            places.append(((*node.path, "resources"), (("name", "`names`"),)))
        elif type(node) in _FIELDS:
            places.append((node.path, _FIELDS[type(node)]))
    for parent, fields in places:
        data = _written(policy, parent)
        for name, successor in fields:
            if data.get(name) is not None:
                has_place = name not in _SECTIONS or any(map(_SECTIONS[name], policy.rules))
                remedy = f"use {successor}" if successor and has_place else "remove it"
                path, mover = (*parent, name), _MOVERS.get(name)
                changes = mover(policy, data, path) if mover else ()
                fix = Fix(_TITLES.get(name, f"move `{name}`"), changes) if changes else None
                text = f"field `{name}` is deprecated: {remedy}"
                yield warn(policy.document, "KV202", text, path, fix=fix)


_DESCRIPTIVE = tuple(
    f"policies.kyverno.io/{name}"
    for name in ("title", "category", "severity", "subject", "description", "minversion")
)
"""Annotations that only describe a policy."""
_ANNOTATIONS = (
    *_DESCRIPTIVE,
    "policies.kyverno.io/scored",
    "kyverno.io/kyverno-version",
    "kyverno.io/kubernetes-version",
    ANNOTATION,
)
_NEAR = 0.75
"""Minimum similarity to a known name; for annotations, of each part around the slash."""


def misspelt_annotations(policy: Policy) -> Iterator[Diagnostic]:
    """KV224: an annotation that is a typo of a known one.

    upstream: api/kyverno/constants.go, pkg/utils/report/results.go, pkg/autogen
    """
    names = [
        one for one in policy.annotations if one not in _ANNOTATIONS and "kyverno" in one.lower()
    ]
    for name in names:
        meant = max(_ANNOTATIONS, key=lambda known: _likeness(name, known))
        if _likeness(name, meant) >= _NEAR and meant not in policy.annotations:
            path = ("metadata", "annotations", name)
            text = f"unknown annotation `{name}` is ignored: did you mean `{meant}`?"
            # Descriptions have no effect on results, so the fix is safe.
            respelt = Fix(f"use {meant}", (change(policy.document, ChangeKind.KEY, path, meant),))
            fix = respelt if meant in _DESCRIPTIVE else None
            yield warn(policy.document, "KV224", text, path, fix=fix)


def _likeness(name: str, known: str) -> float:
    pairs = zip(name.lower().partition("/"), known.partition("/"), strict=True)
    return min(SequenceMatcher(None, one, other).ratio() for one, other in pairs)


_OPEN = frozenset("*?{$")
"""Characters of keys that are not plain names."""


def unfitting_patterns(policies: Iterable[Policy], kinds: KindTable) -> Iterator[Diagnostic]:
    """KV225: a field in a pattern that none of the rule's kinds has; KV349, KV350: it never fits.

    A pattern with such a field fails for all objects; in a patch, a cluster drops the field.
    Kubernetes' own kinds and those of given CRDs are known.
    """
    find = type_finder(kinds)
    written = (
        (policy, rule, pattern, elements)
        for policy in policies
        for rule in policy.rules
        for pattern, elements in _patterns(rule.tree)
    )
    for policy, rule, pattern, elements in written:
        types = _types_at(elements, types_matched(rule.tree.match, find, kinds))
        for path, code, text in unfitting_parts(pattern.root, types) if types else ():
            is_switch = code == "KV349" and isinstance(_written(policy, path), bool)
            quoted = Fix("add quotes", (change(policy.document, ChangeKind.QUOTE, path),))
            yield warn(policy.document, code, text, path, fix=quoted if is_switch else None)
        for path, near in unknown_parts(pattern.root, types) if types else ():
            key, hint = path[-1], near or _elsewhere(path, pattern.path, types)
            text = f"none of the kinds of rule `{rule.name}` has the field `{key}` here{hint}"
            if elements:
                text = f"the elements of the list have no field `{key}` here{hint}"
            yield warn(policy.document, "KV225", text, path)
        if not elements and _concerns_every_kind(rule, pattern):
            for path, text in _missing_in_some(pattern, rule.tree, find, kinds):
                yield warn(policy.document, "KV225", text, path)


def _elsewhere(path: Path, start: Path, types: Sequence[Type]) -> str:
    """Return where the types have a field with the same parent as in a pattern, or ""."""
    steps = (step for step in path[len(start) :] if isinstance(step, str))
    anchors = ((step, parse_anchor(step)) for step in steps)
    names = [anchor.key if anchor else step for step, anchor in anchors]
    above = (f": it is in `{'.'.join((*names[:at], names[-1]))}`" for at in range(len(names) - 1))
    known = (_has_fields(types, [*names[:at], names[-1]]) for at in range(len(names) - 1))
    found = next((text for text, is_there in zip(above, known, strict=True) if is_there), "")
    return found or (field_elsewhere(names[-2], names[-1], types) if len(names) > 1 else "")


def _has_fields(types: Sequence[Type], names: Sequence[str]) -> bool:
    """Return whether objects of some types have a field with this path, below plain maps."""
    here = list(types)
    for name in names:
        maps = [one.mapping for one in here if one.mapping is not None]
        here = [resolve(one.fields[name]) for one in maps if name in one.fields]
    return bool(here)


def _concerns_every_kind(rule: Rule, pattern: Pattern) -> bool:
    """Return whether a rule applies a pattern, or a patch, to all kinds that it matches."""
    if rule.tree.validate:
        return pattern is rule.tree.validate.pattern
    return not contains_text(texts_of_preconditions(rule), "kind")


def _missing_in_some(
    pattern: Pattern, rule: RuleNode, find: FindType, kinds: KindTable
) -> Iterator[tuple[Path, str]]:
    """Yield the required fields of a pattern that some of the matched kinds do not have."""
    texts = dict.fromkeys(text for one in rule.match.filters for text in one.kinds)
    unknown = {
        parse_kind_selector(text).kind: {path for path, _ in unknown_parts(pattern.root, types)}
        for text in texts
        if (types := tuple(_types_of(text, find, kinds)))
    }
    why = "the rule fails for each" if rule.validate else "a cluster drops it from each"
    for path in sorted(set[Path]().union(*unknown.values())):
        without = [kind for kind, paths in unknown.items() if path in paths]
        if len(without) == len(unknown) or any("(" in str(step) for step in path):
            continue
        which = "a " + " or ".join(without)
        advice = f"match {' and '.join(without)} in a rule of its own"
        if "Pod" in unknown and {*without} <= {*POD_CONTROLLERS}:
            which = f"a {without[0]} (and {len(without) - 1} more)" if without[1:] else which
            advice = "match only Pod, and autogen derives rules for its controllers"
        yield path, f"{which} has no field `{path[-1]}` here, so {why}: {advice}"


def unfitting_parts(pattern: PatternNode, types: Sequence[Type]) -> Iterator[tuple[Path, str, str]]:
    """Yield the parts of a pattern or patch that no value of the types can match."""
    maps = [one.mapping for one in types if one.mapping is not None]
    lists = [one.sequence for one in types if one.sequence is not None]
    if isinstance(pattern, PatternMap):
        if lists and not maps:
            text = "this field is a list, and not a map: begin each element with `- `"
            yield pattern.path, "KV350", text
        for entry in pattern.entries if maps else ():
            refs = [one.fields.get(entry.key, one.others) for one in maps]
            inner = [resolve(ref) for ref in refs if ref is not None]
            if inner and entry.anchor != NEGATION:
                yield from unfitting_parts(entry.value, inner)
    elif isinstance(pattern, PatternList):
        if types and not lists:
            yield pattern.path, "KV350", "this field is not a list: remove the `-`"
        inner = [resolve(one.element) for one in lists]
        for item in pattern.items if inner else ():
            yield from unfitting_parts(item, inner)
    elif isinstance(pattern, PatternLeaf) and types and not is_open(pattern.data):
        problem = _never(pattern, types)
        if problem:
            yield pattern.path, "KV349", problem


def _never(leaf: PatternLeaf, types: Sequence[Type]) -> str:
    """Return why a value of the types never matches a leaf, or ""."""
    scalars = {one.scalar for one in types}
    if all(one.mapping and not one.scalar and not one.sequence for one in types):
        is_text = isinstance(leaf.data, str) and leaf.data.strip() not in {"", "*", "null"}
        text = "the field is a map, which no text but `*` matches: write `*`, or fields of it"
        return text if is_text else ""
    if any(one.mapping or one.sequence for one in types) or len(scalars) != 1:
        return ""
    if scalars == {STRING} and isinstance(leaf.data, bool):
        meant = f"'{str(leaf.data).lower()}'"
        return f"the field is a string, which a boolean never matches: write `{meant}`"
    operands = [
        atom.operand
        for alternative in leaf.alternatives
        for atom in alternative
        if isinstance(atom, Comparison) and atom.operator in {"", "!"}
    ]
    if scalars == {NUMERIC} and isinstance(leaf.data, str):
        # Mistaken amounts are KV306 to KV308.
        wrong = [one for one in operands if one.isalpha()]
        return f"the field is a number, which `{wrong[0]}` never matches" if wrong else ""
    return value_problem(types, operands)


ENCODED = "base64"
"""The scalar of the data of Secrets, which are strings in merges."""
QUANTITY, TIME = "quantity", "time"
"""The scalars of amounts with units, and of times, which merges do not tell apart."""
_NOUNS: Mapping[str, tuple[tuple[type, ...], str]] = {
    STRING: ((str,), "a string"),
    ENCODED: ((), "base64 (plain text is in `stringData`)"),
    QUANTITY: ((int, float), "a quantity, such as `500m` or `1Gi`"),
    NUMERIC: ((int, float), "a number"),
    BOOLEAN: ((bool,), "a boolean"),
}


@lru_cache(maxsize=1)
def _formats() -> Mapping[TypeRef, str]:
    """Return the scalars of the references in the table of types that are quantities and times."""

    def at(found: Type, *names: str) -> TypeRef:
        *path, last = names
        for name in path:
            found = resolve(found.mapping.fields[name]) if found.mapping else found
        fields = found.mapping
        return (fields.fields.get(last, fields.others) if fields else None) or DEDUCED

    quota = find_type("v1", "ResourceQuota") or Type()
    return {
        at(quota, "spec", "hard", "cpu"): QUANTITY,
        at(quota, "metadata", "creationTimestamp"): TIME,
    }


def resolved(ref: TypeRef) -> Type:
    """Return the type of a reference, with the scalars of quantities and times."""
    found = resolve(ref)
    is_special = found.scalar == UNTYPED and found.mapping is None and isinstance(ref, int)
    return Type(_formats().get(ref, UNTYPED)) if is_special else found


def mistyped_values(policies: Iterable[Policy], kinds: KindTable) -> Iterator[Diagnostic]:
    """KV327: a value in a patch or a generated object that has the wrong type for its field.

    An API server rejects the object. Fields that generated objects do not have are KV225.
    """
    find = type_finder(kinds)
    for policy in policies:
        for rule in policy.rules:
            for pattern, types in _written_parts(rule, find, kinds):
                for path, noun in mistyped_parts(pattern.root, types):
                    anchor = parse_anchor(str(path[-1]))
                    name = anchor.key if anchor else path[-1]
                    how = f"{noun}, in quotes" if noun == "a string" else noun
                    text = f"an API server rejects this value: `{name}` must be {how}"
                    way, title = ChangeKind.QUOTE, "add quotes"
                    if noun != "a string":
                        way, title = ChangeKind.UNQUOTE, "remove the quotes"
                    fix: Fix | None = Fix(title, (change(policy.document, way, path),))
                    is_fixable = noun == "a string" or _is_quoted(noun, _written(policy, path))
                    fix = fix if is_fixable else None
                    yield warn(policy.document, "KV327", text, path, fix=fix)
                mutate = rule.tree.mutate
                if mutate and not mutate.targets and pattern is mutate.patch_strategic_merge:
                    continue  # see `unfitting_patterns`
                what = "changed" if mutate else "generated"
                for path, hint in unknown_parts(pattern.root, types):
                    text = f"the {what} kind does not have the field `{path[-1]}` here{hint}"
                    yield warn(policy.document, "KV225", text, path)


_DATA_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_WITH_DATA = frozenset({"ConfigMap", "Secret"})
_WRITTEN = frozenset({None, ADDITION})
_DATA = frozenset({"data", "binaryData", "stringData"})


def key_problem(holder: str, key: str) -> str:
    """Return why no API server accepts a key of labels, annotations, selectors or data, or "".

    upstream: k8s.io/apimachinery pkg/apis/meta/v1/validation, pkg/api/validation/objectmeta.go;
    pkg/apis/core/validation (IsConfigMapKey)
    """
    # In paths of CEL, "\0" is a part that is computed.
    if is_open(key) or has_wildcard(key) or "\0" in key:
        return ""
    form = "letters, digits, `-`, `_` and `.`"
    if holder in _DATA:
        is_valid = _DATA_KEY.fullmatch(key) is not None
    else:
        # An API server reads keys of annotations in lower case.
        name = key.lower() if holder == "annotations" else key
        is_valid = not format_problems("qualifiedName", name)
        form = f"{form}, after a host name in lower case and `/` if needed"
    return "" if is_valid else f"no API server accepts the key `{key}`: keys consist of {form}"


def label_problem(holder: str, value: Json) -> str:
    """Return why no API server accepts the value of a label, or ""; other types are not checked."""
    is_label = holder in {"labels", "matchLabels"} and isinstance(value, str)
    if not is_label or is_open(value) or has_wildcard(value) or is_value(value):
        return ""
    return (
        f"no API server accepts the label value `{value}`: values have up to 63 letters, digits, "
        "`-`, `_` and `.` (annotations may have other texts)"
    )


def rejected_keys(policy: Policy) -> Iterator[Diagnostic]:
    """KV327: a key or label in a merge or a generated object that an API server rejects."""
    for rule in policy.rules:
        targets = rule.tree.mutate.targets if rule.tree.mutate else None
        matched = (parse_kind_selector(text) for one in rule.tree.filters for text in one.kinds)
        kinds = {one.kind for one in (matched if targets is None else targets)}
        has_data = bool(kinds) and kinds <= _WITH_DATA
        written = [(pattern, has_data) for pattern in patches(rule.tree)]
        written += [
            (data, target.kind in _WITH_DATA)
            for target in _generated(rule)
            # The patterns of a generated policy have operators.
            if "kyverno.io/" not in target.api_version
            and (data := read_pattern(target.data, (*target.path, "data")))
        ]
        for pattern, is_data in written:
            for holder, entry in _keys(pattern, is_data=is_data):
                value = entry.value.data
                problem = key_problem(holder, entry.key) or label_problem(holder, value)
                if problem:
                    yield warn(policy.document, "KV327", problem, entry.path)


def _keys(pattern: Pattern, *, is_data: bool) -> Iterator[tuple[str, PatternEntry]]:
    """Yield the keys of labels, annotations, selectors and data that a patch writes."""
    for one in walk(pattern.root):
        if not isinstance(one, PatternEntry) or not isinstance(one.value, PatternMap):
            continue
        name, (*above, _) = one.key, one.path[len(pattern.path) :]
        in_metadata = bool(above) and "metadata" in str(above[-1])
        if (
            name in {"matchLabels", "nodeSelector"}
            or (in_metadata and name in {"labels", "annotations"})
            or (is_data and not above and name in _DATA)
        ):
            yield from ((name, entry) for entry in one.value.entries if entry.anchor in _WRITTEN)


def _generated(rule: Rule) -> list[GenerateTarget]:
    section = rule.tree.generate
    return [section.target, *(one.target for one in section.foreach or ())] if section else []


def incomplete_objects(policy: Policy) -> Iterator[Diagnostic]:
    """KV327: a generated object without a field that an API server requires."""
    for rule in policy.rules:
        for target in _generated(rule):
            if isinstance(target.data, dict):
                head = {"apiVersion": target.api_version, "kind": target.kind}
                for problem in required_problems({**target.data, **head}):
                    field, _, why = problem.partition(": ")
                    text = f"an API server rejects this object: `{field}`: {why}"
                    yield warn(policy.document, "KV327", text, (*target.path, "data"))


def _written_parts(
    rule: Rule, find: FindType, kinds: KindTable
) -> Iterator[tuple[Pattern, tuple[Type, ...]]]:
    """Yield the patches and generated data of a rule, with the types of their objects."""
    if rule.tree.mutate:
        types = types_mutated(rule, find, kinds)
        for patch in patches(rule.tree) if types else ():
            yield patch, types
    for target in _generated(rule):
        found_type = type_named(target.api_version, target.kind, find)
        data = read_pattern(target.data, (*target.path, "data"))
        if found_type and data:
            yield data, (found_type,)


def types_mutated(rule: Rule, find: FindType, kinds: KindTable) -> tuple[Type, ...]:
    """Return the types of the objects that a mutate rule changes; () if some are unknown."""
    targets = rule.tree.mutate.targets if rule.tree.mutate else None
    if targets is None:
        return types_matched(rule.tree.match, find, kinds)
    found = [type_named(one.api_version, one.kind, find) for one in targets]
    return tuple(one for one in found if one) if all(found) else ()


def mutations(rule: RuleNode) -> Iterator[Mutate | ForEachMutation]:
    """Yield the mutate section of a rule, and its loops, each before those inside it."""
    pending: list[Mutate | ForEachMutation] = [rule.mutate] if rule.mutate else []
    for one in pending:
        yield one
        pending += one.foreach or ()


def patches(rule: RuleNode) -> Iterator[Pattern]:
    """Yield the strategic merge patches of a rule, also those of its loops."""
    yield from filter(None, (one.patch_strategic_merge for one in mutations(rule)))


def json_patches(rule: RuleNode) -> Iterator[JsonPatch]:
    """Yield the JSON patches of a rule, also those of its loops."""
    yield from filter(None, (one.patches_json6902 for one in mutations(rule)))


def type_named(api_version: str, kind: str, find: FindType) -> Type | None:
    """Return the type of a kind; None if it is unknown."""
    try:
        found = find(api_version, kind)
    except NoTypesError:
        return None
    return _with_encoded_data(found) if kind == "Secret" and found else found


def _with_encoded_data(secret: Type) -> Type:
    if secret.mapping is None:
        return secret
    data = Type(mapping=MapType({}, Type(ENCODED), atomic=False))
    fields = {**secret.mapping.fields, "data": data}
    return secret._replace(mapping=secret.mapping._replace(fields=fields))


def mistyped_parts(pattern: PatternNode, types: Sequence[Type]) -> Iterator[tuple[Path, str]]:
    """Yield the path of each value that no type allows, and the right type."""
    if isinstance(pattern, PatternList):
        inner = [resolved(one.sequence.element) for one in types if one.sequence is not None]
        for item in pattern.items if inner else ():
            yield from mistyped_parts(item, inner)
    elif isinstance(pattern, PatternMap):
        maps = [one.mapping for one in types if one.mapping is not None]
        for entry in pattern.entries if maps else ():
            refs = [one.fields.get(entry.key, one.others) for one in maps]
            inner = [resolved(ref) for ref in refs if ref is not None]
            if inner and entry.anchor in {None, ADDITION}:
                yield from mistyped_parts(entry.value, inner)
    elif len({one.scalar for one in types}) == 1 and isinstance(pattern, PatternLeaf):
        scalar, value = types[0].scalar, pattern.data
        fitting, noun = _NOUNS.get(scalar, ((), ""))
        is_plain = not any(one.sequence or one.mapping for one in types) and value is not None
        if not noun or not is_plain or type(value) in fitting or is_open(value):
            return
        is_fine = {ENCODED: _is_base64, QUANTITY: _is_quantity}.get(scalar)
        if is_fine is None or not is_fine(value):
            yield pattern.path, noun


def _is_quoted(noun: str, value: Json) -> bool:
    """Return whether a value is one of the right type, in quotes."""
    numbers = value.isdecimal() and not value.startswith("0") if isinstance(value, str) else False
    return numbers if noun == _NOUNS[NUMERIC][1] else value in ("true", "false")


def _is_quantity(value: Json) -> bool:
    return isinstance(value, str) and parse_quantity(value) is not None


def _is_base64(value: Json) -> bool:
    try:
        return isinstance(value, str) and decode_base64(value) is not None
    except Base64Error:
        return False


_PATH = re.compile(
    r"request\.(?:object|oldObject)((?:\.[A-Za-z_]\w*(?!\w*\()|\[\]|\[\*\]|\[\d+\])+)"
)
"""The plain start of a path in JMESPath; a function after a dot ends it."""
_STEP = re.compile(r"\.(\w+)|\[")


def _types_at(path: str, types: Sequence[Type]) -> Sequence[Type]:
    """Return the types of the values at a path of objects."""
    here = types
    for step in _STEP.finditer(path):
        if step[1] is None:
            here = [resolve(one.sequence.element) for one in here if one.sequence is not None]
            continue
        maps = [one.mapping for one in here if one.mapping is not None]
        refs = [one.fields.get(step[1], one.others) for one in maps]
        here = [resolve(ref) for ref in refs if ref is not None]
    return here


def _patterns(rule: RuleNode) -> Iterator[tuple[Pattern, str]]:
    """Yield the patterns of a rule for its objects, or for the elements of a list at a path."""
    if rule.validate:
        places: list[tuple[Validate | ForEachValidation, str]] = [(rule.validate, "")]
        for loop in rule.validate.foreach or ():
            found = _PATH.fullmatch(loop.list.strip())
            # `[]` after a field flattens lists of lists only.
            if loop.element_scope is False:
                places.append((loop, ""))
            elif found and "[" not in found[1]:
                places.append((loop, f"{found[1]}[]"))
        for one, path in places:
            for pattern in filter(None, (one.pattern, *(one.any_pattern or ()))):
                yield pattern, path
    if rule.mutate and rule.mutate.patch_strategic_merge and not rule.mutate.targets:
        yield rule.mutate.patch_strategic_merge, ""


def types_matched(match: MatchBlock, find: FindType, kinds: KindTable) -> tuple[Type, ...]:
    """Return the types of all objects that a block matches; () if some are unknown."""
    found: list[Type] = []
    if not all(one.kinds for one in match.any or ()):
        return ()
    for text in (kind for one in match.filters for kind in one.kinds):
        own = tuple(_types_of(text, find, kinds))
        if not own:
            return ()
        found += own
    return tuple(found)


def kinds_served(text: str, kinds: KindTable) -> tuple[tuple[str, str], ...]:
    """Return apiVersion and kind of all objects that a kind selector matches.

    Those of an unknown kind are as written, `*` if they are missing. Returns nothing for selectors
    with wildcards, and with subresources.
    """
    return tuple(_served(text, kinds)) if kinds else _served_by_kubernetes(text)


@lru_cache(maxsize=512)
def _served_by_kubernetes(text: str) -> tuple[tuple[str, str], ...]:
    return tuple(_served(text, NO_KINDS))


def _served(text: str, kinds: KindTable) -> Iterator[tuple[str, str]]:
    selector = parse_kind_selector(text)
    if selector.subresource or has_wildcard(selector.kind) or not selector.kind:
        return
    known = False
    for (group, kind), facts in every_kind(kinds).items():
        if kind == selector.kind and matches(selector.group, group):
            known = True
            for version in facts.versions:
                if matches(selector.version, version):
                    yield f"{group}/{version}".lstrip("/"), kind
    if not known:
        yield f"{selector.group}/{selector.version}".lstrip("/"), selector.kind


def _types_of(text: str, find: FindType, kinds: KindTable) -> Iterator[Type]:
    for api_version, kind in kinds_served(text, kinds):
        found = type_named(api_version, kind, find)
        if found is not None:
            yield of_kind(found, kind)


def of_kind(found: Type, kind: str) -> Type:
    """Return the type of objects of a kind, with the values of the field `kind`.

    Rules for Pods are derived for their controllers, without changing what is read of the kind.
    """
    if found.mapping is None:
        return found
    kinds = (kind, *POD_CONTROLLERS) if kind == "Pod" else (kind,)
    fields = {**found.mapping.fields, "kind": Type(STRING, values=kinds)}
    return found._replace(mapping=found.mapping._replace(fields=fields))


def unknown_parts(pattern: PatternNode, types: Sequence[Type]) -> Iterator[tuple[Path, str]]:
    """Yield the path of each field that no type has, and what is meant, or ""."""
    if isinstance(pattern, PatternList):
        inner = [resolve(one.sequence.element) for one in types if one.sequence is not None]
        for item in pattern.items if inner else ():
            yield from unknown_parts(item, inner)
    elif isinstance(pattern, PatternMap):
        maps = [one.mapping for one in types if one.mapping is not None]
        for entry in pattern.entries if maps else ():
            if not _OPEN.isdisjoint(entry.key):
                continue
            refs = [one.fields.get(entry.key, one.others) for one in maps]
            inner = [resolve(ref) for ref in refs if ref is not None]
            if inner:
                yield from unknown_parts(entry.value, inner)
            else:
                known = {field for one in maps for field in one.fields}
                yield entry.path, field_hint(entry.key, known, types)
