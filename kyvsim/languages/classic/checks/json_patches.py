"""JSON patches: operations that exist, paths that begin at the root, values where needed.

upstream: pkg/validation/policy/validate.go, gopkg.in/evanphx/json-patch.v4 as Kyverno uses it
"""

from collections.abc import Iterator

from kyvsim.kube.go_text import to_json
from kyvsim.kube.objects import Json
from kyvsim.kube.yaml_text import YamlError, load_one
from kyvsim.languages.classic.checks.refusal import RuleUnderCheck
from kyvsim.languages.classic.checks.variable_text import mask_variables
from kyvsim.model.diagnostic import Diagnostic

_OPERATIONS = ("add", "remove", "replace", "move", "copy", "test")
_WITH_VALUE = ("add", "replace", "test")


def check_json_patch(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """The patch of a mutate rule can be applied to something; loops are not looked at."""
    patch = subject.data.get("mutate", {}).get("patchesJson6902")
    reason = _problem(patch) if patch else None
    if reason is not None:
        text = f"path must begin with a forward slash: {subject.text_path}: {reason}"
        yield subject.refuse("KV132", text, ("mutate", "patchesJson6902"))


def _problem(patch: str) -> str | None:
    """Return why a patch cannot be applied; for a path without slash that is the path."""
    try:
        operations: Json = load_one(mask_variables(patch, "kyvernojsonpatchvariable"))
    except YamlError as error:
        return error.go_text
    if operations is None:
        return None
    if operations.__class__ is not list:
        return "a patch must be a list of operations"
    problems = map(_operation_problem, operations)
    return next((problem for problem in problems if problem is not None), None)


def _operation_problem(operation: Json) -> str | None:
    if operation.__class__ is not dict:
        return "an operation must be a mapping"
    shown = f"invalid operation {to_json(operation)}: "
    name, path = operation.get("op"), operation.get("path")
    if name not in _OPERATIONS:
        return f"{shown}unsupported operation"
    if path.__class__ is not str:
        return f"{shown}failed to decode 'path': operation missing path field: missing value"
    if name in _WITH_VALUE and "value" not in operation:
        return f"{shown}failed to decode 'value': operation, missing value field: missing value"
    if name in {"move", "copy"} and operation.get("from").__class__ is not str:
        return f"{shown}failed to decode 'from': operation, missing from field: missing value"
    return None if path.startswith("/") else path
