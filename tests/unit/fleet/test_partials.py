"""Partial reports as files: what is read is what was written, or nothing."""

import io
import json

import pytest

from kyvsim.fleet.partials import FORMATS, lines_of, rows_in
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.partial import Count, Head, Partial, ReportRow
from kyvsim.model.result import Excerpt, RefusalCount, ReportedReason
from kyvsim.model.source import Location

HEAD = Head(
    file="east/ä.yaml",
    first=8,
    last=80,
    stamp="s",
    assignment="p",
    cluster="east",
    lines=9,
    resources=2,
    counts=(
        Count("shop", "guard", "tag", "fail", 2, severity="high"),
        Count("", "a", "b", "pass", 1, "a / written"),
    ),
    objects=({"apiVersion": "v1", "kind": "Pod"},),
    remarks=(Diagnostic("KV006", Severity.ERROR, "odd", Location("east/ä.yaml", 3, 4), ("x",)),),
    problems=(Diagnostic("KV070", Severity.WARNING, "nowhere"),),
    refusals=(RefusalCount("Pod", "spec", "is required", "", Location("east/ä.yaml", 3, 4), 2),),
)
EXCERPT = Excerpt("  - ", "image: x", " # ä")
ROW = ReportRow(
    cluster="east",
    file="east/ä.yaml",
    line=3,
    column=1,
    number=0,
    apiVersion="v1",
    kind="Pod",
    namespace="shop",
    name="web",
    policy="guard",
    rule="tag",
    type="Validation",
    place=("p.yaml", 7, 5),
    result="fail",
    message='two\nlines, a "quote" and \u2028',
)
REASONS = (
    ReportedReason("no tag", Location("p.yaml", 9, 11), Location("east/ä.yaml", 5, 7), EXCERPT),
    ReportedReason("", Location("p.yaml", 9, 11)),
)
ROWS = (
    ROW._replace(kind_of_policy="ClusterPolicy", reasons=REASONS),
    ROW._replace(number=1, note="n", title="t", own="two", unchecked=("a", "b"), at=(4, 5)),
)
PARTIAL = Partial(HEAD, lines_of(ROWS))


@pytest.fixture(params=["lines", "parquet"])
def form(request):
    """One of the two formats."""
    if request.param == "parquet":
        pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
        return FORMATS["parquet"]
    return FORMATS["jsonl"]


def test_a_report_is_read_as_it_was_written(form):
    assert form.read(form.write(PARTIAL)) == PARTIAL
    assert form.read(form.write(Partial(HEAD))) == Partial(HEAD)
    assert tuple(rows_in(PARTIAL.rows)) == ROWS


def test_a_damaged_report_is_none(form):
    data = form.write(PARTIAL)
    assert form.read(b"") is None
    for cut in range(1, len(data), 37):
        assert form.read(data[:cut]) is None
    place = data.index(b"guard")
    assert form.read(data[:place] + b"g" + data[place:]) is None


def test_a_changed_line_is_seen():
    data = FORMATS["jsonl"].write(PARTIAL)
    assert FORMATS["jsonl"].read(data.replace(b'"fail"', b'"pass"')) is None


def test_rows_are_flat_lines_with_what_says_something():
    first, *rows, last = FORMATS["jsonl"].write(PARTIAL).decode().splitlines()
    assert json.loads(first)["head"]["cluster"] == "east"
    assert json.loads(last)["rows"] == 2
    told = json.loads(rows[0])
    assert (told["cluster"], told["policy"], told["result"]) == ("east", "guard", "fail")
    assert not {"note", "title", "unchecked", "at"} & told.keys()


def test_columns_of_parquet():
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")
    table = parquet.read_table(io.BytesIO(FORMATS["parquet"].write(PARTIAL)))
    assert table.column_names == [*ReportRow._fields]
    assert table.column("message").to_pylist() == [one.message for one in ROWS]
