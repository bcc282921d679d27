"""Ways to give manifests: changed files, charts, kustomizations, reviews, bare arguments."""

import json
import os
import re
import stat
import subprocess
import time
from pathlib import Path

import pytest

from kyvsim.load import programs

POLICY = """apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: named}
spec:
  background: false
  rules:
    - name: labelled
      match: {any: [{resources: {kinds: [Pod], operations: [CREATE, UPDATE, DELETE]}}]}
      validate:
        message: "{{ request.operation }} by {{ request.userInfo.username || 'nobody' }}"
        deny:
          conditions:
            any:
              - {key: "{{ request.object.metadata.labels.app || '' }}", operator: Equals, value: ""}
"""
ONE_POD = """apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: alone}
spec:
  rules:
    - name: alone
      match: {any: [{resources: {kinds: [Pod]}}]}
      context:
        - name: pods
          apiCall: {urlPath: /api/v1/namespaces/default/pods, jmesPath: "items[].metadata.name"}
      validate:
        message: "there is {{ pods }}"
        deny: {conditions: {any: [{key: "{{ length(pods) }}", operator: GreaterThan, value: 0}]}}
"""


def pod(name, app=""):
    labels = f", labels: {{app: {app}}}" if app else ""
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}{labels}}}\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder: a policy and two Pods."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "pol/named.yaml": POLICY,
        "man/good.yaml": pod("good", "a"),
        "man/bad.yaml": pod("bad"),
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def git(folder, *arguments):
    settings = ("-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(("git", *settings, *arguments), cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(folder):
    """The same, all of it committed."""
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "all")
    return folder


def rows(kyvsim, *arguments):
    status, out, err = kyvsim("apply", *arguments, "--output-format", "json")
    found = json.loads(out)
    return status, [one["resource"]["name"] for one in found["results"]], err.split("\n")[0]


def test_only_changed_files_are_looked_at(repository, kyvsim):
    assert rows(kyvsim, "pol", "-r", "man", "--changed")[:2] == (0, [])
    (repository / "man/new.yaml").write_text(pod("new"))
    (repository / "man/good.yaml").write_text(pod("good", "b"))
    status, names, _ = rows(kyvsim, "pol", "-r", "man", "--changed")
    assert (status, sorted(names)) == (1, ["good", "new"])


def test_a_change_of_the_same_size_within_a_second_is_seen(repository, kyvsim):
    """git tells such a change from none by the time at which the index was written."""
    file, index = repository / "man/bad.yaml", repository / ".git/index"
    is_within = False
    while not is_within:
        file.write_text(pod("old"))
        os.utime(file, (10**9, 10**9))
        noted = file.stat()
        git(repository, "add", "-A")
        git(repository, "commit", "-q", "--allow-empty", "-m", "more")
        file.write_text(pod("new"))
        for one in (file, index):
            os.utime(one, (10**9, 10**9))
        is_within = int(noted.st_ctime) == int(file.stat().st_ctime)
    assert rows(kyvsim, "pol", "-r", "man", "--changed")[1] == ["new"]


def test_a_branch_is_compared_with_where_it_began(repository, kyvsim):
    git(repository, "checkout", "-q", "-b", "topic")
    (repository / "man/mine.yaml").write_text(pod("mine"))
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "mine")
    git(repository, "checkout", "-q", "main")
    (repository / "man/theirs.yaml").write_text(pod("theirs"))
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "theirs")
    git(repository, "checkout", "-q", "topic")
    assert rows(kyvsim, "pol", "-r", "man", "--changed", "main")[1] == ["mine"]


def test_after_a_change_of_a_policy_all_resources_are_looked_at(repository, kyvsim):
    (repository / "pol/named.yaml").write_text(POLICY + "# changed\n")
    status, names, err = rows(kyvsim, "pol", "-r", "man", "--changed")
    assert (status, sorted(names)) == (1, ["bad", "good"])
    assert err == "pol/named.yaml has changed: all files are evaluated"


EXCEPTION = """apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: bad-may, namespace: default}
spec:
  exceptions: [{policyName: named, ruleNames: [labelled]}]
  match: {any: [{resources: {kinds: [Pod], names: [bad]}}]}
"""
VALUES = """apiVersion: cli.kyverno.io/v1alpha1
kind: Values
metadata: {name: values}
globalContextEntries: [{name: pods, resourceFiles: [beside/known.yaml]}]
"""


@pytest.mark.parametrize("given", ["exc", "exc/*.yaml", "ex*", "exc/**/b*.yaml"])
@pytest.mark.parametrize("how", [("rm",), ("mv", "moved.yaml")])
def test_an_exception_that_is_gone_lets_nothing_pass_that_it_covered(
    repository, kyvsim, given, how
):
    (repository / "exc").mkdir()
    (repository / "exc/bad.yaml").write_text(EXCEPTION)
    (repository / "exc/best.yaml").write_text(EXCEPTION.replace("[bad]", "[best]"))
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "exceptions")
    assert rows(kyvsim, "pol", "-r", "man", "-e", "exc", "--changed")[:2] == (0, [])
    git(repository, how[0], "exc/bad.yaml", *how[1:])
    status, names, err = rows(kyvsim, "pol", "-r", "man", "-e", given, "--changed")
    assert (status, sorted(names)) == (1, ["bad", "good"])
    assert err == "exc/bad.yaml has changed: all files are evaluated"


@pytest.mark.parametrize(
    ("changed", "arguments"),
    [
        ("base.yaml", ("--baseline", "base.yaml")),
        ("values.yaml", ("-f", "values.yaml")),
        ("beside/known.yaml", ("-f", "values.yaml")),
        (".kyvsim.yaml", ()),
        (".kyvsimignore", ()),
        ("man/.kyvsimignore", ()),
        ("man/exc.yaml", ("--exceptions-with-resources",)),
    ],
)
def test_what_decides_on_other_files_has_them_looked_at(repository, kyvsim, changed, arguments):
    for name, text in {
        "values.yaml": VALUES,
        "beside/known.yaml": pod("known"),
        ".kyvsim.yaml": "apply: {audit-warn: true}\n",
        ".kyvsimignore": "nothing\n",
        "man/.kyvsimignore": "nothing\n",
        "man/exc.yaml": EXCEPTION,
    }.items():
        (repository / name).parent.mkdir(exist_ok=True)
        (repository / name).write_text(text)
    kyvsim("apply", "pol", "-r", "man", "--write-baseline", "base.yaml")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "all")
    given = ("apply", "pol", "-r", "man", *arguments, "--changed", "--output-format", "json")
    assert json.loads(kyvsim(*given)[1])["ending"]["counts"]["resources"] == 0
    with (repository / changed).open("a") as opened:
        opened.write("# changed\n")
    _, out, err = kyvsim(*given)
    assert json.loads(out)["ending"]["counts"]["resources"] > 1
    assert err.startswith(f"{changed} has changed: all files are evaluated")


def test_files_that_git_does_not_follow_are_looked_at(repository, kyvsim, tmp_path_factory):
    (repository / ".gitignore").write_text("man/made*\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "ignore")
    (repository / "man/made.yaml").write_text(pod("made"))
    outside = tmp_path_factory.mktemp("outside")
    (outside / "out.yaml").write_text(pod("out"))
    found = rows(kyvsim, "pol", "-r", "man", "-r", str(outside), "--changed")
    assert found[:2] == (1, ["made", "out"])


def test_settings_of_git_change_nothing_of_what_has_changed(repository, kyvsim, monkeypatch):
    git(repository, "config", "diff.relative", "true")
    git(repository, "config", "diff.renames", "copies")
    (repository / "man/bad.yaml").write_text(pod("bad", "") + "# changed\n")
    monkeypatch.chdir(repository / "pol")
    assert rows(kyvsim, "named.yaml", "-r", "../man", "--changed")[:2] == (1, ["bad"])


def test_resources_that_have_not_changed_are_there_already(repository, kyvsim):
    (repository / "pol/named.yaml").write_text(ONE_POD)
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "alone")
    (repository / "man/new.yaml").write_text(pod("new"))
    status, out, _ = kyvsim("apply", "pol", "-r", "man", "--changed", "--output-format", "json")
    (one,) = json.loads(out)["results"]
    assert (status, one["message"]) == (1, 'there is ["bad","good"]')


def test_standard_input_is_always_looked_at(repository, kyvsim, monkeypatch):
    with (repository / "man/bad.yaml").open() as opened:
        monkeypatch.setattr("sys.stdin", opened)
        assert rows(kyvsim, "pol", "-r", "-", "--changed")[1] == ["bad"]


def test_lint_tells_of_changed_files_only(repository, kyvsim):
    (repository / "pol/broken.yaml").write_text(POLICY.replace("match:", "mtach:"))
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "broken")
    assert kyvsim("lint", "pol")[0] == 2
    assert kyvsim("lint", "pol", "--changed")[0] == 0
    (repository / "pol/broken.yaml").write_text(POLICY.replace("match:", "matsch:"))
    status, out, _ = kyvsim("lint", "pol", "--changed")
    assert (status, "matsch" in out) == (2, True)


@pytest.mark.parametrize("ref", ["nowhere", "a b"])
def test_a_commit_that_git_does_not_know_is_an_error(repository, kyvsim, ref):
    del repository
    status, out, err = kyvsim("apply", "pol", "-r", "man", f"--changed={ref}")
    assert (status, out) == (2, "")
    assert f"error: --changed {ref}: fatal: " in err


def test_without_a_repository_nothing_is_known_to_have_changed(folder, kyvsim):
    del folder
    status, _, err = kyvsim("apply", "pol", "-r", "man", "--changed")
    assert (status, "not a git repository" in err) == (2, True)


HOSTILE = """[core]
	fsmonitor = {script}
	hooksPath = hooks
	pager = {script}
	sshCommand = {script}
	askPass = {script}
	editor = {script}
[alias]
	diff = !{script}
	ls-files = !{script}
	merge-base = !{script}
[diff]
	external = {script}
[diff "x"]
	command = {script}
	textconv = {script}
[filter "x"]
	clean = {script}
	smudge = {script}
	process = {script}
	required = true
[hook "x"]
	command = {script}
	event = post-index-change
[credential]
	helper = !{script}
[extensions]
	partialClone = origin
[remote "origin"]
	promisor = true
	url = ext::{script}
	uploadpack = {script}
	vcs = {script}
"""


@pytest.fixture
def hostile(repository):
    """The repository with settings of its own that run a program, which leaves a trace."""
    script = repository / "evil"
    script.write_text(f'#!/bin/sh\necho "$0 $@" >> {repository}/trace\ncat\n')
    script.chmod(0o755)
    inner = repository / "man/inner"
    inner.mkdir()
    (inner / "pod.yaml").write_text(pod("inner"))
    for folder in (inner, repository):
        (folder / ".gitattributes").write_text("* filter=x diff=x\n")
        git(folder, "init", "-q", "-b", "main")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", "more")
    for folder in (inner, repository):
        settings = HOSTILE.format(script=script)
        (folder / ".git/included").write_text(settings)
        (folder / "hooks").mkdir()
        for place in (folder / "hooks", folder / ".git/hooks"):
            for name in ("post-index-change", "fsmonitor-watchman", "reference-transaction"):
                (place / name).write_text(script.read_text())
                (place / name).chmod(0o755)
        with (folder / ".git/config").open("a") as stream:
            stream.write(f"{settings}[include]\n\tpath = included\n")
    return repository


@pytest.mark.parametrize("part", ["", "man"], ids=["at the top", "in a folder"])
def test_a_repository_cannot_have_git_run_programs(hostile, kyvsim, monkeypatch, part):
    (hostile / "man/bad.yaml").write_text(pod("new"))
    (hostile / "man/good.yaml").touch()
    (hostile / "man/inner/pod.yaml").write_text(pod("other"))
    monkeypatch.chdir(hostile / part)
    given = ("../pol", "-r", "bad.yaml", "-r", "good.yaml") if part else ("pol", "-r", "man")
    status, names, _ = rows(kyvsim, *given, "--changed")
    assert (status, names[:1]) == (1, ["new"]), names
    assert "good" not in names
    assert kyvsim("lint", given[0], "--changed", "main")[0] == 0
    assert not (hostile / "trace").exists()


def test_what_says_how_files_are_stored_counts_with_changed(repository, kyvsim):
    git(repository, "config", "core.fileMode", "false")
    (repository / "man/bad.yaml").chmod(0o755)
    assert rows(kyvsim, "pol", "-r", "man", "--changed")[:2] == (0, [])
    git(repository, "config", "core.fileMode", "true")
    assert rows(kyvsim, "pol", "-r", "man", "--changed")[1] == ["bad"]


@pytest.mark.parametrize(
    "prepare",
    [
        [("update-index", "--split-index")],
        [("worktree", "add", "-q", "-b", "other", "tree"), ("-C", "tree", "status")],
        [("gc", "-q")],
        [("config", "core.untrackedCache", "true"), ("status",)],
    ],
    ids=["split index", "worktree", "packed", "untracked cache"],
)
def test_every_kind_of_repository_is_read_with_changed(repository, kyvsim, monkeypatch, prepare):
    for arguments in prepare:
        git(repository, *arguments)
    if (repository / "tree").is_dir():
        monkeypatch.chdir(repository / "tree")
    Path("man/good.yaml").write_text(pod("fresh"))
    assert rows(kyvsim, "pol", "-r", "man", "--changed")[1] == ["fresh"]


@pytest.mark.parametrize("flags", [["--assume-unchanged"], ["--skip-worktree"], []])
def test_files_that_git_was_told_not_to_look_at_are_looked_at(repository, kyvsim, flags):
    for one in (*flags, "--split-index"):
        git(repository, "update-index", one, *["man/good.yaml"] * (one in flags))
    before = (repository / ".git/index").read_bytes()
    assert rows(kyvsim, "pol", "-r", "man", "--changed")[:2] == (0, [])
    (repository / "man/good.yaml").write_text(pod("fresh"))
    assert rows(kyvsim, "pol", "-r", "man", "--changed")[1] == ["fresh"]
    assert (repository / ".git/index").read_bytes() == before


def test_what_a_sparse_checkout_leaves_out_has_not_changed(repository, kyvsim, tmp_path_factory):
    policy = tmp_path_factory.mktemp("outside") / "policy.yaml"
    policy.write_text(POLICY)
    git(repository, "sparse-checkout", "set", "--no-cone", "/man")
    assert not (repository / "pol").exists()
    assert rows(kyvsim, str(policy), "-r", "man", "--changed")[:2] == (0, [])


def test_a_repository_of_sha256_is_read_with_changed(folder, kyvsim):
    git(folder, "init", "-q", "-b", "main", "--object-format=sha256")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "all")
    assert rows(kyvsim, "pol", "-r", "man", "--changed")[:2] == (0, [])


def is_running(number):
    """Whether a process is there that is not dead and unburied."""
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.fixture
def program(folder, monkeypatch):
    """A function that puts a program of a name on the PATH, which alone is there then."""
    bin_ = folder / "bin"
    for name in ("bin", "web", "over"):
        (folder / name).mkdir()
    monkeypatch.setenv("PATH", str(bin_))

    def make(name, script):
        path = bin_ / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    return make


CHART = """echo '---
# Source: web/templates/pod.yaml
apiVersion: v1
kind: Pod
metadata: {name: one}
---
# Source: web/templates/pod.yaml
apiVersion: v1
kind: Pod
metadata:
  name: two'
echo "$@" > told"""


def test_a_chart_is_rendered_and_places_are_those_of_its_templates(folder, kyvsim, program):
    program("helm", CHART)
    (folder / "v.yaml").write_text("")
    status, out, _ = kyvsim(
        "apply", "pol", "--helm", "web", "--helm-values", "v.yaml", "--output-format", "json"
    )
    results = json.loads(out)["results"]
    assert status == 1
    assert [(one["resource"]["name"], one["location"]["file"]) for one in results] == [
        ("one", "helm:web/templates/pod.yaml"),
        ("two", "helm:web/templates/pod.yaml"),
    ]
    assert [one["location"]["line"] for one in results] == [3, 6]
    assert (folder / "told").read_text() == "template web --values v.yaml\n"


RECORDER = """for word in "$0" "$@"; do echo "$word" >> told; done
for name in GIT_ALLOW_PROTOCOL GIT_NO_LAZY_FETCH HELM_NO_PLUGINS HTTPS_PROXY http_proxy NO_PROXY; do
  eval echo "$name=\\$$name" >> told
done"""
KEPT = [
    "GIT_ALLOW_PROTOCOL=none",
    "GIT_NO_LAZY_FETCH=1",
    "HELM_NO_PLUGINS=1",
    "HTTPS_PROXY=http://127.0.0.1:9",
    "http_proxy=http://127.0.0.1:9",
    "NO_PROXY=",
]


@pytest.mark.parametrize(
    ("name", "given", "called"),
    [
        ("helm", ["--helm=web"], ["template", "web"]),
        ("helm", ["--helm=--post-renderer=x"], ["template", "./--post-renderer=x"]),
        (
            "helm",
            ["--helm=web", "--helm-values=-f"],
            ["template", "web", "--values", "./-f"],
        ),
        ("kustomize", ["--kustomize=over"], ["build", "over"]),
        ("kubectl", ["--kustomize=--enable-exec"], ["kustomize", "./--enable-exec"]),
    ],
)
def test_programs_that_render_are_kept_from_plugins_and_networks(
    folder, kyvsim, program, monkeypatch, name, given, called
):
    program(name, RECORDER)
    monkeypatch.setenv("NO_PROXY", "*")
    for one in ("--post-renderer=x", "--enable-exec", "-f"):
        (folder / one).mkdir()
    kyvsim("apply", "pol", *given)
    assert (folder / "told").read_text().splitlines() == [
        str(folder / "bin" / name),
        *called,
        *KEPT,
    ]


@pytest.mark.parametrize("value", ["none.yaml", "secrets://a.yaml", "https://example.com/a.yaml"])
def test_values_of_a_chart_are_files(folder, kyvsim, program, value):
    program("helm", RECORDER)
    status, _, err = kyvsim("apply", "pol", "--helm", "web", "--helm-values", value)
    assert (status, f"{value}: no such values file" in err) == (2, True)
    assert not (folder / "told").exists()


@pytest.mark.parametrize("entry", ["", ".", "bin"])
@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("helm", ["--helm", "web"]),
        ("kustomize", ["--kustomize", "over"]),
        ("git", ["-r", "man", "--changed"]),
    ],
)
def test_programs_of_the_working_folder_are_not_run(
    folder, kyvsim, program, monkeypatch, entry, name, given
):
    program(name, RECORDER)
    (folder / name).write_text((folder / "bin" / name).read_text())
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{entry}:/nowhere")
    status, _, err = kyvsim("apply", "pol", *given)
    assert (status, "in PATH" in err) == (2, True)
    assert not (folder / "told").exists()


def shown_at(text, name):
    """The files and lines at which a format for a service shows what it tells."""
    if name == "github":
        return re.findall(r"^::error file=([^,]+),(line=)?", text, re.MULTILINE)
    if name == "gitlab":
        places = (one["location"] for one in json.loads(text))
        return [(one["path"], one["lines"]["begin"]) for one in places]
    results = json.loads(text)["runs"][0]["results"]
    places = (one["locations"][0]["physicalLocation"] for one in results)
    return [(one["artifactLocation"]["uri"], one.get("region")) for one in places]


@pytest.mark.parametrize(("name", "line"), [("github", ""), ("gitlab", 1), ("sarif", None)])
def test_services_show_what_is_rendered_at_the_files_of_the_repository(
    folder, kyvsim, program, name, line
):
    (folder / "charts/own").mkdir(parents=True)
    (folder / "over/kustomization.yaml").touch()
    program("helm", CHART)
    program("kustomize", f"echo '{pod('built')}'")
    given = ("--helm", "charts/own", "--kustomize", "over")
    _, out, _ = kyvsim("apply", "pol", *given, "--output-format", name)
    template = "charts/own/templates/pod.yaml"
    files = [template, template, "over/kustomization.yaml"]
    assert shown_at(out, name) == [(one, line) for one in files]


@pytest.mark.parametrize(("name", "words"), [("kustomize", "build"), ("kubectl", "kustomize")])
def test_a_kustomization_is_rendered_by_what_is_there(folder, kyvsim, program, name, words):
    program(name, f"echo $@ > told; echo '{pod('built')}'")
    status, out, _ = kyvsim("apply", "pol", "--kustomize", "over", "--output-format", "json")
    assert (status, json.loads(out)["results"][0]["resource"]["name"]) == (1, "built")
    assert (folder / "told").read_text() == f"{words} over\n"


@pytest.mark.parametrize(
    ("arguments", "script", "told"),
    [
        (["--helm", "web"], None, "error: no program to render it is in PATH: helm\n"),
        (
            ["--kustomize", "web"],
            None,
            "error: no program to render it is in PATH: kustomize or kubectl\n",
        ),
        (["--helm", "wbe"], CHART, "error: wbe: no such chart\n"),
        (["--kustomize", "wbe"], None, "error: wbe: no such kustomization"),
        (
            ["--helm", "web"],
            "echo 'Error: no chart' >&2; exit 3",
            "error: helm template web: exit status 3: Error: no chart\n",
        ),
        (
            ["--helm", "web"],
            "exit 4",
            "error: helm template web: exit status 4: it printed no message\n",
        ),
        (
            ["--helm", "web"],
            "kill -9 $$",
            "error: helm template web: ended by signal 9: it printed",
        ),
        (["--helm", "web"], "printf '\\033[31m' >&2; exit 3", "exit status 3: \\x1b[31m\n"),
        (["--helm", "web"], "printf '\\377'", "its output is not UTF-8"),
        (["--helm-values", "v"], None, "--helm-values requires --helm"),
    ],
)
def test_what_cannot_be_rendered_is_one_message(kyvsim, program, arguments, script, told):
    if script:
        program("helm", script)
    status, out, err = kyvsim("apply", "pol", "-r", "man", *arguments)
    assert (status, out) == (2, "")
    assert told in err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("while :; do echo '# x'; done", "its output is larger than"),
        ("while :; do echo '# x' >&2; done", "its output is larger than"),
        ("while :; do :; done", "not finished after 1 s"),
        ("(while :; do :; done) & echo $! > child; wait", "not finished after 1 s"),
        ("(while :; do :; done) & echo $! > child; exit 3", "exit status 3"),
    ],
)
def test_a_program_without_end_is_ended_with_what_it_began(
    folder, kyvsim, program, monkeypatch, script, told
):
    monkeypatch.setattr(programs, "_SECONDS", 1)
    monkeypatch.setattr(programs, "_LARGEST", 1 << 12)
    program("helm", script)
    status, _, err = kyvsim("apply", "pol", "-r", "man", "--helm", "web")
    assert (status, f"error: helm template web: {told}" in err) == (2, True)
    child = folder / "child"
    while child.exists() and is_running(int(child.read_text())):
        time.sleep(0.01)


def test_what_is_said_without_end_is_shown_in_part(kyvsim, program):
    program(
        "helm",
        "text=x; while [ ${#text} -lt 100000 ]; do text=$text$text; done; echo $text >&2; exit 1",
    )
    status, _, err = kyvsim("apply", "pol", "-r", "man", "--helm", "web")
    assert (status, len(err) < 5000) == (2, True)


@pytest.mark.parametrize(
    ("script", "place"),
    [
        ("true", "helm:web"),
        ("echo '# nothing'", "helm:web"),
        ("echo '---'; echo '# Source: a.yaml'", "helm:a.yaml"),
    ],
)
def test_a_chart_that_makes_nothing_is_told(kyvsim, program, script, place):
    program("helm", script)
    status, _, err = kyvsim("apply", "pol", "-r", "man/good.yaml", "--helm", "web")
    assert (status, f"{place}: error KV009" in err) == (2, True)


def test_a_kustomization_that_makes_nothing_is_told(kyvsim, program):
    program("kustomize", "true")
    status, _, err = kyvsim("apply", "pol", "-r", "man/good.yaml", "--kustomize", "over")
    assert (status, "kustomize:over: error KV009" in err) == (2, True)


def test_manifests_can_be_arguments(folder, kyvsim):
    del folder
    assert rows(kyvsim, "--policy", "pol", "man/bad.yaml", "man/good.yaml")[0] == 1
    assert rows(kyvsim, "--policy", "pol", "man/good.yaml")[:2] == (0, ["good"])
    assert kyvsim("explain", "--policy", "pol", "man/bad.yaml")[0] == 0


def test_files_that_a_hook_names_need_not_be_manifests(folder, kyvsim):
    (folder / "values.yaml").write_text("replicas: 2\n")
    given = ("--policy", "pol", "values.yaml", "man/good.yaml")
    assert rows(kyvsim, *given)[0] == 2
    assert rows(kyvsim, *given, "--skip-others")[:2] == (0, ["good"])
    assert rows(kyvsim, "--policy", "pol", "values.yaml", "--skip-others")[:2] == (0, [])


def review(**request):
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.dumps(review, indent=1)


POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"operation": "UPDATE", "object": POD, "oldObject": POD}, "UPDATE by nobody"),
        ({"operation": "DELETE", "oldObject": POD, "object": None}, "DELETE by nobody"),
        (
            {"operation": "CREATE", "object": POD, "userInfo": {"username": "jane"}},
            "CREATE by jane",
        ),
    ],
)
def test_a_review_says_what_is_asked(folder, kyvsim, request_, message):
    (folder / "review.json").write_text(review(**request_))
    status, out, _ = kyvsim("apply", "pol", "-r", "review.json", "--output-format", "json")
    (one,) = json.loads(out)["results"]
    assert (status, one["message"]) == (1, message)
    assert one["location"]["file"] == "review.json"


def test_what_is_supposed_counts_before_a_review(folder, kyvsim):
    (folder / "review.json").write_text(review(operation="CREATE", object=POD))
    _, out, _ = kyvsim(
        "apply", "pol", "-r", "review.json", "--as", "joe", "--operation", "UPDATE",
        "--output-format", "json",
    )  # fmt: skip
    assert json.loads(out)["results"][0]["message"] == "UPDATE by joe"


def test_a_review_without_an_object_is_an_error(folder, kyvsim):
    (folder / "review.json").write_text(review(operation="CREATE"))
    status, _, err = kyvsim("apply", "pol", "-r", "review.json")
    assert (status, "review.json:4:2: error KV097" in err) == (2, True)


EXEC = POLICY.replace("kinds: [Pod], operations: [CREATE, UPDATE, DELETE]", "kinds: [Pod/exec]")


def test_a_review_of_a_connection_is_matched_by_what_is_connected_to(folder, kyvsim):
    (folder / "pol/named.yaml").write_text(EXEC)
    sent = {"apiVersion": "v1", "kind": "PodExecOptions", "command": ["sh"]}
    resource = {"group": "", "version": "v1", "resource": "pods"}
    (folder / "review.json").write_text(
        review(
            operation="CONNECT", object=sent, resource=resource, subResource="exec", namespace="x"
        )
    )
    status, out, _ = kyvsim("apply", "pol", "-r", "review.json", "--output-format", "json")
    assert status == 1
    assert [one["message"] for one in json.loads(out)["results"]] == ["CONNECT by nobody"]


IN_NAMESPACES = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: by-rules}
spec:
  background: false
  rules:
  - name: in-shop
    match: {any: [{resources: {kinds: [Pod/exec], namespaces: [shop]}}]}
    validate:
      message: "{{ request.namespace }} {{ request.name }} {{ request.subResource }}"
      deny: {}
  - name: in-default
    match: {any: [{resources: {kinds: [Pod/exec], namespaces: [default]}}]}
    validate: {message: wrong, deny: {}}
---
apiVersion: policies.kyverno.io/v1
kind: NamespacedValidatingPolicy
metadata: {name: of-shop, namespace: shop}
SPEC---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: in-cel}
SPEC---
apiVersion: policies.kyverno.io/v1
kind: NamespacedValidatingPolicy
metadata: {name: of-default, namespace: default}
SPEC---
apiVersion: policies.kyverno.io/v1
kind: GeneratingPolicy
metadata: {name: note}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CONNECT], resources: [pods/exec]}
  generate:
  - expression: >-
      generator.Apply(request.namespace, [{"apiVersion": dyn("v1"), "kind": dyn("ConfigMap"),
      "metadata": dyn({"name": "note"})}])
""".replace(
    "SPEC",
    """spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CONNECT], resources: [pods/exec]}
  validations:
  - expression: "false"
    messageExpression: "request.namespace + ' ' + request.name + ' ' + request.subResource"
""",
)


def test_a_review_tells_the_namespace_of_a_connection(folder, kyvsim):
    (folder / "pol/named.yaml").write_text(IN_NAMESPACES)
    sent = {"apiVersion": "v1", "kind": "PodExecOptions", "command": ["sh"]}
    resource = {"group": "", "version": "v1", "resource": "pods"}
    (folder / "review.json").write_text(
        review(
            operation="CONNECT", object=sent, resource=resource, subResource="exec",
            name="web", namespace="shop",
        )
    )  # fmt: skip
    _, out, _ = kyvsim("apply", "pol", "-r", "review.json", "--output-format", "json")
    document = json.loads(out)
    failed = {
        one["policy"]: one["message"] for one in document["results"] if one["result"] == "fail"
    }
    assert failed == dict.fromkeys(("by-rules", "shop/of-shop", "in-cel"), "shop web exec")
    assert [one["object"]["metadata"]["namespace"] for one in document["generated"]] == ["shop"]


def test_a_review_of_a_namespace_tells_that_namespace(folder, kyvsim):
    (folder / "pol/named.yaml").write_text("""
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: spaces}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [namespaces]}
  validations:
  - {expression: "false", messageExpression: "request.namespace + ' ' + object.metadata.name"}
""")
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    (folder / "review.json").write_text(
        review(operation="UPDATE", object=space, oldObject=space, namespace="shop", name="shop")
    )
    _, out, _ = kyvsim("apply", "pol", "-r", "review.json", "--output-format", "json")
    assert [one["message"] for one in json.loads(out)["results"]] == ["shop shop"]


def test_a_review_of_an_unknown_kind_tells_that_it_is_in_no_namespace(folder, kyvsim):
    (folder / "pol/named.yaml").write_text(
        POLICY.replace("kinds: [Pod]", "kinds: [Tenant], namespaces: [default]")
    )
    tenant = {"apiVersion": "example.com/v1", "kind": "Tenant", "metadata": {"name": "t"}}
    given = ("apply", "pol", "-r", "review.json", "--output-format", "json")
    for namespace, expected in (("", 0), ("default", 1)):
        (folder / "review.json").write_text(
            review(operation="CREATE", object=tenant, namespace=namespace)
        )
        assert kyvsim(*given)[0] == expected


def test_a_resource_can_be_what_a_connection_sends(folder, kyvsim):
    (folder / "pol/named.yaml").write_text(
        POLICY.replace("operations: [CREATE, UPDATE, DELETE]", "operations: [CONNECT]")
    )
    given = ("apply", "pol", "-r", "man/bad.yaml")
    assert kyvsim(*given)[0] == 0
    assert kyvsim(*given, "--operation", "CONNECT")[0] == 1
    assert kyvsim(*given, "--set", "request.operation=CONNECT")[0] == 1


def test_an_operation_that_there_is_not_makes_no_request(folder, kyvsim):
    (folder / "review.json").write_text(review(operation="PATCH", object=POD))
    status, out, err = kyvsim("apply", "pol", "-r", "review.json", "--output-format", "json")
    assert (status, json.loads(out)["results"]) == (2, [])
    assert "review.json:5:3: error KV014" in err


def test_a_review_is_no_step_of_a_simulation(folder, kyvsim):
    (folder / "review.json").write_text(review(operation="UPDATE", object=POD, oldObject=POD))
    status, _, err = kyvsim("simulate", "pol", "-r", "review.json")
    assert (status, "error KV097" in err) == (2, True)


BINDING = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: bind}
spec:
  rules:
  - name: bind
    match: {any: [{resources: {kinds: [Namespace]}}]}
    generate:
      apiVersion: KIND
      name: view
      data: {roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}}
"""
CLUSTER_SCOPED = BINDING.replace(
    "KIND", "rbac.authorization.k8s.io/v1\n      kind: ClusterRoleBinding"
)
TENANT = BINDING.replace("KIND", "example.com/v1\n      kind: Tenant")
IN_X = "name: view\n      namespace: x\n"
TENANTS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tenants.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Tenant, plural: tenants, singular: tenant, listKind: TenantList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
SCOPED_RUNS = [
    ("lint", "made.yaml"),
    ("lint", "made.yaml", "--crd-path", "crd.yaml"),
    ("apply", "made.yaml", "-r", "man/space.yaml"),
    ("apply", "made.yaml", "-r", "man/space.yaml", "--crd-path", "crd.yaml"),
    ("apply", "made.yaml", "-r", "man/space.yaml", "-r", "crd.yaml"),
    ("migrate", "made.yaml"),
    ("migrate", "given"),
]


@pytest.mark.parametrize("run", SCOPED_RUNS)
@pytest.mark.parametrize(
    ("text", "is_known"), [(CLUSTER_SCOPED, True), (TENANT, False)], ids=["built-in", "custom"]
)
def test_every_command_knows_the_scope_of_generated_objects(folder, kyvsim, run, text, is_known):
    (folder / "man/space.yaml").write_text("{apiVersion: v1, kind: Namespace, metadata: {name: s}}")
    (folder / "crd.yaml").write_text(TENANTS)
    (folder / "given").mkdir()
    (folder / "given/crd.yaml").write_text(TENANTS)
    is_known = is_known or bool({"crd.yaml", "given"} & {*run})
    for policy, is_placed in ((text, False), (text.replace("name: view\n", IN_X, 1), True)):
        (folder / "made.yaml").write_text(policy)
        (folder / "given/made.yaml").write_text(policy)
        status, *texts = kyvsim(*run)
        said = "".join(texts)
        refused = "must not be set for a cluster-wide" if is_known else "must be set for a namesp"
        assert (status, refused in said) == ((2, True) if is_placed is is_known else (0, False))
        assert ("the scope of Tenant (example.com/v1) is unknown" in said) is (
            not is_known and not is_placed
        )


def test_a_simulated_cluster_refuses_what_commands_refuse(folder, kyvsim):
    (folder / "man/space.yaml").write_text("{apiVersion: v1, kind: Namespace, metadata: {name: s}}")
    (folder / "made.yaml").write_text(CLUSTER_SCOPED.replace("name: view\n", IN_X, 1))
    status, out, err = kyvsim("simulate", "made.yaml", "-r", "man/space.yaml")
    assert (status, err.count("error KV129")) == (2, 1)
    assert "target namespace must not be set" in " ".join(out.split())
    (folder / "made.yaml").write_text(CLUSTER_SCOPED)
    assert "KV129" not in kyvsim("simulate", "made.yaml", "-r", "man/space.yaml")[2]
