"""Kinds in match and exclude blocks: when `*` is allowed, and that there are any.

upstream: pkg/validation/policy/validate.go
"""

from collections.abc import Iterator

from kyvsim.kube.objects import Json
from kyvsim.kube.yaml_text import YamlError, load_one
from kyvsim.languages.classic.checks.refusal import RuleUnderCheck, has
from kyvsim.languages.classic.checks.variable_text import PLAIN_VARIABLE
from kyvsim.match.criteria import filters
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Filter

_ONLY_METADATA = (
    "policy can only deal with the metadata field of the resource if the rule does not match any"
    " kind"
)
_NO_KIND = (
    "at least one element must be specified in a kind block, the kind attribute is mandatory when"
    " working with the resources element"
)
_KNOWN_ANYWHERE = ("request.", "serviceAccountName", "serviceAccountNamespace")


def check_wildcard_kinds(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """A filter for all kinds stands alone, outside of background mode, in a fitting rule."""
    for block in ("match", "exclude"):
        for entry in filters(subject.data, block):
            reason = _wildcard_problem(subject, entry)
            if reason:
                text = f"path: {subject.text_path}.{entry.text_path}.kinds: {reason}"
                yield subject.refuse("KV126", text, (*entry.path, "resources", "kinds"))


def check_kinds_present(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Every filter of the match block names kinds."""
    match = subject.data.get("match", {})
    entries = match.get("any") or match.get("all") or [match]
    if all(entry.get("resources", {}).get("kinds") for entry in entries):
        return
    text = _NO_KIND if _touches_only_metadata(subject.data) else _ONLY_METADATA
    yield subject.refuse("KV127", text, ("match",))


def _wildcard_problem(subject: RuleUnderCheck, entry: Filter) -> str:
    if "*" not in entry.kinds:
        return ""
    if subject.policy.background:
        return (
            "wildcard policy not allowed in background mode. Set spec.background=false to disable"
            " background mode for this policy rule "
        )
    if len(entry.kinds) > 1:
        return "wildcard policy can not deal with more than one kind"
    data = subject.data
    validate = data.get("validate", {})
    if has(data, "generate") or has(data, "verifyImages") or "foreach" in validate:
        return "wildcard policy does not support rule type"
    patterned = "pattern" in validate or "anyPattern" in validate or has(data, "mutate")
    if patterned and not _touches_only_metadata(data):
        return _ONLY_METADATA
    conditions = validate.get("deny", {}).get("conditions")
    if conditions.__class__ is list and not all(map(_reads_metadata, conditions)):
        return _ONLY_METADATA
    return ""


def _reads_metadata(condition: Json) -> bool:
    key = condition.get("key")
    if key.__class__ is not str:
        return False
    if "request.object.metadata." in key:
        return True
    expressions = (found.strip("{} \t\n") for found in PLAIN_VARIABLE.findall(key))
    allowed = any(expression.startswith(_KNOWN_ANYWHERE) for expression in expressions)
    return allowed and "request.object.spec" not in key


def _touches_only_metadata(data: Json) -> bool:
    mutate, validate = data.get("mutate", {}), data.get("validate", {})
    patterns = [mutate.get("patchStrategicMerge"), validate.get("pattern")]
    if validate.get("anyPattern").__class__ is list:
        patterns += validate["anyPattern"]
    for pattern in patterns:
        if pattern.__class__ is dict and any(key != "metadata" for key in pattern):
            return False
    return all(path.startswith("/metadata") for path in _json_patch_paths(mutate))


def _json_patch_paths(mutate: Json) -> Iterator[str]:
    """Yield the paths of a patch written as JSON; upstream does not look into YAML here."""
    patch = mutate.get("patchesJson6902", "")
    if not patch.lstrip().startswith("["):
        return
    try:
        operations = load_one(patch)
    except YamlError:
        return
    for operation in operations if operations.__class__ is list else ():
        path = operation.get("path") if operation.__class__ is dict else None
        yield path if path.__class__ is str else ""
