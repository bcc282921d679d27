import pytest

from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Location
from kyvsim.report.ending import counts_line, ending_json, ending_line, figures, run_ending
from kyvsim.report.results import Summary
from kyvsim.report.run import ExitTerms, ResultCounts

BAD = Diagnostic("KV001", Severity.ERROR, "bad", Location("a.yaml", 3, 5))
WORSE = Diagnostic("KV006", Severity.ERROR, "worse " * 40, Location("b.yaml", 1, 1))
NONE = "NOTHING CHECKED: no rule matched · 5 resources, 5 matched by no rule"
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
                "PASSED: 3 passed, 1 skipped · 5 resources, 2 matched by no rule · "
                "4 documents left out (--show-ignored) · 1 warning"
            ),
        ),
        (
            (Summary(3, 1, 0, 2),),
            {},
            "FAILED: 1 of 6 results failed · 2 of 6 results ended in an error · 5 resources",
        ),
        (
            (Summary(3, 1), (BAD, BAD, WORSE)),
            {},
            "INCOMPLETE: 3 errors in 2 inputs · 1 of 4 results failed · 5 resources",
        ),
        (
            (Summary(), (BAD,)),
            {"applied": False},
            "INCOMPLETE: 1 error in 1 input · nothing was applied",
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
            "PASSED: 1 passed · 5 resources · 2 checks could not be made in full",
        ),
        (
            (Summary(passed=1, warned=2),),
            {"terms": ExitTerms(7)},
            "WARNED: 2 results only warned · 1 passed · 5 resources",
        ),
    ],
)
def test_the_line_says_why(ending, arguments, fields, line):
    assert ending_line(ending(*arguments, **fields)).rpartition(" · ")[0] == line


def test_that_no_mutation_changes_an_object_again_is_said_where_it_was_asked(ending):
    summary = Summary(passed=1)
    said = "no mutation changes an object again"
    assert said in ending_line(ending(summary, checks_idempotence=True))
    assert said not in ending_line(ending(summary))
    assert said not in ending_line(ending(summary, unstable=1, checks_idempotence=True))


def test_unstable_mutations_are_counted_where_they_are_looked_for(make):
    run = make.run((), checks_idempotence=True)
    run.result_counts.unstable = 2
    assert figures(run)["notIdempotent"] == 2
    assert counts_line(run).endswith("skip: 0, not idempotent: 2")
    assert "not idempotent" not in counts_line(make.run(()))
