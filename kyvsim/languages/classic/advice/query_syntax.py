"""Fixed expressions that are no JMESPath where Kyverno reads them only when the rule runs.

Those of a rule's own context entries and of variables `{{ }}` are read, and refused, before
(KV112, KV135).
"""

from collections.abc import Iterator

from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.checks.refusal import is_query, texts
from kyvsim.languages.classic.checks.variables import syntax_problem
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy
from kyvsim.model.source import Path


def unreadable_queries(policy: Policy) -> Iterator[Diagnostic]:
    """KV209: an expression in a loop or target that cannot be parsed: the rule ends in error."""
    for rule in policy.rules:
        for path, query in _queries(rule.data):
            problem = syntax_problem(query)
            if problem:
                message = f"`{query}` is no JMESPath: {problem}"
                yield warn(policy.document, "KV209", message, (*rule.path, *path))


def _queries(rule: Json) -> Iterator[tuple[Path, str]]:
    """Yield the fixed expressions of a rule that no check has read, with their paths."""
    for path, text in texts(rule):
        if is_query(path) and path[0] != "context" and text.strip() and "{{" not in text:
            yield path, text.strip()
