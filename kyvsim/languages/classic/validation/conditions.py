"""Conditions and context entries are complete, with operators, sources and names that may be."""

from collections.abc import Callable, Iterator, Sequence

from kyvsim.engine.conditions import operators
from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.image import parse_image
from kyvsim.kubernetes.objects import Json, Path
from kyvsim.languages.classic.rules import rule_types_of
from kyvsim.languages.classic.validation.rule_parts import RuleUnderCheck
from kyvsim.languages.classic.validation.variables import mask_variables, syntax_problem
from kyvsim.model.diagnostic import Diagnostic

# Preconditions and deny conditions are complete and use operators that exist.
#
# Source of the rules: upstream pkg/validation/policy/validate.go


_REQUESTS = ("CREATE", "UPDATE", "DELETE", "CONNECT")
_MISSING = "entered value of `key`, `value` or `operator` is missing or misspelled"


def check_conditions(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Every condition of a rule has key, value and operator, and the operator is known."""
    data = subject.data
    for block, found, path in _condition_blocks(data):
        for text, own in _problems(found, _condition_problem):
            yield _refusal(subject, f"{block}{text}", (*path, *own))
    for loop, path in _loops(data):
        denied = loop.get("deny", {}).get("conditions")
        for name, found in (("conditions", loop.get("preconditions")), ("deny.conditions", denied)):
            for text, _ in _problems(found, _operator_problem):
                yield _refusal(subject, f"{path[0]}.foreach.{name}{text}", path)
    for index, target in enumerate(data.get("mutate", {}).get("targets") or ()):
        problem = shape_problem(target.get("preconditions"))
        if problem:
            path = ("mutate", "targets", index, "preconditions")
            yield _refusal(subject, f"mutate.targets[{index}].preconditions: {problem}", path)


def _refusal(subject: RuleUnderCheck, text: str, path: Path) -> Diagnostic:
    return subject.error("KV133", f"path: {subject.text_path}.{text}", path)


def _condition_blocks(data: Json) -> Iterator[tuple[str, Json, Path]]:
    """Yield upstream's name for the place, the conditions, and their path in the rule."""
    yield "validate.preconditions", data.get("preconditions"), ("preconditions",)
    denied = data.get("validate", {}).get("deny", {}).get("conditions")
    yield "validate.deny.conditions", denied, ("validate", "deny", "conditions")
    for index, image in enumerate(data.get("verifyImages", ())):
        path: Path = ("verifyImages", index, "validate", "deny", "conditions")
        denied = image.get("validate", {}).get("deny", {}).get("conditions")
        yield "imageVerify.validate.deny.conditions", denied, path
        for at, attestation in enumerate(image.get("attestations", ())):
            for entry in attestation.get("conditions", ()):
                path = ("verifyImages", index, "attestations", at, "conditions")
                yield "verifyImages.attestations.conditions", entry, path


def _loops(data: Json) -> Iterator[tuple[Json, Path]]:
    """Yield the loops of a rule, nested ones too, with their path."""
    for name in ("validate", "mutate"):
        path: Path = (name, "foreach")
        pending = [(data.get(name, {}).get("foreach"), path)]
        while pending:
            loops, path = pending.pop()
            for index, loop in enumerate(loops if loops.__class__ is list else ()):
                yield loop, (*path, index)
                pending.append((loop.get("foreach"), (*path, index, "foreach")))


def _problems(
    conditions: Json, problem_of: Callable[[Json], tuple[str, str]]
) -> Iterator[tuple[str, Path]]:
    """Yield where below the block something is wrong and what, and its path."""
    problem = shape_problem(conditions)
    if problem:
        yield f": {problem}", ()
        return
    groups: list[tuple[str, Path, Json]] = [("", (), conditions)]
    if conditions.__class__ is not list:
        named = conditions or {}
        groups = [(f".{name}", (name,), named.get(name)) for name in ("any", "all")]
    for place, path, group in groups:
        for index, condition in enumerate(group or ()):
            where, reason = problem_of(condition)
            if reason:
                yield f"{place}[{index}].{where}: {reason}", (*path, index)


def shape_problem(conditions: Json) -> str:
    """Return why data cannot be conditions at all, or "".

    Upstream drops such a policy while it reads it.
    """
    if conditions is None:
        return ""
    if conditions.__class__ is dict:
        named = [conditions.get(name) for name in ("any", "all")]
        groups: Sequence[Json] = [group for group in named if group is not None]
    else:
        groups = [conditions]
    for group in groups:
        if group.__class__ is not list:
            return "conditions must be a list, or a mapping with lists `any` and `all`"
        if any(condition.__class__ is not dict for condition in group):
            return "a condition must be a mapping"
        for name in ("operator", "message"):
            if any(entry.get(name, "").__class__ not in {str, type(None)} for entry in group):
                return f"`{name}` of a condition must be text"
    return ""


def _condition_problem(condition: Json) -> tuple[str, str]:
    """Return upstream's path below a condition and what is wrong with it; "" twice if nothing."""
    key, value = condition.get("key"), condition.get("value")
    if key is None or value is None or not condition.get("operator"):
        return "", _MISSING
    found = ("", "")
    if key.__class__ is str and key.replace(" ", "") == "{{request.operation}}":
        found = _request_problem(value)
    return found if found[1] else _operator_problem(condition)


def _operator_problem(condition: Json) -> tuple[str, str]:
    if condition.get("operator") in operators:
        return "", ""
    listed = " ".join(map(quote, operators))
    return "", f"entered value of `operator` is invalid. valid values: [{listed}]"


def _request_problem(value: Json) -> tuple[str, str]:
    """Return where and why a value is not an operation of a request."""
    entries: list[tuple[str, Json]] = []
    if value.__class__ is list:
        entries = [(f"value[{index}]", entry) for index, entry in enumerate(value)]
    elif value.__class__ is not str:
        text = (
            "'value' field is expected to be either in the form of a string or list, to compare it"
            " with the operation"
        )
        return "value", text
    elif not (value.startswith("{{") and value.endswith("}}")):
        entries = [(f"value: {value}", value)]
    for where, entry in entries:
        if entry.__class__ is not str:
            return where, f"'{where}' is expected to be a string"
        if entry not in _REQUESTS:
            return where, (
                f"unknown value '{entry}' found under the 'value' field. Only the following values"
                " are allowed: [CREATE, UPDATE, DELETE, CONNECT]"
            )
    return "", ""


# Context entries have a free name and a source that is complete.
#
# upstream: pkg/validation/policy/validate.go, validateRuleContext


_RESERVED = (
    "images",
    "request",
    "serviceAccountName",
    "serviceAccountNamespace",
    "element",
    "elementIndex",
)
_MASK = "kyvernojmespathvariable"
_QUERIED = ("apiCall", "globalReference", "imageRegistry")


def check_context(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Every context entry of a rule can be loaded; entries of loops are not looked at."""
    entries = subject.data.get("context", ())
    unread = (one for one in rule_types_of(subject.data) if not one.reads_context)
    if entries and any(one.body(subject.data) for one in unread):
        text = "context variables are not supported for CEL expressions in validate rules"
        yield subject.error("KV135", f"path: {subject.text_path}: {text}", ("context",))
        return
    for index, entry in enumerate(entries):
        reason = _name_problem(entry["name"]) or _source_problem(entry)
        if reason:
            text = f"path: {subject.text_path}: {reason}"
            yield subject.error("KV135", text, ("context", index))


def check_image_extractors(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Extracted images are changed in place only where they are not computed."""
    images = subject.data.get("verifyImages", ())
    extractors = subject.data.get("imageExtractors", {})
    computed = any(entry.get("jmesPath") for group in extractors.values() for entry in group)
    if computed and any(image.get("mutateDigest") for image in images):
        text = (
            "jmespath may not be used in an image extractor when mutating digests with verify"
            " images"
        )
        yield subject.error("KV136", f"path: {subject.text_path}: {text}", ("imageExtractors",))


def _name_problem(name: str) -> str:
    if not name:
        return "a name is required for context entries"
    taken = (one for one in _RESERVED if name == one or name.startswith(f"{one}."))
    start = f"entry name {name} is invalid as it conflicts with a pre-defined variable"
    return next((f"{start} {one}" for one in taken), "")


def _source_problem(entry: Json) -> str:
    if "variable" in entry:
        return _variable_problem(entry["variable"])
    if "configMap" in entry:
        for name in ("name", "namespace"):
            if not entry["configMap"].get(name):
                return f"a {name} is required for configMap context entry"
        return ""
    if "apiCall" in entry and entry["apiCall"].get("urlPath") and "service" in entry["apiCall"]:
        return "a URLPath cannot be used for service API calls"
    if "globalReference" in entry and not entry["globalReference"].get("name"):
        return "a name is required for globalReference context entry"
    if "imageRegistry" in entry:
        problem = _image_problem(entry["imageRegistry"].get("reference", ""))
        if problem:
            return problem
    source: Json = next((entry[name] for name in _QUERIED if name in entry), {})
    return _query_problem(source.get("jmesPath", ""))


def _image_problem(reference: str) -> str:
    """Return why an image reference is invalid; one with variables is not checked."""
    if not reference:
        return "a ref is required for imageRegistry context entry"
    if _MASK in mask_variables(reference, _MASK):
        return ""
    try:
        parse_image(reference)
    except ValueError as error:
        return f"bad image: {reference}: {str(error).rpartition(': ')[2]}"
    return ""


def _variable_problem(variable: Json) -> str:
    query = variable.get("jmesPath", "")
    problem = _query_problem(query)
    if problem:
        return problem
    if variable.get("value") is None and not query:
        return "a variable must define a value or a jmesPath expression"
    if variable.get("default") is not None and not query:
        return "a variable must define a default value only when a jmesPath expression is defined"
    return ""


def _query_problem(query: str) -> str:
    """Return why an expression cannot be parsed; one with variables in it is not looked at."""
    if not query or _MASK in mask_variables(query, _MASK):
        return ""
    syntax = syntax_problem(query)
    return f"failed to parse JMESPath {query}: {syntax}" if syntax else ""
