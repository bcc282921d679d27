"""Derives rules for Pod controllers from rules for Pods.

Derived rules are documents, which the reader converts to trees: a policy's status contains them.
The compiler of policies decides which rules are derived, and for which controllers.

Source of the rules: upstream pkg/autogen/v1.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from kyvsim.kubernetes.discovery import parse_kind_selector
from kyvsim.kubernetes.objects import Json, contains_text
from kyvsim.policy.rule import RuleNode, body_paths

ANNOTATION: Final = "pod-policies.kyverno.io/autogen-controllers"
"""The annotation of a policy that names the controllers, or `none`."""
CRON_JOB: Final = "CronJob"
CONTROLLERS: Final[Mapping[str, str]] = {
    "DaemonSet": "apps/v1/DaemonSet",
    "Deployment": "apps/v1/Deployment",
    "Job": "batch/v1/Job",
    "ReplicaSet": "apps/v1/ReplicaSet",
    "ReplicationController": "v1/ReplicationController",
    "StatefulSet": "apps/v1/StatefulSet",
}
"""The controllers with the Pod in `spec.template`, with their kind selectors."""
_SELECTORS = MappingProxyType({**CONTROLLERS, CRON_JOB: "batch/v1/CronJob", "Pod": "v1/Pod"})
_LONGEST_NAME = 63


class PodTemplate(NamedTuple):
    """The Pod template of a controller: the field under `spec`, and the path for references."""

    field: str
    path: str

    @property
    def expression(self) -> str:
        """The path in expressions."""
        return self.path.replace("/", ".")


TEMPLATE: Final = PodTemplate("template", "spec/template")
JOB_TEMPLATE: Final = PodTemplate("jobTemplate", "spec/jobTemplate/spec/template")


def blocker_of(rule: RuleNode) -> str:
    """Return why a rule disables autogen for its whole policy, or ""."""
    mutate = rule.mutate
    patches = mutate and [
        mutate.patches_json6902,
        *(one.patches_json6902 for one in mutate.foreach or ()),
    ]
    if any(patches or ()):
        return "it has a JSON patch"
    if "generate" in rule.operations:
        return "it generates objects"
    for one in rule.filters:
        if one.selector is not None or one.annotations is not None or one.all_names:
            return "it selects by name, labels or annotations"
        if len(one.kinds) > 1 and contains_pod(one.kinds):
            return "it matches other kinds besides Pod"
    return ""


def contains_pod(kinds: Sequence[str]) -> bool:
    """Return whether one of the selectors is for Pods."""
    return any(parse_kind_selector(text).kind == "Pod" for text in kinds)


def _nested(part: object, template: PodTemplate) -> Json:
    """Return a pattern or patch for a Pod as one for its controller."""
    return {"spec": {template.field: part}}


def _without_empty_groups(conditions: object) -> Json:
    """Return conditions as in a derived rule: without an empty `any` or `all`.

    Upstream writes a rule as JSON to change it, which omits empty lists. So an empty `any`, which
    never holds, is no condition at all in derived rules.
    """
    if conditions.__class__ is list:
        return [_without_empty_groups(one) for one in conditions]
    if conditions.__class__ is not dict:
        return conditions
    return {
        name: one for name, one in conditions.items() if one != [] or name not in {"any", "all"}
    }


def _deny(deny: Json, _: PodTemplate) -> Json:
    conditions = deny.get("conditions")
    return {**deny, "conditions": _without_empty_groups(conditions)} if conditions else deny


def _loops(loops: Json, template: PodTemplate) -> Json:
    """Return the loops of a validate rule, including nested loops.

    Their preconditions are not changed: an empty `any` does not hold there either.
    """
    rewrites = {"deny": _deny, "foreach": _loops}
    return [
        loop
        | {
            name: rewrite(loop[name], template)
            for name, rewrite in rewrites.items()
            if loop.get(name)
        }
        for loop in loops
    ]


_Rewrite: TypeAlias = Callable[[Mapping[str, Json], PodTemplate], Json]
"""Returns the section of the derived rule, such as `validate`; None if no rule is derived."""


def _validation(
    field: str, rewrite: Callable[[Json, PodTemplate], Json] = lambda body, _: body, pivot: str = ""
) -> _Rewrite:
    """Return the rewriting of a validate section: its body, and the references in its message.

    Template paths are inserted into references after `pivot`, by default the field.
    """

    def rewrite_section(section: Mapping[str, Json], template: PodTemplate) -> Json:
        settings = ("failureAction", "failureActionOverrides", "allowExistingViolations")
        kept = {name: section[name] for name in settings if name in section}
        if message := section.get("message"):
            kept["message"] = rewrite_references(message, template.path, pivot or field)
        return {**kept, field: rewrite(section[field], template)}

    return rewrite_section


def _loops_with_merges(section: Mapping[str, Json], template: PodTemplate) -> Json:
    """Return the loops with nested merges; autogen drops their other fields."""
    loops = [
        {field: loop[field] for field in ("list", "context", "preconditions") if field in loop}
        | {"patchStrategicMerge": _nested(loop.get("patchStrategicMerge"), template)}
        for loop in section["foreach"]
    ]
    return {"foreach": loops} if loops else None


REWRITES: Final[Mapping[tuple[str, ...], _Rewrite]] = {
    ("validate", "podSecurity"): _validation("podSecurity"),
    ("mutate", "foreach"): _loops_with_merges,
    ("mutate", "patchStrategicMerge"): lambda section, template: {
        "patchStrategicMerge": _nested(section["patchStrategicMerge"], template)
    },
    ("validate", "deny"): _validation("deny", _deny),
    ("validate", "pattern"): _validation("pattern", _nested),
    # A value that is not a list is kept, and a check rejects it.
    ("validate", "anyPattern"): _validation(
        "anyPattern",
        lambda patterns, template: (
            [_nested(one, template) for one in patterns] if patterns.__class__ is list else patterns
        ),
    ),
    ("validate", "foreach"): _validation("foreach", _loops, "pattern"),
    # upstream derives the whole section, unless the body is empty
    ("validate", "cel"): lambda section, _: section if section["cel"] else None,
    ("verifyImages",): lambda images, _: images or None,
}
"""How the section of a rule is rewritten, by the path of its body in the rule; the first body that
a rule has is used."""

NOT_DERIVED: Final = frozenset(
    {
        # Its patch is rewritten like a patch of the trigger.
        ("mutate", "targets"),
        ("mutate", "patchesJson6902"),
        ("validate", "manifests"),
        ("generate",),
    }
)
"""The bodies for which autogen derives no rules."""


def _rewritten_section(data: Mapping[str, Json], template: PodTemplate) -> dict[str, Json] | None:
    bodies = frozenset(body_paths(data))
    for path, rewrite in REWRITES.items():
        if path in bodies:
            section = rewrite(data[path[0]], template)
            if section is not None:
                return {path[0]: section}
    return None


def is_derived(rule: RuleNode) -> bool:
    """Return whether the body of a rule can be moved into a Pod template."""
    return _rewritten_section(rule.data, TEMPLATE) is not None


REFERENCE: Final = re.compile(r"(^|[^\\])(\$\(.[^ ]*\))")
"""A reference: group 1 is the character before it, group 2 the reference.

upstream: pkg/engine/variables/regex, RegexReferences.
"""


def rewrite_references(message: str, path: str, pivot: str) -> str:
    """Return `message` with `path` inserted after `pivot` in every reference.

    `pivot` is the name of the rule's body; for `anyPattern` it includes the index that follows.
    """
    if "$(" not in message:
        return message

    def moved(found: re.Match[str]) -> str:
        before, reference = found.groups()
        anchor = pivot
        if pivot == "anyPattern" and pivot in reference:
            index = reference.partition(pivot)[2][1:].split("/")[0]
            anchor = f"{pivot}/{index}"
        return before + reference.replace(anchor, f"{anchor}/{path}")

    return REFERENCE.sub(moved, message)


_KEPT = (
    "skipBackgroundRequests",
    "reportProperties",
    "match",
    "exclude",
    "context",
    "celPreconditions",
    "preconditions",
)


def for_controllers(data: Mapping[str, Json], kinds: Sequence[str]) -> dict[str, Json]:
    """Return a rule for controllers with the Pod in `spec.template`.

    Its expressions still read the Pod: `with_expressions` is applied last.
    """
    chosen = sorted(kind for kind in kinds if kind in CONTROLLERS) or sorted(kinds)
    selectors = [_SELECTORS.get(kind, kind) for kind in chosen]

    def moved(block: Mapping[str, object]) -> Mapping[str, object]:
        selects_pods = contains_pod(_resources(block).get("kinds") or ())
        return _with_kinds(block, selectors) if selects_pods else block

    return _wrapped(_with_matches(data, selectors, moved), data, "autogen", TEMPLATE)


def for_cron_jobs(derived: Mapping[str, Json], written: Mapping[str, Json]) -> dict[str, Json]:
    """Return a rule for CronJobs from the result of `for_controllers` for a written rule."""
    selectors = [_SELECTORS[CRON_JOB]]
    matched = _with_matches(derived, selectors, partial(_with_kinds, kinds=selectors))
    return _wrapped(matched, written, "autogen-cronjob", JOB_TEMPLATE)


def _resources(block: Mapping[str, object]) -> Json:
    return block.get("resources") or {}


def _with_kinds(block: Mapping[str, object], kinds: list[str]) -> Mapping[str, object]:
    return {**block, "resources": {**_resources(block), "kinds": kinds}}


def _with_matches(
    data: Mapping[str, Json],
    selectors: list[str],
    moved: Callable[[Mapping[str, object]], Mapping[str, object]],
) -> dict[str, Json]:
    changed = dict(data)
    for name in ("match", "exclude"):
        block = data.get(name) or {}
        quantifier = next((one for one in ("any", "all") if block.get(one)), None)
        if quantifier is not None:
            changed[name] = {**block, quantifier: [*map(moved, block[quantifier])]}
        elif name == "match" or _resources(block).get("kinds"):
            changed[name] = _with_kinds(block, selectors)
    return changed


def _wrapped(
    data: Mapping[str, object], written: Mapping[str, object], prefix: str, template: PodTemplate
) -> dict[str, Json]:
    """Return a rule with its body moved into the Pod template; this can be repeated."""
    kept = {field: data[field] for field in _KEPT if data.get(field)}
    if "preconditions" in kept:
        kept["preconditions"] = _without_empty_groups(kept["preconditions"])
    section = _rewritten_section(data, template) or {}
    return {"name": f"{prefix}-{written['name']}"[:_LONGEST_NAME], **kept, **section}


def with_expressions(data: dict[str, object], template: PodTemplate) -> dict[str, Json]:
    """Return a rule whose expressions read the template instead of the Pod.

    upstream replaces text in the rule's JSON form, ignoring word boundaries.
    """
    in_cel = ("validate", "cel") in body_paths(data)
    sources = ("object", "oldObject") if in_cel else ("request.object", "request.oldObject")
    replacements = tuple(
        (f"{source}.{part}", f"{source}.{template.expression}.{part}")
        for part in ("spec", "metadata")
        for source in sources
    )
    if not contains_text(data, *(old for old, _ in replacements)):
        return data
    text = json.dumps(data)
    for old, new in replacements:
        text = text.replace(old, new)
    changed: dict[str, object] = json.loads(text)
    return changed
