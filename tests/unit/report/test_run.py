"""How runs end, in words."""

import pytest

from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.result import Fact, RunEnding, RunVerdict
from kyvsim.model.source import Location
from kyvsim.report.results import Summary
from kyvsim.report.run import (
    ExitTerms,
    ResultCounts,
    closing_lines,
    counts_line,
    ending_json,
    ending_line,
    error_fact,
    figures,
    run_ending,
    verdict_fact,
)
from kyvsim.report.style import RenderOptions, layout_of

BAD = Diagnostic("KV001", Severity.ERROR, "bad", Location("a.yaml", 3, 5))
WORSE = Diagnostic("KV006", Severity.ERROR, "worse " * 40, Location("b.yaml", 1, 1))
NONE = "NOTHING CHECKED: no rule matched · 5 resources (5 unmatched)"
ODD = Diagnostic("KV002", Severity.WARNING, "odd")
LEFT_OUT = tuple(Diagnostic("KV020", Severity.WARNING, name) for name in "abcd")


@pytest.fixture
def ending(make):
    """A function that ends a run of counts."""

    def end(summary, diagnostics=(), unmatched=0, unstable=0, unchecked=0, **fields):
        result_counts = ResultCounts()
        result_counts.unmatched, result_counts.unstable = unmatched, unstable
        run = make.run(
            (), diagnostics=diagnostics, resource_count=5, result_counts=result_counts, **fields
        )
        result_counts.unchecked = unchecked
        for status, number in summary.as_dict().items():
            for _ in range(number):
                result_counts.count(("ClusterPolicy", "p", "r", ()), status)
        return run_ending(run)

    return end


@pytest.mark.parametrize(
    ("summary", "diagnostics", "terms", "expected"),
    [
        (Summary(), (), ExitTerms(), 0),
        (Summary(failed=1), (BAD,), ExitTerms(), 2),
        (Summary(failed=1), (ODD,), ExitTerms(), 1),
        (Summary(errors=1, warned=1), (), ExitTerms(7), 1),
        (Summary(passed=1, warned=1), (), ExitTerms(7), 7),
        (Summary(skipped=1), (), ExitTerms(7, warn_no_pass=True), 7),
        (Summary(passed=1), (), ExitTerms(7, warn_no_pass=True), 0),
        (Summary(warned=1), (BAD,), ExitTerms(7, warn_no_pass=True), 2),
        (Summary(passed=1), (ODD,), ExitTerms(), 0),
    ],
)
def test_the_status_and_the_line_are_one_record(ending, summary, diagnostics, terms, expected):
    found = ending(summary, diagnostics, terms=terms)
    assert found.status == expected
    assert ending_line(found).endswith(f" · exit status {expected}")
    assert ending_json(found)["exitStatus"] == expected


@pytest.mark.parametrize(
    ("arguments", "fields", "line"),
    [
        ((Summary(passed=3),), {}, "PASSED: 3 passed · 5 resources"),
        (
            (Summary(passed=3, skipped=1), (ODD,), 2),
            {"left_out": LEFT_OUT},
            (
                "PASSED: 3 passed, 1 skipped · 5 resources (2 unmatched) · "
                "4 documents ignored (--show-ignored) · 1 warning"
            ),
        ),
        (
            (Summary(3, 1, 0, 2),),
            {},
            "FAILED: 1 of 6 results failed · 2 of 6 results ended in error · 5 resources",
        ),
        (
            (Summary(3, 1), (BAD, BAD, WORSE)),
            {},
            "INCOMPLETE: 3 errors in 2 inputs · 1 of 4 results failed · 5 resources",
        ),
        (
            (Summary(), (BAD,)),
            {"applied": False},
            "INCOMPLETE: 1 error in 1 input · nothing was evaluated",
        ),
        (
            (Summary(), (), 5),
            {},
            NONE,
        ),
        ((Summary(skipped=2),), {}, "NOTHING CHECKED: 2 of 2 results skipped · 5 resources"),
        ((Summary(passed=1), (), 0, 1), {}, "FAILED: 1 mutation not idempotent · 5 resources"),
        (
            (Summary(passed=1),),
            {"unchecked": 2},
            "PASSED: 1 passed · 5 resources · 2 checks incomplete",
        ),
        (
            (Summary(passed=1, warned=2),),
            {"terms": ExitTerms(7)},
            "WARNED: 2 results with status warn · 1 passed · 5 resources",
        ),
    ],
)
def test_the_line_says_why(ending, arguments, fields, line):
    expected = f"{line} · Kyverno 1.19.1"
    assert ending_line(ending(*arguments, **fields)).rpartition(" · ")[0] == expected


def test_that_no_mutation_changes_an_object_again_is_said_where_it_was_asked(ending):
    summary = Summary(passed=1)
    said = "all mutations are idempotent"
    assert said in ending_line(ending(summary, checks_idempotence=True))
    assert said not in ending_line(ending(summary))
    assert said not in ending_line(ending(summary, unstable=1, checks_idempotence=True))


def test_unstable_mutations_are_counted_where_they_are_looked_for(make):
    run = make.run((), checks_idempotence=True)
    run.result_counts.unstable = 2
    assert figures(run)["notIdempotent"] == 2
    assert counts_line(run).endswith("skip: 0, not idempotent: 2")
    assert "not idempotent" not in counts_line(make.run(()))


REMARK = Diagnostic(
    "KV012",
    Severity.ERROR,
    "unknown field `patern`\x1b[0m: did you mean `pattern`?",
    Location("a/policy.yaml", 15, 9),
)
FAILED = verdict_fact("failed", 2, "2 of 3 results failed")


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
