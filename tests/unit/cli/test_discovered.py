"""What a configuration may not set that nobody named, and whose configurations are not used."""

import json
import os
import stat

import click
import pytest

from kyvsim.cli.command import command_contexts, use_settings, words_of
from kyvsim.cli.commands import kyvsim as program
from kyvsim.cli.parameters import (
    Effect,
    LineSettings,
    Option,
    PathType,
    is_flag,
    option,
    settable,
)

POLICY = """apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: named}
spec:
  rules:
    - name: labelled
      match: {any: [{resources: {kinds: [Pod]}}]}
      mutate: {patchStrategicMerge: {metadata: {labels: {+(app): a}}}}
"""
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"
WHOLE = "policies: pol\nresource: [man]\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with a policy and a Pod, in a folder of its own, from which calls go."""
    folder = tmp_path / "project"
    for name, text in {"pol/named.yaml": POLICY, "man/pod.yaml": POD}.items():
        path = folder / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    monkeypatch.chdir(folder)
    return folder


def parameters():
    for ctx in command_contexts(click.Context(program, info_name="kyvsim")):
        for one in settable(ctx.command):
            yield ctx, one


def test_an_option_has_to_say_what_it_decides():
    with pytest.raises(TypeError, match="effect"):
        option("--fresh")


def test_an_option_that_does_not_say_what_it_decides_is_taken_for_the_worst():
    assert Option(["--fresh"]).effect is Effect.RUNS


def test_every_option_of_every_command_can_be_set_or_is_hidden():
    """Only refused options, arguments without a name and those on the configuration cannot."""
    for ctx in command_contexts(click.Context(program, info_name="kyvsim")):
        unset = {*ctx.command.params} - {*settable(ctx.command)}
        options = [one for one in unset if isinstance(one, click.Option)]
        names = {one.name for one in options if not one.hidden}
        assert names <= {"config_file", "no_config"}, words_of(ctx)


EFFECTS = {
    Effect.WRITES_FILE: {"coverage-report", "output-format", "write-baseline"},
    Effect.WRITES_OBJECTS: {"output"},
    Effect.WRITES_NEW: {"output", "partials", "write-tests"},
    Effect.OVERWRITES: {"create", "fix", "force", "resume", "update"},
    Effect.RUNS: {"changed", "engine", "helm", "kustomize"},
    Effect.CONNECTS: {"scheduler"},
}
"""All that decide more than what is read and shown: a new one is to be added here on purpose."""


def test_what_decides_more_than_what_is_read_is_known():
    found = {}
    for _, one in parameters():
        if one.effect is not Effect.NONE:
            found.setdefault(one.effect, set()).add(one.keys[0])
    assert found == EFFECTS


def test_an_option_of_a_name_that_decides_something_does_so_in_every_command():
    """But for `--output-format` of commands that write no files, which is one of some words."""
    deciding = set().union(*EFFECTS.values())
    for ctx, one in parameters():
        if one.effect is Effect.NONE and one.keys[0] in deciding:
            assert isinstance(one.type, click.Choice), (words_of(ctx), one.keys)


def test_what_is_declared_as_written_is_classified_as_such():
    writes = {Effect.WRITES_FILE, Effect.WRITES_NEW, Effect.WRITES_OBJECTS}
    for ctx, one in parameters():
        kind = one.type
        if isinstance(kind, PathType) and (kind.is_written or kind.separator):
            assert one.effect in writes, (words_of(ctx), one.keys)


DECIDING = [(ctx, one) for ctx, one in parameters() if one.effect is not Effect.NONE]


@pytest.mark.parametrize(
    ("ctx", "one"), DECIDING, ids=[f"{' '.join(words_of(c))} {o.keys[0]}" for c, o in DECIDING]
)
def test_what_decides_is_left_to_the_user(project, ctx, one):
    path = words_of(ctx)
    kind = one.type
    value = True if is_flag(one) else "json=../x.yaml" if getattr(kind, "separator", "") else "../x"
    data = {one.keys[0]: value}
    for word in reversed(path):
        data = {word: data}
    (project / ".kyvsim.yaml").write_text(json.dumps(data))
    ctx.obj = LineSettings()
    found = use_settings(ctx)
    assert [(said.code, said.location.line) for said in found.remarks] == [("KV056", 1)]
    assert one.name not in ctx.default_map
    ctx.obj = LineSettings(config=".kyvsim.yaml")
    named = use_settings(ctx)
    assert (named.remarks, one.name in ctx.default_map) == ([], True)


@pytest.mark.parametrize(
    ("text", "place", "why"),
    [
        ("apply: {output-format: [text, csv=../out.csv]}", "1:31", "outside of the folder"),
        ("apply:\n  output: /tmp/somewhere", "2:3", "outside of the folder"),
        ("apply: {output-format: csv=link/out.csv}", "1:9", "outside of the folder"),
        ("apply: {output: link}", "1:9", "outside of the folder"),
        ("apply: {output-format: csv=leads.csv}", "1:9", "outside of the folder"),
        ("apply: {output: .}", "1:9", "outside of the folder"),
        ("apply: {output-format: text=.git/hooks/pre-commit}", "1:9", "version control"),
        ("apply: {output-format: text=sub/.GIT/config}", "1:9", "version control"),
        ('apply: {output-format: "text=a\\0b"}', "1:9", "cannot be resolved"),
        ("apply: {partials: 's3://bucket/x'}", "1:9", "connects to an address"),
        ("apply: {partials: ../x}", "1:9", "outside of the folder"),
        ("resource: [man, 'https://example.com/a']", "1:17", "connects to an address"),
        ("apply: {changed: HEAD}", "1:9", "runs a program"),
        ("apply: {engine: processes}", "1:9", "runs a program"),
        ("apply: {scheduler: 'tcp://example.com:8786'}", "1:9", "connects"),
        ("apply: {helm: [chart]}", "1:16", "runs a program"),
    ],
)
def test_settings_that_decide_too_much_are_errors_with_a_place(project, kyvsim, text, place, why):
    (project / "link").symlink_to(project.parent)
    (project / "leads.csv").symlink_to(project.parent / "new.csv")
    (project / ".kyvsim.yaml").write_text(f"{text}\n")
    before = sorted(project.parent.rglob("*"))
    status, out, err = kyvsim("apply", "pol", "-r", "man")
    assert (status, out) == (2, "")
    assert err.startswith(f".kyvsim.yaml:{place}: error KV056: ")
    assert why in err
    assert "--config" in err
    assert sorted(project.parent.rglob("*")) == before


def test_a_table_of_pyproject_has_the_same_limits(project, kyvsim):
    (project / "pyproject.toml").write_text('[tool.kyvsim.lint]\nchanged = "HEAD"\n')
    status, _, err = kyvsim("lint", "pol")
    assert (status, err.partition(": ")[0]) == (2, "pyproject.toml:2:1")
    (project / "pyproject.toml").write_text("[tool.kyvsim.lint]\nfix = false\n")
    assert kyvsim("lint", "pol")[0] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("apply", "--config", ".kyvsim.yaml"),
        ("apply", "--config=.kyvsim.yaml"),
        ("--config", ".kyvsim.yaml", "apply"),
        ("--config=.kyvsim.yaml", "apply"),
        ("apply", "-t", "--config", ".kyvsim.yaml", "pol"),
        ("apply", "--config", "nowhere.yaml", "--config", ".kyvsim.yaml"),
    ],
)
def test_a_named_configuration_decides_all(project, kyvsim, arguments):
    (project / ".kyvsim.yaml").write_text(f"{WHOLE}apply: {{output-format: csv=../out.csv}}\n")
    assert kyvsim(*arguments)[0] == 0
    assert (project.parent / "out.csv").exists()


def test_the_line_names_a_configuration_before_the_variable(project, kyvsim, monkeypatch):
    (project / "other.yaml").write_text(WHOLE)
    (project / "wrong.yaml").write_text("nothing: 1\n")
    monkeypatch.setenv("KYVSIM_CONFIG", "wrong.yaml")
    assert kyvsim("apply")[0] == 2
    assert kyvsim("apply", "--config", "other.yaml")[0] == 0
    assert kyvsim("apply", "--no-config", "pol", "-r", "man")[0] == 0
    assert kyvsim("--no-config", "apply", "pol", "-r", "man")[0] == 0
    assert kyvsim("config", "--config", "other.yaml")[1].startswith("configuration: other.yaml\n")
    assert kyvsim("config", "--no-config")[1] == "configuration: none\n"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("apply", "--config", "a", "--no-config"), "cannot be combined"),
        (("--no-config", "apply", "--config", "a"), "cannot be combined"),
        (("apply", "--config"), "requires an argument"),
        (("--config",), "requires an argument"),
        (("apply", "--config", "nowhere.yaml"), "nowhere.yaml: error KV"),
    ],
)
def test_what_names_no_configuration_is_an_error(project, kyvsim, arguments, why):
    del project
    status, out, err = kyvsim(*arguments)
    assert (status, out, why in err) == (2, "", True)


def test_values_of_other_options_name_no_configuration(project, kyvsim):
    (project / "a.yaml").write_text("nothing: 1\n")
    status, _, err = kyvsim("apply", "pol", "-r", "man", "--set", "--config=a.yaml")
    assert (status, "nothing" in err) == (0, False)
    status, out, err = kyvsim("lint", "pol", "--", "--config", "a.yaml")
    assert (status, "KV010" in out, "KV095" in err) == (2, True, False)


def test_chainsaw_keeps_its_own_configuration(project, kyvsim):
    (project / "set.yaml").write_text("chainsaw: {quiet-: 1}\n")
    assert "KV095" in kyvsim("--config", "set.yaml", "chainsaw", "pol")[2]
    assert "KV095" not in kyvsim("chainsaw", "--config", "set.yaml", "pol")[2]


@pytest.mark.parametrize(
    "setting", ["output: out", "output: new/out.yaml", "output-format: csv=out/a.csv"]
)
def test_an_output_below_the_folder_is_written_again_and_again(project, kyvsim, setting):
    (project / ".kyvsim.yaml").write_text(f"{WHOLE}apply: {{{setting}}}\n")
    (project / "out").mkdir()
    for _ in range(3):
        status, _, err = kyvsim("apply")
        assert (status, "KV05" in err) == (0, False)
    assert any((project / "out").iterdir()) or (project / "new/out.yaml").exists()
    assert (project / ".kyvsim/.gitignore").read_text() == "*\n"


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ("output-format: csv=pol/named.yaml", "pol/named.yaml"),
        ("output-format: csv=README.md", "README.md"),
        ("output-format: csv=.kyvsim.yaml", ".kyvsim.yaml"),
        ("write-baseline: README.md", "README.md"),
        ("output: out.yaml", "out.yaml"),
        ("output: out", "out/web-mutated.yaml"),
    ],
)
def test_what_the_user_wrote_is_not_replaced(project, kyvsim, setting, name):
    text = f"{WHOLE}apply: {{{setting}}}\n"
    (project / ".kyvsim.yaml").write_text(text)
    (project / name).parent.mkdir(exist_ok=True)
    if not (project / name).exists():
        (project / name).write_text("mine\n")
    before = (project / name).read_text()
    status, out, err = kyvsim("apply")
    assert (status, out) == (2, "")
    assert err.startswith(".kyvsim.yaml:3:9: error KV057: ")
    assert (project / name).read_text() == before


def test_what_the_user_changed_in_an_output_is_not_replaced(project, kyvsim):
    (project / ".kyvsim.yaml").write_text(f"{WHOLE}apply: {{output-format: csv=a.csv}}\n")
    assert kyvsim("apply")[0] == 0
    with (project / "a.csv").open("a") as stream:
        stream.write("note\n")
    assert "KV057" in kyvsim("apply")[2]
    (project / "a.csv").unlink()
    assert kyvsim("apply")[0] == 0


@pytest.mark.parametrize("record", ["[]", "{", '{"a.csv": 1}', "[" * 100_000, "x" * (2 << 20)])
def test_an_odd_record_of_outputs_is_none(project, kyvsim, record):
    (project / ".kyvsim.yaml").write_text(f"{WHOLE}apply: {{output-format: csv=a.csv}}\n")
    (project / ".kyvsim").mkdir()
    (project / ".kyvsim/outputs.json").write_text(record)
    assert kyvsim("apply")[0] == 0
    assert kyvsim("apply")[0] == 0


def test_the_record_of_outputs_is_not_written_elsewhere(project, kyvsim):
    (project / ".kyvsim.yaml").write_text(f"{WHOLE}apply: {{output-format: csv=a.csv}}\n")
    (project.parent / "other").mkdir()
    (project / ".kyvsim").symlink_to(project.parent / "other")
    assert kyvsim("apply")[0] == 0
    assert not [*(project.parent / "other").iterdir()]


@pytest.fixture
def users(monkeypatch):
    """A function that makes this process another user's, as far as the system says."""

    def run_as(user, group=None, sudo=None):
        monkeypatch.setattr(os, "geteuid", lambda: user)
        monkeypatch.setattr(os, "getegid", lambda: os.getgid() if group is None else group)
        monkeypatch.delenv("SUDO_UID", raising=False)
        if sudo is not None:
            monkeypatch.setenv("SUDO_UID", str(sudo))

    return run_as


def owned_by(monkeypatch, owners):
    """Have the system say that files of some names, found without or with links, have owners."""

    def told(real):
        def ask(path, *arguments, **options):
            found = real(path, *arguments, **options)
            owner = owners.get((real.__name__, os.path.basename(os.fspath(path))))
            fields = list(found)
            fields[stat.ST_UID] = found.st_uid if owner is None else owner
            return os.stat_result(fields)

        return ask

    for real in (os.stat, os.lstat):
        monkeypatch.setattr(os, real.__name__, told(real))


@pytest.mark.parametrize(
    ("user", "sudo", "owner", "used"),
    [
        (1000, None, 1000, True),
        (1000, None, 0, True),
        (1000, None, 1001, False),
        (1000, 1001, 1001, False),
        (0, None, 0, True),
        (0, None, 1000, False),
        (0, 1000, 1000, True),
        (0, "x", 1000, False),
        (0, 1001, 1000, False),
    ],
)
def test_a_configuration_of_another_user_is_not_used(
    project, kyvsim, users, monkeypatch, user, sudo, owner, used
):
    (project / ".kyvsim.yaml").write_text(WHOLE)
    name = project.name
    users(user, sudo=sudo)
    files = {(call, one): owner for call in ("stat", "lstat") for one in (name, ".kyvsim.yaml")}
    owned_by(monkeypatch, files)
    status, _, err = kyvsim("apply")
    assert (status, "KV058" in err) == ((0, False) if used else (2, True))


@pytest.mark.parametrize(
    "owned", [("stat", ".kyvsim.yaml"), ("lstat", ".kyvsim.yaml"), ("stat", "project")]
)
def test_link_file_and_folder_are_to_belong_to_the_user(project, kyvsim, monkeypatch, owned):
    (project / ".kyvsim.yaml").write_text(WHOLE)
    owned_by(monkeypatch, {owned: 4711})
    status, out, err = kyvsim("apply")
    assert (status, out) == (2, "")
    assert err.startswith(".kyvsim.yaml: error KV058: not used: ")
    assert "belongs to user 4711" in err
    assert kyvsim("apply", "--config", ".kyvsim.yaml")[0] == 0
    assert kyvsim("apply", "--no-config", "pol", "-r", "man")[0] == 0


@pytest.mark.parametrize(
    ("folder", "file", "own_group", "used"),
    [
        (0o755, 0o644, True, True),
        (0o775, 0o664, True, True),
        (0o775, 0o644, False, False),
        (0o755, 0o664, False, False),
        (0o777, 0o644, True, False),
        (0o755, 0o666, True, False),
        (0o1777, 0o644, True, True),
        (0o1777, 0o666, True, False),
    ],
)
def test_a_configuration_that_others_can_write_is_not_used(
    project, kyvsim, users, folder, file, own_group, used
):
    (project / ".kyvsim.yaml").write_text(WHOLE)
    (project / ".kyvsim.yaml").chmod(file)
    project.chmod(folder)
    users(os.getuid(), group=project.stat().st_gid if own_group else 4711)
    status, _, err = kyvsim("apply")
    assert (status, "other users can write" in err) == ((0, False) if used else (2, True))


def test_a_hard_link_in_a_sticky_folder_is_not_used(project, kyvsim):
    (project / "mine.yaml").write_text(WHOLE)
    os.link(project / "mine.yaml", project / ".kyvsim.yaml")
    assert kyvsim("apply")[0] == 0
    project.chmod(0o1777)
    assert "KV058" in kyvsim("apply")[2]


@pytest.mark.parametrize("links", [1, 2])
@pytest.mark.parametrize(("mode", "used"), [(0o755, True), (0o777, False)])
def test_each_folder_on_the_way_of_a_linked_configuration_counts(
    project, tmp_path_factory, kyvsim, links, mode, used
):
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "shared.yaml").write_text(WHOLE)
    target = folder / "shared.yaml"
    if links > 1:
        (folder / "link").symlink_to("shared.yaml")
        # The folder in which the last link leads is safe; the one it passes through is not.
        target = folder / "link"
        safe = tmp_path_factory.mktemp("safe")
        (folder / "shared.yaml").rename(safe / "shared.yaml")
        (folder / "link").unlink()
        (folder / "link").symlink_to(safe / "shared.yaml")
    (project / ".kyvsim.yaml").symlink_to(target)
    folder.chmod(mode)
    status, _, err = kyvsim("apply")
    assert (status, "other users can write to its folder" in err) == (
        (0, False) if used else (2, True)
    )


def test_a_link_that_leads_nowhere_is_reported_as_such(project, kyvsim):
    (project / ".kyvsim.yaml").symlink_to("gone.yaml")
    status, _, err = kyvsim("apply")
    assert (status, "a symbolic link to `gone.yaml`, which does not exist" in err) == (2, True)
