"""The whole shape of a document: all that Kyverno's definitions say of its kind.

Only `lint` and the language server check it: it needs CEL, which the other commands start without.
"""

import re
from collections.abc import Iterator

from kyvsim.kubernetes.objects import Json
from kyvsim.load.policy import sniff
from kyvsim.load.structure import Problem, check, diagnostics, not_one_of, show_path
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.source import Document
from kyvsim.schema.kinds import is_written, written_schema
from kyvsim.schema.node import SchemaNode
from kyvsim.schema.rules import BrokenRule, broken_rules

_EITHER = re.compile(
    r"\(has\(self\.(\w+)\) && !has\(self\.(\w+)\)\) \|\| "
    r"\(!has\(self\.\1\) && has\(self\.\2\)\)"
)
"""The rule that exactly one of two fields is given."""


def has_known_shape(document: Document) -> bool:
    """Return whether the document is of a kind with a CRD, evaluated by kyvsim or not."""
    return is_written(sniff(document.data))


def shape_diagnostics(document: Document) -> tuple[Diagnostic, ...]:
    """Return where a document of a known kind does not fit; each place once."""
    problems = _problems(document.data, written_schema(sniff(document.data)))
    return diagnostics(document, dict.fromkeys(problems))


def _problems(data: Json, schema: SchemaNode) -> Iterator[Problem]:
    filled, problems = check(schema, data)
    yield from problems
    for broken in broken_rules(filled, None, schema):
        yield _worded_rule(broken)


def _worded_rule(broken: BrokenRule) -> Problem:
    either = _EITHER.fullmatch(broken.rule)
    if either:
        return not_one_of(broken.path, either.groups())
    return Problem("KV017", broken.path, f"`{show_path(broken.path)}`: {broken.message}")
