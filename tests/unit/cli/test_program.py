"""The program as a process: start, streams that break, help."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kyvsim import __version__
from kyvsim.cli.main import exit_status_of

ROOT = Path(__file__).parents[3]
SLOW = {"yaml", "rich", "jsonschema", "jmespath", "re2"}
PROGRAM = (sys.executable, "-m", "kyvsim")


def run(*arguments, **options):
    return subprocess.run(
        [*PROGRAM, *arguments], capture_output=True, text=True, check=False, **options
    )


@pytest.mark.parametrize("arguments", [["--version"], ["-V"], ["version"]])
def test_version(arguments):
    done = run(*arguments)
    assert done.returncode == 0
    assert done.stdout == f"kyvsim, version {__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["-V"], ["version"]])
def test_start_loads_nothing_slow(arguments):
    trace = (
        "import sys\n"
        "from kyvsim.cli.main import run\n"
        f"status = run({arguments!r})\n"
        f"slow = {SLOW!r}\n"
        "sys.exit(f'loaded: {slow & set(sys.modules)}' if slow & set(sys.modules) else status)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", trace], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_help_lists_commands_and_flags():
    assert "apply" in run("--help").stdout
    help_text = run("apply", "--help").stdout
    for flag in ("--resource", "--audit-warn", "--model", "--diff", "--output-format"):
        assert flag in help_text
    assert "--cluster" not in help_text.split()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_help_on_a_full_disk_is_an_error():
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [*PROGRAM, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr == "error: cannot write to standard output: No space left on device\n"


def test_no_command_shows_help_and_is_bad_usage():
    done = run()
    assert done.returncode == 2
    assert "Evaluate policies:" in done.stderr


@pytest.fixture
def manifests(tmp_path):
    (tmp_path / "policy.yaml").write_text(
        "apiVersion: kyverno.io/v1\n"
        "kind: ClusterPolicy\n"
        "metadata: {name: need-label}\n"
        "spec:\n"
        "  rules:\n"
        "  - name: team\n"
        "    match: {any: [{resources: {kinds: [Pod]}}]}\n"
        "    validate: {message: team wanted, pattern: {metadata: {labels: {team: '?*'}}}}\n"
    )
    pods = [
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p{n}, namespace: shop}}\nspec: {{}}\n"
        for n in range(2000)
    ]
    (tmp_path / "pods.yaml").write_text("---\n".join(pods))
    return ("apply", str(tmp_path / "policy.yaml"), "-r", str(tmp_path / "pods.yaml"))


@pytest.mark.usefixtures("older_release")
def test_a_closed_pipe_is_quiet_and_keeps_the_verdict(manifests):
    process = subprocess.Popen(
        [*PROGRAM, *manifests], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 1


@pytest.mark.usefixtures("older_release")
@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_an_error(manifests):
    with open("/dev/full", "w") as full:
        for arguments in (manifests, ("--help",), ("version",)):
            done = subprocess.run(
                [*PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, check=False
            )
            assert done.returncode == 2
            assert (
                done.stderr == b"error: cannot write to standard output: No space left on device\n"
            )


@pytest.mark.usefixtures("older_release")
def test_a_closed_standard_output_is_an_error(manifests):
    script = 'exec "$@" >&-'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *PROGRAM, *manifests], capture_output=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == b"error: cannot write to standard output: it is closed\n"


@pytest.mark.usefixtures("older_release")
@pytest.mark.slow
def test_any_locale_will_do(manifests):
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = run(*manifests, env=environment)
    assert done.returncode == 1
    assert "FAILED: 2000 of 2000 results failed" in done.stdout
    assert done.stdout.split("\n")[-3:] == [
        "FAILED: 2000 of 2000 results failed · 2000 resources · Kyverno 1.19.0 ·",
        "        exit status 1",
        "",
    ]


def test_what_others_wrote_stays_text_in_an_error(kyvsim):
    status, _, err = kyvsim("apply", "p", "-r", "r", "--budget", "\x1b[31m\n::error::x")
    assert status == 2
    assert "\x1b" not in err
    assert "\n::error" not in err


def test_a_lack_of_memory_is_no_defect(capsys):
    assert exit_status_of(MemoryError()) == 2
    assert capsys.readouterr().err.startswith("error: out of memory: ")


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_signal_that_comes_while_a_text_is_evaluated_has_its_status(tmp_path):
    (tmp_path / "probe.py").write_text(
        "import os, signal, sys\n"
        "from kyvsim.cli import main\n"
        "main.kyvsim.main = lambda *_, **__: eval('os.kill(os.getpid(), signal.SIGTERM)')\n"
        "sys.exit(main.run([], alone=True))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "probe"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (143, "terminated\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "module",
    ["kyvsim.cli.main", "kyvsim.cli.run_output", "yaml"],
)
def test_a_signal_while_modules_are_loaded_ends_without_a_traceback(tmp_path, module, number):
    policy = tmp_path / "p.yaml"
    policy.write_text("# nothing\n%YAML 1.1\n---\na: &b [*b]\n")
    code = (
        "import os, signal, sys\n"
        # Tests that a shell runs in the background inherit an ignored SIGINT.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"def watch(event, given):\n    if event == 'import' and given[0] == {module!r}:\n"
        f"        os.kill(os.getpid(), {int(number)})\n"
        "from kyvsim.__main__ import main\n"
        "sys.addaudithook(watch)\n"
        f"sys.argv = ['kyvsim', 'apply', {str(policy)!r}, '-r', {str(policy)!r}]\nmain()\n"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], capture_output=True, text=True, check=False
    )
    assert (done.returncode, "Traceback" in done.stderr) == (128 + number, False)


WITHOUT_POSIX = """
import _pyio, builtins
import concurrent.futures.process, multiprocessing, os, shutil, signal, subprocess, sys, tempfile
for name in ("fork", "geteuid", "getegid", "getuid", "killpg", "sched_getaffinity", "O_NOFOLLOW"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
from kyvsim.cli.main import run
from kyvsim.load import scratch
scratch.HAS_LOCKS = False  # as for sys.platform == "win32"
multiprocessing.set_start_method("spawn")
os.linesep, builtins.open = "\\r\\n", _pyio.open  # which uses it, as the other one there
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["apply", "policies/namespace-team", "-r", "fixtures/resources/namespaces.yaml", "-j", "2"],
        ["apply", "policies", "-r", "fixtures/resources", "--output-format", "sarif=OUT/a.sarif"],
        ["apply", "policies", "-r", "fixtures/resources", "--output", "OUT/objects"],
        ["apply", "policies", "-r", "fixtures/resources", "--write-baseline", "OUT/known.yaml"],
        ["lint", "policies", "--jobs", "2"],
        ["test", "fixtures/tests/team"],
        ["test", "fixtures/tests", "--jobs", "2"],
        ["apply", "policies/namespace-team", "-r", "fixtures/resources", "--changed"],
    ],
)
def test_nothing_needs_what_windows_does_not_have(arguments, tmp_path):
    folders = tmp_path / "here", tmp_path / "there"
    shown = []
    for folder, program in zip(folders, (["-m", "kyvsim"], ["-c", WITHOUT_POSIX]), strict=True):
        folder.mkdir()
        given = [one.replace("OUT", str(folder)) for one in arguments]
        command = [sys.executable, *program, *given]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        shown.append(done)
    assert shown[0].returncode == shown[1].returncode, shown[1].stderr
    assert shown[0].stdout == shown[1].stdout
    assert "internal error" not in shown[1].stderr
    written = [
        {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*.*")}
        for folder in folders
    ]
    assert written[0] == written[1]
    assert bool(written[0]) is ("OUT" in str(arguments))
