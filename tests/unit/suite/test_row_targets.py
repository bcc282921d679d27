"""Which rows are selected."""

import pytest

from kyvsim.model.suite import ExpectedRow
from kyvsim.suite.row_targets import RowSelectorError, parse_selector


def row(policy="tidy", rule="owner", resources=("one", "two")):
    return ExpectedRow(
        policy, rule, "pass", resources, (), "", "", "", (), "", False, ("results", 0)
    )


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("", True),
        ("policy=*,rule=*,resource=*", True),
        ("policy=ti*", True),
        ("policy=other", False),
        ("policy=tidy,rule=own?r", True),
        ("policy=tidy,rule=other", False),
        ("resource=t*", True),
        ("resource=three", False),
        (" policy = tidy ", True),
    ],
)
def test_all_patterns_must_fit(text, chosen):
    found = parse_selector(text).narrow(row(), lenient=False)
    assert (found is not None) is chosen


def test_an_empty_field_fits_every_pattern():
    assert parse_selector("rule=x").narrow(row(rule=""), lenient=False)
    assert parse_selector("resource=x").narrow(row(resources=None), lenient=False)


def test_the_resources_that_fit_remain():
    selector = parse_selector("resource=t*")
    assert selector.narrow(row(), lenient=False).resources == ("two",)
    assert selector.narrow(row(), lenient=True).resources == ("t*",)
    assert parse_selector("resource=*").narrow(row(), lenient=True).resources == ("one", "two")


@pytest.mark.parametrize("text", ["policy", "kind=Pod", "policy=a=b", "policy=a,,rule=b"])
def test_what_is_no_selector_is_refused(text):
    with pytest.raises(RowSelectorError):
        parse_selector(text)
