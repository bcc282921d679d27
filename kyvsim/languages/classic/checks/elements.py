"""Variables of loops stand inside of loops.

upstream: pkg/engine/variables/vars.go, validateElementInForEach
"""

from collections.abc import Iterator

from kyvsim.expr.variables import VARIABLE, remains_of
from kyvsim.kube.objects import contains_text
from kyvsim.languages.classic.checks.references import pointer
from kyvsim.languages.classic.checks.refusal import RuleUnderCheck, marked_texts
from kyvsim.languages.classic.checks.variable_text import expression_of
from kyvsim.model.diagnostic import Diagnostic


def check_elements(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """No `element` outside of `foreach`."""
    if not contains_text(subject.data, "element"):
        return
    for path, text in marked_texts(subject.data):
        if "{{" not in text or "/foreach/" in pointer(path):
            continue
        for found in VARIABLE.finditer(text):
            expression = expression_of(remains_of(found[1]) + found[2])
            if expression.startswith("element"):
                place = pointer(path)
                message = f"variable '{expression}' present outside of foreach at path {place}"
                yield subject.refuse("KV134", message, path)
