"""All mutants of a policy: every kind of change at every place where it applies."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from kyvsim.kubernetes.objects import Json, KubernetesObject, Path, found_at
from kyvsim.mutation.changes import KINDS, MutationKind, MutationPoint, PartKind, PolicyChange
from kyvsim.policy import cel_policy, images, tree
from kyvsim.policy.nodes import Node
from kyvsim.policy.read import pattern_node
from kyvsim.policy.rule import (
    Clone,
    CloneList,
    FailureOverride,
    ForEachGeneration,
    ForEachMutation,
    ForEachValidation,
    Generate,
    GenerateTarget,
    JsonPatch,
    Mutate,
    MutateTarget,
    PolicyNode,
    RuleNode,
    Validate,
    WebhookConfiguration,
)
from kyvsim.policy.visit import walk

_Points: TypeAlias = Iterator[MutationPoint]

# The points of nodes.
#
# Messages and descriptions are ignored, as are the objects that context entries load.


def _points(node: Node, leaf: PartKind = PartKind.PATTERN) -> _Points:
    """Yield the points of a node and of nodes below it; `leaf` is the kind of pattern values."""
    for one in walk(node):
        for point in POINTS[one.__class__](one):
            yield point._replace(part=leaf) if point.part is PartKind.PATTERN else point


def _patch_points(patch: Node) -> _Points:
    """Yield the points of a patch: it has anchors, but no operators."""
    return _points(patch, PartKind.CONSTANT)


def _tree_points(node: Node) -> _Points:
    """Yield the points of a rule, or of the settings of a policy."""
    if isinstance(node, RuleNode) and node.mutate is not None:
        yield from _patch_points(node.mutate)
        node = node._replace(mutate=None)
    yield from _points(node)


def _removable(path: Path, name: str = "") -> MutationPoint:
    return MutationPoint(PartKind.REMOVABLE, path, name)


def _elements(listed: Sequence[object] | None, path: Path, name: str = "") -> _Points:
    """Yield the elements of a list that can be removed, one at a time."""
    if listed is not None and len(listed) > 1:
        for index in range(len(listed)):
            yield _removable((*path, index), name)


def _rule(rule: RuleNode) -> _Points:
    if rule.exclude is not None:
        yield _removable(rule.exclude.path)
    if rule.cel_preconditions:
        path = (*rule.path, "celPreconditions")
        yield _removable(path)
        yield from _expressions(rule.cel_preconditions, path, "precondition")


def _choices(node: tree.MatchBlock | tree.ConditionGroup, name: str, others: bool) -> _Points:
    """Yield `any` or `all` if it is the only field of a block, and its removable elements.

    `others` is whether the block has other fields.
    """
    groups = {"any": node.any, "all": node.all}
    for field, group in groups.items():
        path = (*node.path, field)
        is_alone = not others and None in groups.values()
        if group is not None and len(group) > 1 and is_alone:
            yield MutationPoint(PartKind.CHOICE, path, field)
        yield from _elements(group, path, name)


def _filter(one: tree.ResourceFilter) -> _Points:
    for name in one.resource_fields:
        path = (*one.path, "resources", name)
        # At least one field that selects resources must stay.
        if name != "kinds" and len(one.resource_fields) > 1:
            yield _removable(path)
        listed = getattr(one, name, None)
        if isinstance(listed, tuple):
            yield from _elements(listed, path)
    users = {"roles": one.roles, "clusterRoles": one.cluster_roles, "subjects": one.subjects}
    amount = one.has_resources + len(users) - [*users.values()].count(None)
    for name, listed in users.items():
        if listed is not None:
            if amount > 1:
                yield _removable((*one.path, name))
            yield from _elements(listed, (*one.path, name))


def _conditions(block: tree.Conditions) -> _Points:
    # Only preconditions can be removed; other blocks of conditions must stay.
    if block.path[-1] == "preconditions":
        yield _removable(block.path)
    if block.is_list:
        yield from _elements(block.groups, block.path, "condition")


def _condition(condition: tree.Condition) -> _Points:
    yield MutationPoint(PartKind.OPERATOR, (*condition.path, "operator"))
    yield from _operand(condition.value, (*condition.path, "value"))


def _operand(value: object, path: Path) -> _Points:
    if isinstance(value, list) and len(value) != 1:
        yield from _elements(value, path)
    elif isinstance(value, list):
        yield MutationPoint(PartKind.CONSTANT, (*path, 0))
    elif value is not None and not isinstance(value, dict):
        yield MutationPoint(PartKind.CONSTANT, path)


def _variable(entry: tree.VariableEntry) -> _Points:
    yield from _operand(entry.value, (*entry.path, "variable", "value"))
    yield from _operand(entry.default, (*entry.path, "variable", "default"))


def _validation(node: Validate | ForEachValidation) -> _Points:
    yield from _elements(node.any_pattern, (*node.path, "anyPattern"), "pattern")
    yield from _loops(node)


_Looping: TypeAlias = Validate | ForEachValidation | Mutate | ForEachMutation | Generate


def _loops(node: _Looping) -> _Points:
    return _elements(node.foreach, (*node.path, "foreach"), "loop")


def _webhook(webhook: WebhookConfiguration) -> _Points:
    if webhook.match_conditions:
        path = (*webhook.path, "matchConditions")
        yield _removable(path)
        yield from _expressions(webhook.match_conditions, path, "match condition")


def _pattern_map(node: tree.PatternMap) -> _Points:
    for entry in node.entries:
        yield MutationPoint(PartKind.FIELD, entry.path)
        if len(node.entries) > 1:
            yield _removable(entry.path)


def _pattern_leaf(node: tree.PatternLeaf) -> _Points:
    if node.data is not None:
        yield MutationPoint(PartKind.PATTERN, node.path)


def _pod_security(block: tree.PodSecurity) -> _Points:
    yield MutationPoint(PartKind.LEVEL, (*block.path, "level"))
    if block.exclude:
        yield _removable((*block.path, "exclude"))
        yield from _elements(block.exclude, (*block.path, "exclude"))


def _cel(cel: cel_policy.CelValidation) -> _Points:
    yield from _expressions(cel.expressions, (*cel.path, "expressions"), "expression")
    for one in cel.variables:
        yield MutationPoint(PartKind.EXPRESSION, (*one.path, "expression"))


def _expressions(
    listed: Sequence[cel_policy.CelExpression | tree.NamedExpression], path: Path, name: str
) -> _Points:
    yield from _elements(listed, path, name)
    for one in listed:
        yield MutationPoint(PartKind.EXPRESSION, (*one.path, "expression"))


def _images(images: images.ImageVerification) -> _Points:
    yield from _elements(images.image_references, (*images.path, "imageReferences"))
    if images.skip_image_references:
        path = (*images.path, "skipImageReferences")
        yield _removable(path)
        yield from _elements(images.skip_image_references, path)


_WITHOUT_POINTS = (
    # Their parents yield their points.
    tree.PatternEntry, tree.PodSecurityExclusion, cel_policy.CelExpression,
    tree.NamedExpression, cel_policy.ParamKind, cel_policy.ParamRef,
    # They only have child nodes.
    PolicyNode, tree.Deny, tree.Pattern, ForEachGeneration, images.ImageValidation,
    # Their own fields are not changed.
    tree.Subject, tree.ConfigMapEntry, tree.ApiCallEntry, tree.GlobalReferenceEntry,
    tree.ImageRegistryEntry, FailureOverride, JsonPatch, MutateTarget,
    Clone, CloneList, images.Attestation, images.AttestorSet, images.Attestor,
    images.Keys, images.Rekor, images.CTLog, images.Keyless, images.Certificates,
    images.ImageExtractors, images.ImageExtractor, images.Manifests, images.ManifestObject,
    images.IgnoredFields,
)  # fmt: skip
POINTS: Mapping[type, Callable[..., _Points]] = {
    RuleNode: _rule,
    tree.MatchBlock: lambda one: _choices(one, "filter", others=not one.own.is_empty),
    tree.ResourceFilter: _filter,
    tree.Conditions: _conditions,
    tree.ConditionGroup: lambda group: _choices(group, "condition", others=False),
    tree.Condition: _condition,
    tree.VariableEntry: _variable,
    Validate: _validation,
    ForEachValidation: _validation,
    tree.PatternMap: _pattern_map,
    tree.PatternList: lambda one: _elements(one.items, one.path, "element"),
    tree.PatternLeaf: _pattern_leaf,
    tree.PodSecurity: _pod_security,
    cel_policy.CelValidation: _cel,
    Mutate: _loops,
    ForEachMutation: _loops,
    Generate: _loops,
    GenerateTarget: lambda one: _patch_points(pattern_node(one.data, (*one.path, "data"))),
    images.ImageVerification: _images,
    WebhookConfiguration: _webhook,
    **dict.fromkeys(_WITHOUT_POINTS, lambda _: iter(())),
}
"""The points of a node by its class, without those of the nodes below it."""


# The points of CEL policies, which have no tree, by the names of their fields.

_Read: TypeAlias = Callable[[Json, Path], _Points]


def _inside(value: object, path: Path) -> _Points:
    """Yield the points in a field without a special reader."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _FIELDS.get(name, _inside)(inner, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _inside(inner, (*path, index))


def _listed(name: str) -> _Read:
    """Return the reader for a list whose elements can be removed as long as one stays."""

    def points(value: Sequence[object] | None, path: Path) -> _Points:
        yield from _elements(value, path, name)
        yield from _inside(value, path)

    return points


def _match_conditions(value: object, path: Path) -> _Points:
    yield _removable(path)
    yield from _listed("match condition")(value, path)


def _constraints(value: Mapping[str, Json], path: Path) -> _Points:
    for name, inner in value.items():
        at = (*path, name)
        if name in {"excludeResourceRules", "namespaceSelector", "objectSelector"} and inner:
            yield _removable(at)
        if name in {"resourceRules", "excludeResourceRules"}:
            yield from _elements(inner, at, "rule")
            for index, rule in enumerate(inner or ()):
                yield from _resource_rule(rule, (*at, index))


def _resource_rule(rule: Mapping[str, object], path: Path) -> _Points:
    for name, inner in rule.items():
        if name == "resourceNames":
            yield _removable((*path, name))
        if isinstance(inner, list):
            yield from _elements(inner, (*path, name))


_FIELDS: Mapping[str, _Read] = {
    **dict.fromkeys(
        ("auditAnnotations", "message", "messageExpression"), lambda _value, _path: iter(())
    ),
    "conditions": _listed("condition"),
    "data": lambda value, path: _patch_points(pattern_node(value, path)),
    "expression": lambda _, path: iter((MutationPoint(PartKind.EXPRESSION, path),)),
    "matchConditions": _match_conditions,
    "matchConstraints": _constraints,
    "mutations": _listed("mutation"),
    "validations": _listed("validation"),
}
"""The readers of fields, by name; other fields are read by `_inside`."""


def mutants_of(
    data: KubernetesObject, nodes: Iterable[Node]
) -> Iterator[tuple[MutationKind, PolicyChange]]:
    """Yield the changes of a policy's document, in the order of their places, without duplicates.

    `nodes` are the settings and the rules of the policy; those of other kinds have no path. Changes
    with the same document count once. A changed policy can be invalid.
    """
    own = [node for node in nodes if node.path]
    points = [point for node in own for point in _tree_points(node)]
    if not own:
        points += _inside(data["spec"], ("spec",))
    points.sort(key=lambda point: _position(data, point.path))
    seen = [data]
    for point in points:
        value = found_at(data, point.path)
        for kind in KINDS:
            for change in kind.changes(point, value, data) if point.part is kind.part else ():
                if change.data not in seen:
                    seen.append(change.data)
                    yield kind, change


def _position(data: KubernetesObject, path: Path) -> tuple[int, ...]:
    """Return the position of a path in a document, for sorting: fields in the order of the text."""
    found = []
    inner: Json = data
    for step in path:
        found.append(step if isinstance(step, int) else [*inner].index(step))
        inner = inner[step]
    return tuple(found)
