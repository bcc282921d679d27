from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.result import Fact, RunEnding, RunVerdict
from kyvsim.model.source import Location
from kyvsim.report.ending import closing_lines, error_fact, weighing
from kyvsim.report.style import RenderOptions, layout_of

REMARK = Diagnostic(
    "KV012",
    Severity.ERROR,
    "unknown field `patern`\x1b[0m: did you mean `pattern`?",
    Location("a/policy.yaml", 15, 9),
)
FAILED = weighing("failed", 2, "2 of 3 results failed")


def closing(*facts, width=80, seconds=None):
    look = RenderOptions(width=width)
    return "".join(closing_lines(RunEnding(facts), layout_of(look), seconds))


def test_errors_about_input_are_only_counted():
    told = closing(error_fact([REMARK, REMARK._replace(message="other")]), FAILED, width=60)
    assert told == (
        "INCOMPLETE: 2 errors in 1 input · 2 of 3 results failed ·\n            exit status 2\n"
    )


def test_what_is_told_at_the_end_stays_together():
    assert closing(FAILED, FAILED._replace(text="12 resources"), width=40) == (
        "FAILED: 2 of 3 results failed ·\n        12 resources · exit status 1\n"
    )


def test_the_time_is_told_where_it_is_given():
    assert closing(FAILED, seconds=0.249) == (
        "FAILED: 2 of 3 results failed · 0.2 s · exit status 1\n"
    )
    assert closing(Fact("passed", 3, "3 passed", RunVerdict.PASSED)) == (
        "PASSED: 3 passed · exit status 0\n"
    )
