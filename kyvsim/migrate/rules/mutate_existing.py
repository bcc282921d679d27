"""`mutate.targets`: objects that are there are patched for another one, the trigger.

An expression names them for each trigger. To the patches they are `object`; of the trigger they
know what its request tells, or look it up.

upstream: pkg/background/mpol/processor.go
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from kyvsim.kube.discovery import is_namespaced, kind_of_plural, plural, preferred_version
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json
from kyvsim.kube.wildcard import has_wildcard
from kyvsim.migrate.conditions import conditions_test
from kyvsim.migrate.entries import with_entries
from kyvsim.migrate.entries.config_map import LOOK_UP
from kyvsim.migrate.expressions import TRUE, Relation, Test, every, quoted
from kyvsim.migrate.known_types import TEXT, types_of
from kyvsim.migrate.layout import laid_out
from kyvsim.migrate.matching import Matching
from kyvsim.migrate.matching.filters import selector_test
from kyvsim.migrate.patches import Around
from kyvsim.migrate.patches.draft import no_twin
from kyvsim.migrate.queries import Scope, text_value
from kyvsim.migrate.refusal import within
from kyvsim.migrate.rules.draft import Given, Mutation, Root
from kyvsim.migrate.rules.mutate_foreach import loops
from kyvsim.migrate.rules.mutate_resource import merge, patch
from kyvsim.migrate.values import Value
from kyvsim.migrate.wildcards import like
from kyvsim.model.migration import Condition
from kyvsim.patch.merge_keys import find_type

_EVENTS: Final = Condition(
    "existing objects",
    "they are also patched when the policy changes and every hour, for triggers that are there",
)


class _Named(NamedTuple):
    """The objects that a target names."""

    text: str
    """The expression that finds them; a list is one as the API server gives it."""
    chosen: Test
    """Which of them count."""
    api_version: str
    kind: str


def existing(given: Given) -> list[Mutation]:
    """Return the mutations of the target of a rule; each says which objects these are."""
    scope, targets = given.scope, given.body["targets"]
    if len(targets) > 1:
        raise no_twin("a rule with several targets", "write a rule for each").below("targets", 1)
    (target,) = targets
    scope.desk.note(LOOK_UP)
    if given.body.get("mutateExistingOnPolicyUpdate") is not True:
        scope.desk.note(_EVENTS)
    named = within(("targets", 0), _named, target, scope)
    merges = find_type(named.api_version, named.kind)
    value = Value("object", types_of([(named.api_version, named.kind)]), rewritten=True)
    root = Root(value, (merges,) if merges else ())
    inner, applies = within(("targets", 0), _on_target, target, _elsewhere(given, value))
    fields: dict[str, Json] = {
        "evaluation": {"mutateExisting": {"enabled": True}},
        "targetMatchConstraints": {"expression": named.text},
    }
    asked = [("named", named.chosen), ("precondition", applies)]
    conditions = [
        {"name": name, "expression": laid_out(test)} for name, test in asked if test != TRUE
    ]
    if conditions:
        fields["targetMatchConditions"] = conditions
    found = _patches(given.body, root, Around(inner, merges=root.merges))
    return [one._replace(fields=fields) for one in found]


def _patches(body: Json, root: Root, around: Around) -> Sequence[Mutation]:
    field = next((one for one in _PATCHES if body.get(one) is not None), "patchesJson6902")
    found = within((field,), _PATCHES[field], body.get(field), root, around)
    if any(one.guards for one in found):
        advice = "ask in the preconditions of the target"
        raise no_twin("conditions in a patch of existing objects", advice).below(field)
    return found


_PATCHES: Final[Mapping[str, Callable[[Json, Root, Around], Sequence[Mutation]]]] = (
    MappingProxyType(
        {
            "foreach": loops,
            "patchStrategicMerge": lambda *given: [merge(*given)],
            "patchesJson6902": lambda *given: [patch(*given)],
        }
    )
)


def _on_target(target: Json, scope: Scope) -> tuple[Scope, Test]:
    """Return what a patch of a target sees, and what its preconditions ask."""
    inner = within(("context",), with_entries, target.get("context"), scope, inline=True)
    asked = target.get("preconditions")
    return inner, within(("preconditions",), conditions_test, asked, inner)


def _elsewhere(given: Given, target: Value) -> Scope:
    """Return what patches of targets see: those are the object, and the trigger is elsewhere."""
    # What entries hold is read anew: in patches of others they would be entries on those.
    given.scope.desk.offered.update(given.scope.desk.variables)
    scope = given.scope._replace(object=_trigger(given.scope, given.matching), names={})
    scope = with_entries(given.rule.get("context"), scope)
    return scope._replace(names={**scope.names, "target": target})


def _trigger(scope: Scope, matching: Matching) -> Value:
    """Return what a patch of another object knows of the trigger."""
    text = scope.desk.offer("trigger", _looked_up(matching))
    names = {key: Value(f"request.{key}", TEXT, noun=key) for key in ("name", "namespace")}
    metadata = Value(f"{text}.metadata", noun="metadata", fields=MappingProxyType(names))
    fields = {"metadata": metadata, "kind": Value("request.kind.kind", TEXT, noun="kind")}
    return Value(text, matching.types, fields=MappingProxyType(fields))


def _looked_up(matching: Matching) -> str:
    rules = matching.constraints["resourceRules"]
    if len(rules) == 1 and len(rules[0]["resources"]) == 1:
        (group,), (version,) = rules[0]["apiGroups"], rules[0]["apiVersions"]
        resource = rules[0]["resources"][0]
        kind = kind_of_plural(group, resource)
        if kind:
            version = preferred_version(group, kind) if version == "*" else version
            api_version = quoted(f"{group}/{version}".lstrip("/"))
            where = "request.namespace" if is_namespaced(group, kind) else "''"
            return f"dyn(resource.Get({api_version}, {quoted(resource)}, {where}, request.name))"
    version = "(request.kind.group == '' ? '' : request.kind.group + '/') + request.kind.version"
    where = "request.?namespace.orValue('')"
    return f"dyn(resource.Get({version}, request.resource.resource, {where}, request.name))"


# ---------------------------------------------------------------------------- which objects


def _named(target: Json, scope: Scope) -> _Named:
    api_version, kind = target.get("apiVersion") or "", target.get("kind") or ""
    if has_wildcard(f"{api_version}{kind}") or "{{" in f"{api_version}{kind}" or "/" in kind:
        raise no_twin(f"the target kind `{api_version}/{kind}`", "name one kind").below("kind")
    group = split_api_version(api_version)[0]
    namespaced = is_namespaced(group, kind)
    name = within(("name",), text_value, target.get("name") or "", scope)
    place = scope.namespace or target.get("namespace") or ""
    namespace = within(("namespace",), text_value, place if namespaced else "", scope)
    about = f"{quoted(api_version)}, {quoted(plural(group, kind))}"
    if _is_one(name) and (_is_one(namespace) or not namespaced):
        text = f"resource.Get({about}, {namespace.text}, {name.text})"
        return _Named(text, TRUE, api_version, kind)
    where = namespace.text if _is_one(namespace) else "''"
    tests = [within(("name",), _fits, "object.metadata.name", name)]
    if where == "''":
        tests.append(_fits("object.metadata.namespace", namespace))
    if target.get("selector"):
        tests.append(within(("selector",), _selected, target["selector"]))
    return _Named(f"resource.List({about}, {where})", every(tests), api_version, kind)


def _is_one(name: Value) -> bool:
    """Return whether a name is given, and no wildcards in it."""
    return not name.constant or bool(name.constant[0] and not has_wildcard(str(name.constant[0])))


def _fits(text: str, name: Value) -> Test:
    if name.constant:
        return like(text, name.constant[0]) if name.constant[0] else TRUE
    if not name.text.startswith("request."):
        raise no_twin("a name from the trigger without a namespace", "give the namespace, too")
    return Relation(text, "==", name.text)


def _selected(selector: Json) -> Test:
    if "{{" in str(selector):
        raise no_twin("a selector with variables", "ask in the preconditions of the target")
    return selector_test(selector)
