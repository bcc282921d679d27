"""Texts of patterns that hold variables."""

from types import MappingProxyType
from typing import Final

from kyvsim.kube.text_pattern import split_operator
from kyvsim.kube.wildcard import has_wildcard
from kyvsim.migrate.conditions.equality import READ_TEXTS
from kyvsim.migrate.expressions import Relation, Test, every, some
from kyvsim.migrate.patterns import TextTest
from kyvsim.migrate.queries import Scope, text_value
from kyvsim.migrate.refusal import NotConvertible
from kyvsim.migrate.values import Value

_SIGNS: Final = MappingProxyType({"": "==", "!": "!="})


def text_tests(scope: Scope) -> TextTest:
    """Return what makes tests of texts with variables."""

    def test(pattern: str, value: Value, if_missing: bool) -> Test | None:
        if "{{" not in pattern and "$(" not in pattern:
            return None
        sign, operand = split_operator(pattern)
        if sign not in _SIGNS or "$(" in pattern or has_wildcard(operand) or "|" in operand:
            raise NotConvertible(
                f"`{pattern}`, a pattern made at run time, has no twin in CEL",
                "ask with a deny condition",
            )
        scope.desk.note(READ_TEXTS)
        wanted = text_value(operand, scope)
        found = Relation(value.text, _SIGNS[sign], wanted.tight(5))
        if if_missing:
            return some([value.is_missing(), found])
        return every([value.is_there(), found])

    return test
