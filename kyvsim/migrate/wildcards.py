"""Wildcard texts → tests of texts."""

import re

from kyvsim.kube.wildcard import has_wildcard
from kyvsim.migrate.expressions import TRUE, Plain, Relation, Test, quoted

_SPECIAL = re.compile(r"([.+()|\[\]{}^$\\])")


def like(text: str, pattern: str) -> Test:
    """Return the test that `text`, an expression that binds tightly, fits a wildcard text."""
    if not has_wildcard(pattern):
        return Relation(text, "==", quoted(pattern))
    if not pattern.strip("*"):
        return TRUE
    if pattern in {"?*", "*?"}:
        return Relation(text, "!=", "''")
    inner = pattern.strip("*")
    if has_wildcard(inner):
        return Plain(f"{text}.matches({quoted(expression_of(pattern))})")
    before, after = pattern.startswith("*"), pattern.endswith("*")
    function = "contains" if before and after else "endsWith" if before else "startsWith"
    return Plain(f"{text}.{function}({quoted(inner)})")


def like_one(text: str, patterns: list[str]) -> list[Test]:
    """Return tests of which one holds where a text fits one of the wildcard texts."""
    plain = [one for one in patterns if not has_wildcard(one)]
    tests = [like(text, one) for one in patterns if has_wildcard(one)]
    if len(plain) == 1:
        return [Relation(text, "==", quoted(plain[0])), *tests]
    listed = ", ".join(map(quoted, plain))
    return [Relation(text, "in", f"[{listed}]"), *tests] if plain else tests


def expression_of(pattern: str) -> str:
    """Return a wildcard text as a regular expression of whole texts."""
    signs = _SPECIAL.sub(r"\\\1", pattern).replace("*", ".*").replace("?", ".")
    return f"^(?s:{signs})$"
