"""Variants of a policy on Pods for Pod controllers.

Expressions are changed as strings: `object.spec` is replaced by the path of the Pod template,
anywhere in the specification. In a MutatingPolicy only the expressions of conditions and apply
configurations are changed, by regular expressions; one that begins with `Object{` is
wrapped.

Source of the rules: upstream pkg/cel/autogen, pkg/cel/policies/vpol/autogen,
pkg/cel/policies/mpol/autogen.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json
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
        matching: dict[str, object] = {
            "resourceRules": [
                {
                    "apiGroups": [group],
                    "apiVersions": ["v1"],
                    "operations": operations,
                    "resources": [one for one in resources if _GROUPS[one] == group],
                }
                for group in sorted({_GROUPS[one] for one in resources})
            ]
        }
        if constraints.namespace_selector:
            matching["namespaceSelector"] = constraints.namespace_selector
        written = {**spec.data, "matchConstraints": None}
        data = {**rewrite(written, template), "matchConstraints": matching}
        yield PolicyVariant(name, read_cel_policy(data, spec.path))


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
