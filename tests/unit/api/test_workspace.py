"""Names that messages suggest, as fixes in editors."""

import pytest

from kyvsim.api import Source
from kyvsim.api.workspace import can_be_fixed, remarks_on, with_suggestion
from kyvsim.model.diagnostic import Diagnostic, Edit, Severity
from kyvsim.model.source import Location
from kyvsim.report.diagnostic_codes import LINTED, every_code

EXAMPLES = {
    code.code: code.bad.text for code in every_code() if code.bad and code.bad.command == LINTED
}


def test_suggestions_in_the_examples_of_codes_can_be_applied():
    def check(source):
        return remarks_on(source, ())

    applied = []
    for text in EXAMPLES.values():
        source = Source("example.yaml", text)
        for remark in check(source):
            if "did you mean" in remark.message and remark.fix is None:
                suggested = with_suggestion(remark, source)
                assert can_be_fixed(suggested, source, check), remark
                applied.append(remark.code)
    assert {"KV011", "KV012", "KV205", "KV215", "KV260", "KV313"} <= {*applied}


@pytest.mark.parametrize(
    ("message", "column", "edit"),
    [
        ("unknown field `spec.colour`: did you mean `color`?", 3, (2, 3, 9, "color")),
        ("unknown `colour`: did you mean `color`?", 12, (2, 13, 19, "color")),
        ("unknown `size`: did you mean `sizes`?", 1, (3, 3, 7, "sizes")),
        ("unknown `blue`: did you mean `bleu`?", 1, None),  # twice, and not on the line
        ("unknown `shape`: did you mean `shapes`?", 1, None),
        ("unknown `colour`", 1, None),
    ],
)
def test_a_suggestion_replaces_the_word_of_the_message(message, column, edit):
    text = "spec:\n  colour: x colour\n  size: blue\n  more: blue, my-size\n"
    remark = Diagnostic("KV012", Severity.ERROR, message, Location("a.yaml", 2, column))
    fix = with_suggestion(remark, Source("a.yaml", text)).fix
    if edit is None:
        assert fix is None
        return
    line, start, end, new = edit
    assert fix.edits == (Edit(line, start, line, end, new),)
