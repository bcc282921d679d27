"""Several formats at once: the same bytes as alone, all files or none."""

import os
import stat

import pytest

from kyvsim.cli import apply as command
from kyvsim.model.result import RuleStatus
from kyvsim.report.formats import RUN_FORMATS as FORMATS
from kyvsim.yaml.text import load_all

BASIC = ("apply", "p.yaml", "-r", "r.yaml")
FILES = [name for name in FORMATS if name != "text"]


@pytest.fixture
def apply(engine, respond, kyvsim):
    """A function that runs `apply` with options over two responses."""

    def run(*options):
        engine(respond(RuleStatus.FAIL), respond(RuleStatus.PASS, "api", changed=True))
        return kyvsim(*BASIC, *options)

    return run


def chosen(folder, names=FILES):
    """Return the options that send formats to files of a folder."""
    return [f"--output-format={name}={folder / name}" for name in names]


def test_formats_in_files_are_what_they_are_on_standard_output(apply, tmp_path):
    status, out, _ = apply(*chosen(tmp_path))
    assert (status, out) == apply()[:2]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)
    for name in FILES:
        written, shown = (tmp_path / name).read_text(), apply(f"--output-format={name}")[1]
        if name == "html":  # the footer contains the command
            written, shown = (text.partition("<footer>")[0] for text in (written, shown))
        assert written == shown, name


def test_manifests_in_a_file_print_no_failures_again(apply, tmp_path):
    _, out, err = apply(*chosen(tmp_path, ["manifests"]))
    assert err == ""
    assert "  FAIL  " in out
    assert "  fail  " in apply("--output-format", "manifests")[2]


def test_views_in_files_end_with_the_closing_line_wherever_it_goes(apply, tmp_path):
    _, out, err = apply(*chosen(tmp_path, ["text", "table"]), "--output-format", "json")
    closing = err.splitlines()[-1]
    assert closing.startswith("FAILED: 1 of 2 results failed")
    for name in ("text", "table"):
        assert (tmp_path / name).read_text().splitlines()[-1] == closing
    assert closing not in out.splitlines()


def test_standard_options_go_with_files(apply, tmp_path):
    table = apply("--table")[1]
    assert apply("--table", *chosen(tmp_path, ["json"]))[1] == table
    report = apply("-p", "--output-format", "json")[1]
    assert apply("-p", "--output-format", "json", *chosen(tmp_path, ["json"]))[1] == report
    assert apply("--diff", "-p", *chosen(tmp_path, ["text"]))[0] == 1


@pytest.mark.parametrize(
    ("format_", "version"),
    [
        ((), "openreports.io/v1alpha1"),
        (("--output-format", "json"), "openreports.io/v1alpha1"),
        (("--output-format", "open-report-json"), "openreports.io/v1alpha1"),
        (("--output-format", "policy-report"), "wgpolicyk8s.io/v1alpha2"),
        (("--output-format", "policy-report-json"), "wgpolicyk8s.io/v1alpha2"),
    ],
)
def test_a_report_is_one_of_the_api_that_kyverno_prints_or_of_the_older_one(
    apply, format_, version
):
    (report,) = load_all(apply("-p", *format_)[1])
    assert report["apiVersion"] == version


@pytest.mark.parametrize("place", ["no/where.txt", "."])
def test_where_one_file_cannot_be_written_nothing_is(apply, tmp_path, place):
    (tmp_path / "json").write_text("before")
    bad = f"--output-format=yaml={tmp_path / place}"
    status, out, err = apply(*chosen(tmp_path, ["json"]), bad)
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert err.startswith(f"error: cannot write to {tmp_path / place}: ")
    assert [path.name for path in tmp_path.iterdir()] == ["json"]
    assert (tmp_path / "json").read_text() == "before"


def test_a_run_that_breaks_leaves_files_as_they_were(
    engine, kyvsim, respond, tmp_path, monkeypatch
):
    def responses():
        yield respond(RuleStatus.PASS)
        raise RuntimeError

    engine(respond(RuleStatus.PASS))
    opened = command.application_of

    def breaking(*given):
        application = opened(*given)
        return application._replace(run=application.run._replace(responses=responses()))

    monkeypatch.setattr(command, "application_of", breaking)
    (tmp_path / "json").write_text("before")
    kyvsim(*BASIC, *chosen(tmp_path, ["json"]))
    assert [path.name for path in tmp_path.iterdir()] == ["json"]
    assert (tmp_path / "json").read_text() == "before"


@pytest.mark.parametrize(
    "options",
    [
        ("--output", "r.yaml"),
        ("--output-format", "yaml=p.yaml"),
        ("--output", "given/known.yaml", "-r", "given"),
    ],
)
def test_nothing_is_written_over_what_is_read(kyvsim, tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "given").mkdir()
    for name in ("p.yaml", "r.yaml", "given/known.yaml"):
        (tmp_path / name).write_text("a: 1\n")
    status, _, err = kyvsim(*BASIC, *options)
    assert status == 2
    assert "an input of this run: choose another file" in err
    assert {path.read_text() for path in tmp_path.rglob("*.yaml")} == {"a: 1\n"}


def test_objects_are_files_as_the_umask_says(apply, tmp_path):
    before = os.umask(0o027)
    try:
        apply("--output", str(tmp_path / "made" / "out.yaml"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "made" / "out.yaml").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o750
