"""Bundles have what a command loads, count for nothing else, and leave the rest to Python."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kyvsim

pytestmark = pytest.mark.slow

ROOT = Path(kyvsim.__file__).parent
OWN = ("__init__", "cli/__init__", "cli/bundles", "cli/commands", "cli/front_page")
OWN += ("cli/own_modules", "light/__init__", "light/importing", "light/regex")
OWN += ("light/suppressed", "light/threads", "light/typed")
SOURCES = {
    "cli/declared": "class Call: ...\nclass Command: ...\nclass Group: ...\n",
    "cli/apply": "import kyvsim.cli.front_page\nfrom kyvsim.part import SAID\n",
    "part/__init__": "from kyvsim.part.word import SAID\n",
    "part/early": "import kyvsim.other.early\n",
    "part/late": "import kyvsim.other.late, kyvsim.other.last\n",
    "other/__init__": "",
    "other/early": "",
    "other/late": "import kyvsim.other.early\n",
    "other/last": "LAST = 1\n",
    "part/word": "import sys\nSAID = ['one', sys._getframe().f_code.co_filename]\n",
}
RUN = """
import json, sys
from kyvsim.cli.bundles import begin_loading
end_loading = begin_loading(["apply"])
own, taken = getattr(end_loading, "args", [None])[-1], []
if own:
    take = own.take
    def noted(name):
        group = take(name)
        taken.extend(group or ())
        return group
    own.take = noted
from kyvsim.cli.apply import SAID
import kyvsim.part.word
assert kyvsim.part.word.SAID is kyvsim.part.SAID is SAID
kept = "kyvsim.part.word" in taken
end_loading()
print(json.dumps([kept, *SAID]))
"""
EXPRESSIONS = """
import json, re
compiled = []
compile = re._compiler.compile
re._compiler.compile = lambda *one: compiled.append(one[0]) or compile(*one)
from kyvsim.cli.bundles import begin_loading
end_loading = begin_loading(["apply"])
import kyvsim.cli.apply
from kyvsim.light.regex import regex
found = regex("(?P<word>[a-z]+|[\\ud800-\\udfff])", re.I).fullmatch("WORD")["word"]
before = len(compiled)
end_loading()
print(json.dumps([found, before]))
"""
WHAT = """
import json, sys
from kyvsim.cli.bundles import begin_loading
end_loading = begin_loading(["apply"])
from kyvsim.cli import apply
end_loading()
def told(module):
    spec = module.__spec__
    parts = [module.__name__, module.__file__, module.__cached__, module.__package__]
    where = [spec.name, spec.origin, spec.cached, spec.parent, spec.has_location]
    paths = [[*getattr(module, "__path__", ())], spec.submodule_search_locations]
    loader = module.__loader__
    return [*parts, *where, *paths, spec.loader is loader, type(loader).__name__, loader.path]
print(json.dumps([told(sys.modules[name]) for name in ("kyvsim.part", "kyvsim.part.word")]))
"""


@pytest.fixture(name="package")
def _package(tmp_path):
    """Return a small package of this name, with the command `apply`, in a folder of its own."""
    folder = tmp_path / "kyvsim"
    for name in OWN:
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        shutil.copy(ROOT / f"{name}.py", folder / f"{name}.py")
    for name, text in SOURCES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / f"{name}.py").write_text(text)
    said(folder)  # Python compiles all
    return folder


def said(package, script=RUN, **more):
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, cwd=package.parent, env={**env, **more}, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def bundles(package):
    return sorted((package / "cli/__pycache__").glob("*.kept*"))


def write_unnoticed(file, text):
    """Change a file so that neither its size nor its time tells."""
    times = file.stat().st_atime_ns, file.stat().st_mtime_ns
    assert len(text) == file.stat().st_size
    file.write_text(text)
    os.utime(file, ns=times)


def test_a_run_keeps_what_the_next_one_loads(package):
    word = package / "part/word.py"
    assert said(package) == [False, "one", str(word)]
    assert len(bundles(package)) == 1
    # Nothing but the bundle has the old text any more.
    write_unnoticed(word, word.read_text().replace("one", "two"))
    shutil.rmtree(package / "part/__pycache__")
    assert said(package) == [True, "one", str(word)]


def test_a_run_keeps_the_expressions_that_it_compiled(package):
    assert said(package, EXPRESSIONS) == ["WORD", 1]
    assert said(package, EXPRESSIONS) == ["WORD", 0]
    assert said(package) == [True, *said(package)[1:]]
    assert said(package, EXPRESSIONS) == ["WORD", 0]


def test_expressions_of_another_release_do_not_count(package):
    said(package, EXPRESSIONS)
    other = EXPRESSIONS.replace("import json, re\n", "import json, re, sys\nsys.hexversion += 1\n")
    assert said(package, other) == ["WORD", 1]
    assert said(package, other) == ["WORD", 0]
    assert said(package, EXPRESSIONS) == ["WORD", 1]


def test_expressions_of_a_source_that_changed_are_not_kept_any_longer(package):
    said(package, EXPRESSIONS)
    (package / "part/word.py").write_text(SOURCES["part/word"].replace("one", "another"))
    said(package)
    said(package)
    assert said(package, EXPRESSIONS) == ["WORD", 1]


def test_modules_are_as_the_import_system_makes_them(package):
    said(package)
    (kept,) = bundles(package)
    found = said(package, WHAT)
    kept.unlink()
    assert found == said(package, WHAT)


def test_a_bundle_of_another_source_does_not_count(package):
    said(package)
    old = bundles(package)[0].read_bytes()
    word = package / "part/word.py"
    word.write_text(word.read_text().replace("one", "another"))
    assert said(package) == [False, "another", str(word)]
    said(package)  # its module had to be compiled
    assert bundles(package)[0].read_bytes() != old
    assert said(package) == [True, "another", str(word)]


def test_a_bundle_of_a_source_that_is_gone_does_not_count(package):
    said(package)
    (package / "part/word.py").unlink()
    (package / "part/__init__.py").write_text("SAID = ['none', '']\n")
    code = RUN.replace(
        "import kyvsim.part.word\nassert kyvsim.part.word.SAID is ", "import kyvsim.part\nassert "
    )
    assert said(package, code) == [False, "none", ""]


@pytest.mark.parametrize("size", [0, 3, 8, 12, 100, -1])
def test_a_bundle_that_is_cut_off_is_made_anew(package, size):
    said(package)
    (kept,) = bundles(package)
    whole = kept.read_bytes()
    kept.write_bytes(whole[:size])
    assert said(package)[:2] == [False, "one"]
    assert kept.read_bytes() == whole
    assert bundles(package) == [kept]


@pytest.mark.parametrize("at", [0, 8, 11, 14, 60, -30, -1])
def test_a_damaged_bundle_is_made_anew(package, at):
    said(package)
    (kept,) = bundles(package)
    whole = bytearray(kept.read_bytes())
    damaged = whole.copy()
    damaged[at] ^= 0x20
    kept.write_bytes(damaged)
    assert said(package)[:2] == [False, "one"]
    assert kept.read_bytes() == whole


def test_a_bundle_that_was_copied_elsewhere_does_not_count(package, tmp_path):
    said(package)
    copy = tmp_path / "copy/kyvsim"
    shutil.copytree(package, copy)
    assert said(copy) == [False, "one", str(copy / "part/word.py")]


def test_none_is_kept_where_python_is_to_write_nothing(package):
    assert said(package, PYTHONDONTWRITEBYTECODE="1")[:2] == [False, "one"]
    assert bundles(package) == []


def test_none_is_used_where_compiled_files_lie_elsewhere(package, tmp_path):
    said(package)
    (kept,) = bundles(package)
    found = said(package, PYTHONPYCACHEPREFIX=str(tmp_path / "elsewhere"))
    assert found[:2] == [False, "one"]
    assert bundles(package) == [kept]


LATE = RUN.replace(
    'kept = "kyvsim.part.word"', 'import kyvsim.part.late\nkept = "kyvsim.part.late"'
)
BOTH = LATE.replace("import kyvsim.part.late", "import kyvsim.part.early, kyvsim.part.late")
"""What is imported first is in a group of its own, and the other does without it."""


def test_what_is_loaded_later_is_added(package):
    said(package)
    (kept,) = bundles(package)
    first = kept.stat().st_size
    assert said(package, LATE)[0] is False  # Python compiles it
    assert said(package, LATE)[0] is False
    assert kept.stat().st_size > first
    assert said(package, LATE)[0] is True
    assert said(package)[0] is True


def test_a_group_counts_without_those_that_were_loaded_before_it(package):
    for _ in range(3):
        said(package, BOTH)
    assert said(package, LATE)[0] is True


def test_no_module_waits_that_a_changed_one_imports_now(package):
    for _ in range(3):
        said(package, BOTH)
    (package / "other/early.py").write_text("from kyvsim.other.last import LAST\n")
    assert said(package, BOTH)[0] is True
    assert said(package, LATE)[0] is True


def test_what_does_not_count_any_more_is_not_kept(package):
    for _ in range(3):
        said(package, LATE)
    (kept,) = bundles(package)
    assert b"late.py" in kept.read_bytes()
    for name in ("word", "late"):
        file = package / f"part/{name}.py"
        file.write_text(f"{file.read_text()}\n")
    said(package)
    said(package)
    assert said(package)[0] is True
    assert b"late.py" not in kept.read_bytes()


def test_other_threads_find_no_module_half_loaded(package):
    """The import system has them wait, so it loads all."""
    said(package)
    start = (
        "import threading\ndone = threading.Event()\nthreading.Thread(target=done.wait).start()\n"
    )
    code = start + RUN.replace("end_loading()", "done.set()\nend_loading()")
    assert said(package, code)[0] is False


def test_a_module_that_fails_leaves_nothing_half_loaded(package):
    (package / "part/word.py").write_text("import os\nSAID = [os.environ['WORD'], '']\n")
    said(package, WORD="one")
    said(package, WORD="one")
    assert said(package, WORD="two") == [True, "two", ""]
    code = RUN.replace("from kyvsim.cli.apply", "FAIL\nfrom kyvsim.cli.apply")
    fail = (
        "import os\ntry:\n    import kyvsim.cli.apply\n"
        "except KeyError:\n    os.environ['WORD'] = 'three'\n"
        "assert not [one for one in sys.modules if one.startswith('kyvsim.part')]\n"
    )
    assert said(package, code.replace("FAIL\n", fail)) == [True, "three", ""]


def test_a_module_that_fails_fails_as_it_did(package):
    said(package)
    said(package)
    code = RUN.replace(
        "from kyvsim.cli.apply", "from kyvsim.part import other\nfrom kyvsim.cli.apply"
    )
    with pytest.raises(subprocess.CalledProcessError) as failed:
        said(package, code)
    assert "cannot import name 'other' from 'kyvsim.part'" in failed.value.stderr


@pytest.mark.parametrize("error", ["OSError", "KeyboardInterrupt"])
def test_what_cannot_be_kept_leaves_nothing_behind(package, error):
    code = f"""
import json, os
from kyvsim.cli.bundles import begin_loading
end_loading = begin_loading(["apply"])
import kyvsim.cli.apply
def refuse(*_):
    raise {error}
os.replace = refuse
end_loading()
print(json.dumps(True))
"""
    said(package)
    before = [(one, one.read_bytes()) for one in bundles(package)]
    (package / "part/word.py").write_text(SOURCES["part/word"].replace("one", "another"))
    subprocess.run([sys.executable, "-m", "compileall", "-q", package], check=True)
    assert said(package, code) is True
    assert [(one, one.read_bytes()) for one in bundles(package)] == before
