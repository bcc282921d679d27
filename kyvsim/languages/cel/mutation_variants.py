"""Variants of a MutatingPolicy on Pods for the controllers that make them.

Only the expressions of conditions and of objects to merge in are changed, by regular expressions;
an expression that begins with `Object{` is put into the way to the template.

Source of the rules: upstream pkg/cel/policies/mpol/autogen.
"""

import re
from collections.abc import Iterator, Mapping

from kyvsim.kubernetes.objects import Json
from kyvsim.languages.cel.autogen import Variant
from kyvsim.languages.cel.autogen import variants as derive

_OBJECTS = r"\b(object|oldObject|Object)\."
_SPEC = re.compile(rf"{_OBJECTS}spec", re.ASCII)
_METADATA = re.compile(rf"{_OBJECTS}metadata\.(labels|annotations)", re.ASCII)


def variants(spec: Mapping[str, Json]) -> Iterator[Variant]:
    """Yield the variants of a policy, in the order in which they are evaluated."""
    return derive(spec, _rewrite)


def _rewrite(spec: Mapping[str, Json], template: str) -> Mapping[str, Json]:
    changed = dict(spec)
    if spec.get("matchConditions"):
        changed["matchConditions"] = [_changed(one, template) for one in spec["matchConditions"]]
    if spec.get("mutations"):
        changed["mutations"] = [
            {**one, "applyConfiguration": _changed(one["applyConfiguration"], template)}
            if one.get("applyConfiguration")
            else one
            for one in spec["mutations"]
        ]
    return changed


def _changed(holder: Mapping[str, Json], template: str) -> Mapping[str, Json]:
    return {**holder, "expression": _for_template(holder.get("expression") or "", template)}


def _for_template(expression: str, template: str) -> str:
    expression = _SPEC.sub(rf"\1.{template}.spec", expression)
    expression = _METADATA.sub(rf"\1.{template}.metadata.\2", expression)
    head, brace, rest = expression.strip().partition("{")
    if not brace or head.rstrip(" \t\r\n") != "Object":
        return expression
    end = _closing_brace(rest)
    return f"{_wrapped(rest[:end], template)}{rest[end + 1 :]}" if end > 0 else expression


def _closing_brace(text: str) -> int:
    """Return where the brace before a text is closed, 0 if nowhere; texts in it count, too."""
    depth = 1
    for at, char in enumerate(text):
        depth += (char == "{") - (char == "}")
        if not depth:
            return at
    return 0


def _wrapped(inner: str, template: str) -> str:
    """Return the fields of an object inside objects that lead to the template."""
    steps = template.split(".")
    opened = "Object{"
    for count, step in enumerate(steps, 1):
        opened += f"{step}: Object.{'.'.join(steps[:count])}{{"
    return opened + inner + "}" * (len(steps) + 1)
