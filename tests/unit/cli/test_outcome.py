import pytest

from kyvsim.cli.outcome import exit_status
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.report.summary import Summary

BAD = Diagnostic("KV001", Severity.ERROR, "bad")
ODD = Diagnostic("KV002", Severity.WARNING, "odd")


@pytest.mark.parametrize(
    ("summary", "diagnostics", "code", "no_pass", "expected"),
    [
        (Summary(), (), 0, False, 0),
        (Summary(failed=1), (BAD,), 0, False, 2),
        (Summary(failed=1), (ODD,), 0, False, 1),
        (Summary(errors=1, warned=1), (), 7, False, 1),
        (Summary(passed=1, warned=1), (), 7, False, 7),
        (Summary(skipped=1), (), 7, True, 7),
        (Summary(passed=1), (), 7, True, 0),
        (Summary(warned=1), (BAD,), 7, True, 2),
    ],
)
def test_exit_status(summary, diagnostics, code, no_pass, expected):
    found = exit_status(summary, diagnostics, warn_exit_code=code, warn_no_pass=no_pass)
    assert found == expected
