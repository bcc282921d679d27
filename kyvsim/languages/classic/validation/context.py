"""Context entries have a free name and a source that is complete.

upstream: pkg/validation/policy/validate.go, validateRuleContext
"""

from collections.abc import Iterator

from kyvsim.kubernetes.image import parse_image
from kyvsim.languages.classic.validation.rule_parts import RuleUnderCheck
from kyvsim.languages.classic.validation.variables import mask_variables, syntax_problem
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.policy.tree import (
    ApiCallEntry,
    ConfigMapEntry,
    ContextEntry,
    GlobalReferenceEntry,
    ImageRegistryEntry,
    VariableEntry,
)

_RESERVED = (
    "images",
    "request",
    "serviceAccountName",
    "serviceAccountNamespace",
    "element",
    "elementIndex",
)
_MASK = "kyvernojmespathvariable"


def check_context(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Every context entry of a rule can be loaded; entries of loops are not looked at."""
    entries = subject.rule.tree.context
    validate = subject.rule.tree.validate
    if entries and validate and validate.cel and any(validate.cel[1:]):
        text = "context variables are not supported for CEL expressions in validate rules"
        place = (*subject.rule.path, "context")
        yield subject.error(place, "KV135", f"path: {subject.text_path}: {text}")
        return
    for entry in entries:
        reason = _name_problem(entry.name) or _source_problem(entry)
        if reason:
            text = f"path: {subject.text_path}: {reason}"
            yield subject.error(entry.path, "KV135", text)


def check_image_extractors(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Extracted images are changed in place only where they are not computed."""
    tree = subject.rule.tree
    extractors = (one for group in tree.image_extractors or () for one in group.extractors)
    is_computed = any(one.jmes_path for one in extractors)
    if is_computed and any(image.mutate_digest for image in tree.verify_images or ()):
        text = (
            "jmespath may not be used in an image extractor when mutating digests with verify"
            " images"
        )
        place = (*tree.path, "imageExtractors")
        yield subject.error(place, "KV136", f"path: {subject.text_path}: {text}")


def _name_problem(name: str) -> str:
    if not name:
        return "a name is required for context entries"
    taken = (one for one in _RESERVED if name == one or name.startswith(f"{one}."))
    start = f"entry name {name} is invalid as it conflicts with a pre-defined variable"
    return next((f"{start} {one}" for one in taken), "")


def _source_problem(entry: ContextEntry) -> str:
    match entry:
        case VariableEntry():
            return _variable_problem(entry)
        case ConfigMapEntry():
            if not entry.config_map_name:
                return "a name is required for configMap context entry"
            if not entry.config_map_namespace:
                return "a namespace is required for configMap context entry"
            return ""
        case ApiCallEntry() if entry.url_path and entry.service is not None:
            return "a URLPath cannot be used for service API calls"
        case GlobalReferenceEntry() if not entry.reference:
            return "a name is required for globalReference context entry"
        case ImageRegistryEntry():
            return _image_problem(entry.reference) or _query_problem(entry.jmes_path)
    return _query_problem(entry.jmes_path)


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


def _variable_problem(entry: VariableEntry) -> str:
    problem = _query_problem(entry.jmes_path)
    if problem:
        return problem
    if entry.value is None and not entry.jmes_path:
        return "a variable must define a value or a jmesPath expression"
    if entry.default is not None and not entry.jmes_path:
        return "a variable must define a default value only when a jmesPath expression is defined"
    return ""


def _query_problem(query: str) -> str:
    """Return why an expression cannot be parsed; one with variables in it is not looked at."""
    if not query or _MASK in mask_variables(query, _MASK):
        return ""
    syntax = syntax_problem(query)
    return f"failed to parse JMESPath {query}: {syntax}" if syntax else ""
