"""Context entries have a free name and a source that is complete.

upstream: pkg/validation/policy/validate.go, validateRuleContext
"""

from collections.abc import Iterator

from kyvsim.kube.image import parse_image
from kyvsim.kube.objects import Json
from kyvsim.languages.classic.checks.refusal import RuleUnderCheck
from kyvsim.languages.classic.checks.variables import mask_variables, syntax_problem
from kyvsim.languages.classic.rules import rule_types_of
from kyvsim.model.diagnostic import Diagnostic

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
        yield subject.refuse("KV135", f"path: {subject.text_path}: {text}", ("context",))
        return
    for index, entry in enumerate(entries):
        reason = _name_problem(entry["name"]) or _source_problem(entry)
        if reason:
            text = f"path: {subject.text_path}: {reason}"
            yield subject.refuse("KV135", text, ("context", index))


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
        yield subject.refuse("KV136", f"path: {subject.text_path}: {text}", ("imageExtractors",))


def _name_problem(name: str) -> str:
    if not name:
        return "a name is required for context entries"
    for reserved in _RESERVED:
        if name == reserved or name.startswith(f"{reserved}."):
            return (
                f"entry name {name} is invalid as it conflicts with a pre-defined variable"
                f" {reserved}"
            )
    return ""


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
    """Return why an image cannot be asked for; one with variables in it is not looked at."""
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
