"""The program's own way to its modules leads to what the import system finds."""

import json
import os
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kyvsim

ROOT = Path(kyvsim.__file__).parent
ASK = """
import importlib, json, sys
import kyvsim.cli
if {own}:
    from kyvsim.cli.own_modules import find_own_modules
    find_own_modules()
def told(name):
    module = importlib.import_module(name)
    spec = module.__spec__
    parts = [module.__file__, module.__cached__, module.__package__, spec.origin, spec.parent]
    path = [*getattr(module, "__path__", ())]
    return [name, *parts, path, spec.has_location, type(spec.loader).__name__]
print(json.dumps([told(name) for name in {names!r}]))
"""


OWN = ("__init__.py", "cli/__init__.py", "cli/own_modules.py")
OWN += ("light/__init__.py", "light/importing.py", "light/threads.py", "light/typed.py")


def asked(own, names):
    script = ASK.format(own=own, names=names)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    return json.loads(done.stdout)


def test_modules_are_as_the_import_system_loads_them():
    names = ["kyvsim.kube.gvk", "kyvsim.api", "kyvsim.api.apply", "kyvsim.languages.classic.rules"]
    ours, theirs = asked(True, names), asked(False, names)
    assert [one[:-1] for one in ours] == [one[:-1] for one in theirs]
    assert {one[-1] for one in ours} == {"_Loader"}


@pytest.fixture(name="package")
def _package(tmp_path):
    """Return a package of this name with another module, in a folder of its own."""
    folder = tmp_path / "kyvsim"
    for name in OWN:
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        shutil.copy(ROOT / name, folder / name)
    (folder / "data").mkdir()
    return folder


def said(package, name="kyvsim.word"):
    """Return what a module of the package says, or the name of the error."""
    script = (
        "from kyvsim.cli.own_modules import find_own_modules; find_own_modules()\n"
        f"try:\n    import {name} as found\n    print(found.SAID)\n"
        "except Exception as error:\n    print(type(error).__name__)"
    )
    command = [sys.executable, "-c", script]
    return subprocess.check_output(command, cwd=package.parent, text=True).strip()


def test_what_was_compiled_of_another_source_is_not_run(package):
    source = package / "word.py"
    source.write_text("SAID = 'one'\n")
    py_compile.compile(source, doraise=True)
    assert said(package) == "one"
    source.write_text("SAID = 'another'\n")
    assert said(package) == "another"


def test_what_was_compiled_is_run(package):
    source = package / "word.py"
    source.write_text("SAID = 'one'\n")
    py_compile.compile(source, doraise=True)
    times = source.stat().st_atime_ns, source.stat().st_mtime_ns
    source.write_text("SAID = 'two'\n")  # of the same size and time: nothing tells
    os.utime(source, ns=times)
    assert said(package) == "one"


def test_sources_are_run_that_were_never_compiled_or_by_their_hash(package):
    source = package / "word.py"
    source.write_text("SAID = 'one'\n")
    shutil.rmtree(package / "__pycache__", ignore_errors=True)
    assert said(package) == "one"
    py_compile.compile(source, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
    assert said(package) == "one"
    source.write_text("SAID = 'two'\n")
    assert said(package) == "two"


def test_code_that_was_compiled_elsewhere_names_the_file_it_is_of(package):
    source = package / "word.py"
    source.write_text("import sys\nSAID = sys._getframe().f_code.co_filename\n")
    py_compile.compile(source, dfile="/elsewhere/word.py", doraise=True)
    assert said(package) == str(source)


@pytest.mark.parametrize("name", ["kyvsim.nothing", "kyvsim.cli.nothing", "kyvsim.data.nothing"])
def test_what_is_not_there_is_not_found(package, name):
    assert said(package, name) == "ModuleNotFoundError"


def test_a_package_may_say_itself_what_else_it_has(package):
    (package / "lazy").mkdir()
    (package / "lazy/__init__.py").write_text("def __getattr__(name):\n    return name.lower()\n")
    assert said(package, "kyvsim.lazy") == "said"


def test_only_packages_of_ours_say_so():
    # a module that is no package is of a class that does not ask `__getattr__`
    sources = [*ROOT.glob("*.py"), *ROOT.glob("[!t]*/**/[!_]*.py")]
    assert len(sources) > 100
    assert not [one for one in sources if "\ndef __getattr__(" in one.read_text()]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("from kyvsim.word import other", "cannot import name 'other' from 'kyvsim.word'"),
        ("import kyvsim.word as word; word.other", "has no attribute 'other'"),
    ],
)
def test_what_a_module_lacks_is_an_error(package, words, expected):
    (package / "word.py").write_text("SAID = 1\n")
    (package / "asks.py").write_text(f"try:\n    {words}\nexcept Exception as e:\n    SAID = e\n")
    assert expected in said(package, "kyvsim.asks")
