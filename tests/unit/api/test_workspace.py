"""Names that messages suggest, as fixes in editors."""

import pytest

from kyvsim.api import Source
from kyvsim.api.lint import with_suggestion
from kyvsim.api.workspace import can_be_fixed, remarks_on
from kyvsim.model.diagnostic import Diagnostic, Edit, Severity, is_slip, likely
from kyvsim.model.source import Location
from kyvsim.report.diagnostic_codes import LINTED, every_code

EXAMPLES = {
    code.code: code.bad.text for code in every_code() if code.bad and code.bad.command == LINTED
}

FIXABLE = [
    code
    for code in every_code()
    # Editors do not check a file that is nothing known (KV031).
    if code.fixable and code.bad.command == LINTED and code.code != "KV031"
]


def test_suggestions_in_the_examples_of_codes_can_be_applied():
    def check(source):
        return remarks_on(source, ())

    applied = []
    for text in EXAMPLES.values():
        source = Source("example.yaml", text)
        for remark in check(source):
            if "did you mean" in remark.message:
                suggested = with_suggestion(remark, source)
                assert can_be_fixed(suggested, source, check), remark
                applied.append(remark.code)
    assert {"KV011", "KV012", "KV205", "KV215", "KV260", "KV313"} <= {*applied}


@pytest.mark.parametrize("code", FIXABLE, ids=lambda one: one.code)
def test_fixes_of_lint_are_quick_fixes(code):
    def check(source):
        return remarks_on(source, ())

    source = Source("example.yaml", code.bad.text)
    fixable = [one for one in check(source) if one.fix and one.code == code.code]
    assert fixable
    assert all(with_suggestion(one, source) == one for one in fixable)
    # Two fixes of one mistake are made together by `lint --fix`.
    assert any(can_be_fixed(one, source, check) for one in fixable)


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


@pytest.mark.parametrize(
    ("code", "message", "is_fixed"),
    [
        ("KV225", "no field `tpye` here: did you mean `type`?", True),
        ("KV225", "no field `Sizes` here: did you mean `size`?", True),
        ("KV225", "no field `tyqe` here: did you mean `type`?", False),  # another letter
        ("KV225", "no field `sizex` here: did you mean `size`?", False),  # at the end
        ("KV225", "no field `tpye` here: did you mean `type` or `tape`?", False),
        ("KV225", "no field `twice` here: did you mean `twices`?", False),  # which one?
        ("KV072", "no rule `tpye`: did you mean `type`?", False),  # a name that users choose
    ],
)
def test_lint_corrects_slips_in_names_of_kubernetes(code, message, is_fixed):
    text = "spec:\n  tpye: {tyqe: Sizes, sizex: 1}\n  a: [twice, twice]\n"
    place = Location("a.yaml", 3 if "twice" in message else 2, 1)
    remark = Diagnostic(code, Severity.WARNING, message, place)
    source = Source("a.yaml", text)
    assert (with_suggestion(remark, source, only_slips=True).fix is not None) is is_fixed


@pytest.mark.parametrize(
    ("word", "meant", "is_one"),
    [
        ("hostnetwork", "hostNetwork", True),
        ("hostNetwrk", "hostNetwork", True),
        ("hostNettwork", "hostNetwork", True),
        ("hostNewtork", "hostNetwork", True),
        ("services", "Service", True),
        ("key", "keys", False),  # too short
        ("hostNetwark", "hostNetwork", False),
        ("hostNetwor", "hostNetwork", False),
        ("cidr4", "cidr", False),
        ("(image", "image", False),
        ("hostNtewokr", "hostNetwork", False),
        ("ab", "ba", False),
    ],
)
def test_slips_of_the_pen(word, meant, is_one):
    assert is_slip(word, meant) is is_slip(meant, word) is is_one


def test_names_both_names_that_a_slip_may_mean():
    names = ("base64_encode", "base64_decode", "sum")
    assert likely("base64_ecode", names) in {
        ": did you mean `base64_encode` or `base64_decode`?",
        ": did you mean `base64_decode` or `base64_encode`?",
    }
    assert likely("base64_encoode", names) == ": did you mean `base64_encode`?"
    assert likely("equals", ("Equal", "Equals")) == ": did you mean `Equals`?"
