"""`apply --baseline` and `--write-baseline`, as they are typed."""

import json
from pathlib import Path

import pytest

from kyvsim.api import apply_streamed
from kyvsim.cli import apply as apply_command
from kyvsim.cli import apply_blocks

pytestmark = pytest.mark.usefixtures("older_release")

ROOT = Path(__file__).parents[3]
POLICY = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: tags}
spec:
  rules:
  - name: tag
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: a tag, pattern: {spec: {containers: [{image: "*:* & !*:latest"}]}}}
  - name: owner
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      message: "owner of {{ request.object.metadata.name }}"
      deny: {conditions: {all: [{key: "{{ request.object.metadata.labels.owner || '' }}",
        operator: Equals, value: ""}]}}
"""


def pod(name, image="nginx:latest", labels="{}"):
    return (
        f"apiVersion: v1\nkind: Pod\n"
        f"metadata: {{name: {name}, namespace: shop, labels: {labels}}}\n"
        f"spec: {{containers: [{{name: a, image: {image}}}]}}\n"
    )


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_text(POLICY)
    (tmp_path / "r.yaml").write_text("---\n".join((pod("web"), pod("api"))))
    return tmp_path


@pytest.fixture
def apply(files, kyvsim):
    """A function that runs `apply` with options: status, output, remarks."""
    del files

    def run(*options, resources="r.yaml"):
        return kyvsim("apply", "p.yaml", "-r", resources, *options)

    return run


@pytest.fixture
def baseline(apply, files):
    """The baseline of what there is."""
    status, _, said = apply("--write-baseline", "b.yaml")
    assert status == 0
    assert "wrote 4 failures to b.yaml" in said
    return files / "b.yaml"


def told(apply, *options):
    """Return the exit status, and `rule object result baseline` of each row."""
    status, out, _ = apply("--output-format", "json", *options)
    rows = json.loads(out)["results"]
    return status, [
        " ".join((one["rule"], one["resource"]["name"], one["result"], one.get("baseline", "-")))
        for one in rows
    ]


def test_old_failures_pass_and_are_told(apply, baseline):
    del baseline
    status, rows = told(apply, "--baseline", "b.yaml")
    assert status == 0
    assert rows == [
        "tag web fail unchanged",
        "owner web fail unchanged",
        "tag api fail unchanged",
        "owner api fail unchanged",
    ]
    status, out, said = apply("--baseline", "b.yaml")
    assert (status, said) == (0, "")
    assert out.count("known: in the baseline") == 4
    assert "\nPASSED: 4 failures in the baseline" in out


def test_new_failures_fail(apply, baseline, files):
    del baseline
    with (files / "r.yaml").open("a") as file:
        file.write("---\n" + pod("new", labels="{owner: me}"))
    status, rows = told(apply, "--baseline", "b.yaml")
    assert status == 1
    assert rows[-2:] == ["tag new fail new", "owner new pass -"]
    assert (
        "FAILED: 1 of 6 results failed · 4 failures in the baseline"
        in apply("--baseline", "b.yaml")[1]
    )


def test_lines_and_files_may_move(apply, baseline, files, kyvsim):
    del baseline, apply
    (files / "p.yaml").write_text(f"# moved\n\n\n{POLICY}")
    moved = "# moved\n\n" + "---\n".join((pod("api"), "# and turned\n" + pod("web")))
    (files / "other.yaml").write_text(moved)
    assert kyvsim("apply", "p.yaml", "-r", "other.yaml", "--baseline", "b.yaml")[0] == 0


def test_the_file_does_not_depend_on_order_or_place(apply, baseline, files):
    before = baseline.read_text()
    (files / "r.yaml").write_text("\n# moved\n" + "---\n".join((pod("api"), pod("web"))))
    apply("--write-baseline", "again.yaml")
    assert (files / "again.yaml").read_text() == before


def test_another_place_in_the_object_or_another_message_is_a_new_failure(apply, baseline, files):
    del baseline
    text = (files / "r.yaml").read_text()
    (files / "r.yaml").write_text(text.replace("[{name: a", "[{name: z, image: a:1}, {name: a", 1))
    assert told(apply, "--baseline", "b.yaml")[1][:2] == [
        "tag web fail new",
        "owner web fail unchanged",
    ]
    (files / "p.yaml").write_text(POLICY.replace("owner of", "who owns"))
    assert told(apply, "--baseline", "b.yaml")[1][1] == "owner web fail new"


def test_as_many_pass_as_there_were(apply, files):
    (files / "r.yaml").write_text("---\n".join([pod("web", labels="{owner: me}")] * 2))
    apply("--write-baseline", "b.yaml")
    assert "  count: 2\n" in (files / "b.yaml").read_text()
    (files / "r.yaml").write_text("---\n".join([pod("web", labels="{owner: me}")] * 3))
    status, rows = told(apply, "--baseline", "b.yaml")
    assert status == 1
    assert [row for row in rows if row.startswith("tag")] == [
        "tag web fail unchanged",
        "tag web fail unchanged",
        "tag web fail new",
    ]


def test_what_occurs_no_more_is_told_with_its_place(apply, baseline, files):
    lines = baseline.read_text().splitlines()
    (files / "r.yaml").write_text("---\n".join((pod("web", labels="{owner: me}"), pod("api"))))
    status, out, said = apply("--baseline", "b.yaml")
    assert status == 0
    line = next(one for one, text in enumerate(lines) if text.endswith("owner of web")) - 7
    assert f"b.yaml:{line}:3: warning KV093: stale entry: `tags/owner`" in said
    assert said.count("KV093") == 1
    assert "1 warning" in out
    assert apply("--baseline", "b.yaml", "--strict")[0] == 2


def test_what_was_not_looked_at_is_counted_and_not_called_stale(apply, baseline, files):
    del baseline
    (files / "r.yaml").write_text(pod("web"))
    status, out, said = apply("--baseline", "b.yaml")
    assert (status, said) == (0, "")
    assert "2 failures of the baseline not evaluated" in out
    document = json.loads(apply("--baseline", "b.yaml", "--output-format", "json")[1])
    assert document["baseline"] == {"file": "b.yaml", "met": 2, "stale": 0, "notLookedAt": 2}
    assert document["summary"]["inBaseline"] == 2
    (files / "p.yaml").write_text(POLICY.replace("{name: tags}", "{name: others}"))
    status, out, said = apply("--baseline", "b.yaml")
    assert "4 failures of the baseline not evaluated" in out
    assert "KV093" not in said
    assert status == 1


def test_with_both_options_a_baseline_only_shrinks(apply, baseline, files):
    before = baseline.read_text()
    (files / "r.yaml").write_text("---\n".join((pod("web", image="nginx:1"), pod("new"))))
    status, _, said = apply("--baseline", "b.yaml", "--write-baseline", "b.yaml")
    assert status == 1  # `new` is new, and stays so
    assert "wrote 3 failures" in said
    assert "KV093" not in said
    gone = before.index("- policy: tags\n  rule: tag\n", before.index("rule: tag\n"))
    assert baseline.read_text() == before[:gone]
    assert "name: new" not in baseline.read_text()


def test_a_note_is_on_a_line_of_its_own_in_markdown(apply, baseline):
    del baseline
    _, out, _ = apply("--baseline", "b.yaml", "--output-format", "markdown")
    assert "<br>known: in the baseline |" in out
    assert "\\n" not in out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "b.yaml: error KV001: no such file or folder"),
        ("a: [", "b.yaml:2:1: error KV006"),
        ("apiVersion: kyvsim/v9\nkind: Baseline\n", "b.yaml:1:1: error KV091"),
        ("apiVersion: kyvsim/v1\nkind: Baseline\nfailurs: []\n", "b.yaml:3:1: error KV012"),
    ],
)
def test_a_baseline_that_cannot_be_used_ends_the_run(apply, files, text, told):
    if text:
        (files / "b.yaml").write_text(text)
    status, out, said = apply("--baseline", "b.yaml", "--write-baseline", "new.yaml")
    assert status == 2
    assert said.startswith(told)
    assert said.count("error") == 1
    assert "Nothing was evaluated" in out
    assert not (files / "new.yaml").exists()
    assert sorted(one.name for one in files.iterdir() if one.name != "b.yaml") == [
        "p.yaml",
        "r.yaml",
    ]


def test_a_run_with_bad_input_writes_no_baseline(apply, baseline, files):
    before = baseline.read_text()
    (files / "r.yaml").write_text(f"{pod('web')}---\na: [\n")
    status, _, said = apply("--write-baseline", "b.yaml")
    assert status == 2
    assert "b.yaml not written: some input could not be used" in said
    assert baseline.read_text() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--write-baseline", "no/b.yaml"], "cannot write to no/b.yaml"),
        (["--write-baseline", "x", "--output-format", "sarif=x"], "both go to x"),
        (["--write-baseline", "x.yaml", "-o", "x.yaml"], "both go to x.yaml"),
        (["--baseline", "-"], "not standard input or output (-)"),
        (["--baseline", "b", "--explain"], "cannot be combined with --baseline"),
        (["--baseline", "b", "--engine", "processes"], "--baseline cannot be combined"),
        (["--write-baseline", "b", "--partials", "f"], "--write-baseline cannot be combined with"),
    ],
)
def test_what_cannot_be_meant_is_refused(apply, files, options, message):
    status, out, said = apply(*options)
    assert (status, out) == (2, "")
    assert message in said
    assert sorted(one.name for one in files.iterdir()) == ["p.yaml", "r.yaml"]


def test_warnings_are_covered_too(apply, files):
    options = ("--audit-warn", "--warn-exit-code", "3")
    assert apply(*options)[0] == 3
    assert apply(*options, "--write-baseline", "b.yaml")[0] == 0
    assert "result: warn" in (files / "b.yaml").read_text()
    assert apply(*options, "--baseline", "b.yaml")[0] == 0
    assert apply("--baseline", "b.yaml")[0] == 1  # what only warned fails now


def test_mutations_that_are_not_idempotent_fail_all_the_same(apply, files):
    mutation = """
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: grows}
spec:
  rules:
  - name: grow
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate:
      patchesJson6902: |-
        - {op: add, path: /spec/containers/-, value: {name: b, image: "b:1"}}
"""
    (files / "p.yaml").write_text(POLICY + mutation)
    status, out, _ = apply("--check-idempotent", "--write-baseline", "b.yaml")
    assert status == 1
    assert "2 mutations not idempotent" in out


FORMATS = ("text", "table", "json", "yaml", "junit", "markdown", "csv", "html", "github")
FORMATS += ("gitlab", "sarif", "policy-report", "open-report")


@pytest.fixture
def many(files):
    """A stream of Pods: some of them known, one of them too often, in places far apart."""
    known = [pod(f"p{one}", labels="{owner: me}") for one in range(30)]
    (files / "r.yaml").write_text("---\n".join(known))
    return known


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_parts_tell_what_the_whole_does(apply, many, files, monkeypatch, name):
    apply("--write-baseline", "b.yaml")
    (files / "r.yaml").write_text("---\n".join((*many, pod("new"), *many[:3])))
    options = ("--baseline", "b.yaml", "--output-format", name)
    whole, parted = apply(*options, "-j", "1"), apply(*options, "-j", "2")
    monkeypatch.setattr(apply_command, "_LARGE", 0)
    monkeypatch.setattr(apply_streamed, "_BLOCK", 300)
    for jobs in ("1", "2"):
        assert without_notes(apply(*options, "-j", jobs)) == without_notes(whole)
    assert without_notes(parted) == without_notes(whole)
    assert whole[0] == 1


def without_notes(run):
    """Return how a run ended, without the notes on how it was divided."""
    status, out, err = run
    return status, out, [line for line in err.splitlines() if not line.startswith("note: ")]


@pytest.mark.slow
@pytest.mark.parametrize("both", [False, True])
def test_parts_write_what_the_whole_does(apply, many, files, monkeypatch, both):
    if both:
        apply("--write-baseline", "old.yaml")
    (files / "r.yaml").write_text("---\n".join((*many[5:], pod("new"), *many[:3])))
    options = ("--baseline", "old.yaml") if both else ()
    apply(*options, "--write-baseline", "whole.yaml", "-j", "1")
    apply(*options, "--write-baseline", "jobs.yaml", "-j", "2")
    monkeypatch.setattr(apply_command, "_LARGE", 0)
    monkeypatch.setattr(apply_streamed, "_BLOCK", 300)
    apply(*options, "--write-baseline", "blocks.yaml", "-j", "1")
    apply(*options, "--write-baseline", "both.yaml", "-j", "2")
    texts = {(files / f"{name}.yaml").read_text() for name in ("whole", "jobs", "blocks", "both")}
    assert len(texts) == 1


@pytest.mark.slow
def test_parts_are_used_where_they_are_certain(apply, many, files, monkeypatch):
    found = []
    real = apply_streamed.open_streamed

    def watched(*arguments):
        run = real(*arguments)
        found.append(run is not None)
        return run

    monkeypatch.setattr(apply_blocks, "open_streamed", watched)
    monkeypatch.setattr(apply_command, "_LARGE", 0)
    apply("--write-baseline", "b.yaml", "-j", "2")
    apply("--baseline", "b.yaml", "-j", "2")
    (files / "r.yaml").write_text("---\n".join((*many, pod("new"))))
    apply("--baseline", "b.yaml", "-j", "2")
    (files / "r.yaml").write_text("---\n".join((*many, *many[:1])))
    apply("--baseline", "b.yaml", "-j", "2")  # which of the two is the known one?
    assert found == [True, True, True, False]


def test_a_baseline_of_the_menagerie_covers_all_of_it(kyvsim, monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    folder, path = "fixtures/menagerie", str(tmp_path / "b.yaml")
    policies = (f"{folder}/policies.yaml", f"{folder}/hostile-policies.yaml")
    resources = f"{folder}/resources.yaml,{folder}/hostile-resources.yaml"
    command = ("apply", policies[0], "-r", resources, "-f", f"{folder}/values.yaml")
    command += ("--now", "2026-01-01T00:00:00Z")
    assert kyvsim(*command)[0] == 1
    assert kyvsim(*command, "--write-baseline", path)[0] == 0
    status, out, said = kyvsim(*command, "--baseline", path)
    assert status == 0
    assert "KV093" not in said
    assert "not evaluated" not in out
    status, out, _ = kyvsim("apply", *policies, *command[2:], "--baseline", path)
    assert "results failed" in out  # what the hostile policies find is new
