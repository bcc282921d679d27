"""Complete validation of documents against Kyverno's CRDs.

Only used by `lint` and the language server, since it needs CEL.
"""

import re

from kyvsim.load.policy import sniff
from kyvsim.load.structure import Problem, check, diagnostics, not_one_of, show_path
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.source import Document
from kyvsim.schema.kinds import is_written, written_schema
from kyvsim.schema.node import completed
from kyvsim.schema.rules import BrokenRule, broken_rules

_EITHER = re.compile(
    r"\(has\(self\.(\w+)\) && !has\(self\.(\w+)\)\) \|\| "
    r"\(!has\(self\.\1\) && has\(self\.\2\)\)"
)
"""The rule that exactly one of two fields is set."""


def has_known_shape(document: Document) -> bool:
    """Return whether the document's kind has a CRD, even if kyvsim does not evaluate it."""
    return is_written(sniff(document.data))


def shape_diagnostics(document: Document, *, is_valid: bool = False) -> tuple[Diagnostic, ...]:
    """Return the errors of a document of a known kind without duplicates.

    `is_valid` says that a policy was loaded from it, so that only the rules are evaluated.
    """
    schema = written_schema(sniff(document.data))
    problems: tuple[Problem, ...] = ()
    if is_valid:
        filled = completed(document.data, schema)
    else:
        filled, problems = check(schema, document.data)
    broken = map(_worded_rule, broken_rules(filled, None, schema))
    return diagnostics(document, dict.fromkeys((*problems, *broken)))


def _worded_rule(broken: BrokenRule) -> Problem:
    either = _EITHER.fullmatch(broken.rule)
    if either:
        return not_one_of(broken.path, either.groups())
    return Problem("KV017", broken.path, f"`{show_path(broken.path)}`: {broken.message}")
