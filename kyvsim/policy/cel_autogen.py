"""Variants of a policy on Pods for Pod controllers.

Expressions are changed as strings: `object.spec` is replaced by the path of the Pod template,
anywhere in the specification. In a MutatingPolicy only the expressions of conditions and apply
configurations are changed, by regular expressions; one that begins with `Object{` is
wrapped.

Custom workloads are listed as `resource.version.group`. Their variant is the policy as written: it
is evaluated on the Pod templates that are found in an object.

Source of the rules: upstream pkg/cel/autogen, pkg/cel/policies/vpol/autogen,
pkg/cel/policies/mpol/autogen.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, KubernetesObject
from kyvsim.policy.cel_policy import CelPolicyNode, MatchConstraints, read_cel_policy

_GROUPS: Mapping[str, str] = {
    "daemonsets": "apps",
    "deployments": "apps",
    "replicasets": "apps",
    "statefulsets": "apps",
    "jobs": "batch",
    "cronjobs": "batch",
}
_TEMPLATES: Mapping[str, str] = {
    "cronjobs": "spec.jobTemplate.spec.template",
    "defaults": "spec.template",
}
_OF_PODS = re.compile(r"(object|oldObject)\.(spec|metadata)(?!\.namespace(?![0-9A-Za-z_]))")


class PolicyVariant(NamedTuple):
    """A policy's specification for some controllers."""

    name: str
    spec: CelPolicyNode


def variants(spec: CelPolicyNode) -> Iterator[PolicyVariant]:
    """Yield the variants of a policy, in the order in which they are evaluated."""
    return _variants(spec, _replaced)


def mutation_variants(spec: CelPolicyNode) -> Iterator[PolicyVariant]:
    """Yield the variants of a MutatingPolicy, in the order in which they are evaluated."""
    return _variants(spec, _with_expressions)


def _variants(
    spec: CelPolicyNode, rewrite: Callable[[Mapping[str, object], str], Mapping[str, object]]
) -> Iterator[PolicyVariant]:
    """Yield variants; `rewrite` replaces paths by the path of the controllers' template."""
    constraints = spec.match_constraints
    if constraints is None or not is_about_pods(constraints):
        return
    operations = [*constraints.resource_rules[0].operations]
    controllers = spec.autogen.pod_controllers
    names = _GROUPS if controllers is None else controllers
    wanted = sorted(one for one in names if one in _GROUPS)
    for name, template in _TEMPLATES.items():
        resources = [one for one in wanted if (one == "cronjobs") is (name == "cronjobs")]
        if not resources or not operations:
            continue
        rules = [
            {
                "apiGroups": [group],
                "apiVersions": ["v1"],
                "operations": operations,
                "resources": [one for one in resources if _GROUPS[one] == group],
            }
            for group in sorted({_GROUPS[one] for one in resources})
        ]
        written = {**spec.data, "matchConstraints": None}
        data = {**rewrite(written, template), "matchConstraints": _matching(rules, constraints)}
        yield PolicyVariant(name, read_cel_policy(data, spec.path))


def _matching(
    rules: Sequence[Mapping[str, object]], written: MatchConstraints
) -> dict[str, object]:
    """Return the constraints of a variant: its rules, and the selector of the written ones."""
    if not written.namespace_selector:
        return {"resourceRules": rules}
    return {"resourceRules": rules, "namespaceSelector": written.namespace_selector}


EXTRACTION = "extract"
"""The name of the variant for custom workloads."""


def extraction_variants(spec: CelPolicyNode) -> Iterator[PolicyVariant]:
    """Yield the variant of a policy for the custom workloads among its controllers, if any."""
    constraints = spec.match_constraints
    if constraints is None or not is_about_pods(constraints):
        return
    operations = [*constraints.resource_rules[0].operations]
    targets: dict[tuple[str, str], set[str]] = {}
    for name in spec.autogen.pod_controllers or ():
        target = custom_workload(name)
        if target is not None:
            targets.setdefault(target[:2], set()).add(target[2])
    if targets and operations:
        rules = [
            {
                "apiGroups": [group],
                "apiVersions": [version],
                "operations": operations,
                "resources": sorted(resources),
            }
            for (group, version), resources in sorted(targets.items())
        ]
        data = {**spec.data, "matchConstraints": _matching(rules, constraints)}
        yield PolicyVariant(EXTRACTION, read_cel_policy(data, spec.path))


def custom_workload(name: str) -> tuple[str, str, str] | None:
    """Return group, version and resource of a controller such as `jobsets.v1.example.com`.

    None for the name of a built-in controller, and for other names, which only a cluster can
    resolve.
    """
    resource, _, rest = name.partition(".")
    version, _, group = rest.partition(".")
    return (group, version, resource) if resource and version and group else None


def pod_templates(obj: object) -> Mapping[str, KubernetesObject]:
    """Return the Pod templates in the `spec` of an object by their paths, such as `spec.jobs[0]`.

    They are in the order of the document; upstream's order is random in maps.
    """
    spec = obj.get("spec") if isinstance(obj, dict) else None
    return dict(_templates_in(spec, "spec")) if isinstance(spec, dict) else {}


def _templates_in(node: object, path: str) -> Iterator[tuple[str, KubernetesObject]]:
    if isinstance(node, dict):
        if _is_template(node):
            yield path, node
        else:
            for name, member in node.items():
                yield from _templates_in(member, f"{path}.{name}")
    elif isinstance(node, list):
        for index, member in enumerate(node):
            yield from _templates_in(member, f"{path}[{index}]")


def _is_template(node: KubernetesObject) -> bool:
    spec = node.get("spec")
    containers = spec.get("containers") if spec.__class__ is dict else None
    return (
        node.get("metadata", {}).__class__ is dict
        and containers.__class__ is list
        and bool(containers)
        and all(
            one.__class__ is dict
            and one.get("name").__class__ is str
            and bool(one["name"])
            and one.get("image").__class__ is str
            for one in containers
        )
    )


def is_about_pods(constraints: MatchConstraints | None) -> bool:
    """Return whether constraints have the only form for which variants are derived."""
    if constraints is None or len(constraints.resource_rules) != 1:
        return False
    rule = constraints.resource_rules[0]
    is_narrowed = constraints.selects_objects or constraints.exclude_resource_rules
    names = (rule.api_groups, rule.api_versions, rule.resources, rule.resource_names)
    return not is_narrowed and names == (("",), ("v1",), ("pods",), ())


def _replaced(value: object, template: str) -> Json:
    if value.__class__ is str:
        return _OF_PODS.sub(rf"\1.{template}.\2", value)
    if value.__class__ is list:
        return [_replaced(one, template) for one in value]
    if value.__class__ is dict:
        return {_replaced(key, template): _replaced(one, template) for key, one in value.items()}
    return value


_OBJECTS = r"\b(object|oldObject|Object)\."
_SPEC_FIELD = re.compile(rf"{_OBJECTS}spec", re.ASCII)
_METADATA_FIELD = re.compile(rf"{_OBJECTS}metadata\.(labels|annotations)", re.ASCII)


def _with_expressions(spec: Mapping[str, Json], template: str) -> Mapping[str, Json]:
    def changed(holder: Mapping[str, Json]) -> Mapping[str, Json]:
        return {**holder, "expression": _for_template(holder.get("expression") or "", template)}

    found = dict(spec)
    if spec.get("matchConditions"):
        found["matchConditions"] = [*map(changed, spec["matchConditions"])]
    if spec.get("mutations"):
        found["mutations"] = [
            {**one, "applyConfiguration": changed(one["applyConfiguration"])}
            if one.get("applyConfiguration")
            else one
            for one in spec["mutations"]
        ]
    return found


def _for_template(expression: str, template: str) -> str:
    expression = _SPEC_FIELD.sub(rf"\1.{template}.spec", expression)
    expression = _METADATA_FIELD.sub(rf"\1.{template}.metadata.\2", expression)
    head, brace, rest = expression.strip().partition("{")
    if not brace or head.rstrip(" \t\r\n") != "Object":
        return expression
    # The position of the closing brace; braces in strings count, too.
    depth, end = 1, 0
    for at, char in enumerate(rest):
        depth += (char == "{") - (char == "}")
        if not depth:
            end = at
            break
    if not end:
        return expression
    # The fields are moved into nested objects for the template's path.
    steps = template.split(".")
    opened = "Object{"
    for count, step in enumerate(steps, 1):
        opened += f"{step}: Object.{'.'.join(steps[:count])}{{"
    return f"{opened}{rest[:end]}{'}' * (len(steps) + 1)}{rest[end + 1 :]}"
