"""Labels and annotations in patterns and patches are text.

upstream: pkg/validation/policy/validate.go, isLabelAndAnnotationsString
"""

from collections.abc import Iterator

from kyvsim.kube.objects import Json
from kyvsim.languages.classic.checks.refusal import RuleUnderCheck
from kyvsim.languages.classic.rules import rule_types_of
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.source import Path

_TEXT_ONLY = (
    "labels and annotations supports only string values, "
    '"use double quotes around the non string values"'
)
_TEMPLATE = ("spec", "template", "metadata")


def check_metadata_text(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Numbers, booleans and null as labels or annotations are mistakes."""
    for pattern, path in _patterns(subject.data):
        for block in ((("metadata",), pattern.get("metadata")), (_TEMPLATE, _template(pattern))):
            where, metadata = block
            for name in _not_text(metadata):
                yield subject.refuse("KV141", _TEXT_ONLY, (*path, *where, *name))


def _patterns(rule: Json) -> Iterator[tuple[Json, Path]]:
    """Yield the patterns and patches of a rule that are mappings, with their path."""
    for one in rule_types_of(rule):
        for path, pattern in one.patterns(one.body(rule)):
            if pattern.__class__ is dict:
                yield pattern, (*one.field, *path)


def _template(pattern: Json) -> Json:
    found = pattern
    for name in _TEMPLATE:
        found = found.get(name) if found.__class__ is dict else None
    return found


def _not_text(metadata: Json) -> Iterator[Path]:
    """Yield the paths of labels and annotations that are no text."""
    for block in ("labels", "annotations"):
        values = metadata.get(block) if metadata.__class__ is dict else None
        for name, value in values.items() if values.__class__ is dict else ():
            if value.__class__ is not str:
                yield block, name
