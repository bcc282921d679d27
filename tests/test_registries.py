"""What lies in a plugin folder is registered, has a key of its own, a docstring and a test."""

import ast
import functools
import importlib
import inspect
import re
from collections import Counter
from pathlib import Path
from typing import get_args

import click
import pytest

from kyvsim.cel.environment import Library
from kyvsim.cel.kyverno.authorization import MODES, authorization_environment
from kyvsim.cel.kyverno.environments import KINDS as CEL_KINDS
from kyvsim.cel.kyverno.environments import kyverno_environment
from kyvsim.cli.commands import COMMANDS, module_of
from kyvsim.engine.conditions.operators import OPERATORS, operators
from kyvsim.engine.context.json_context import LOADERS, loader_compiler
from kyvsim.jmespath.functions import FAMILIES, Function, family, functions
from kyvsim.languages import LANGUAGES
from kyvsim.languages.classic import suspicious
from kyvsim.languages.classic.rule_type import RuleType, rule_types, rule_types_of
from kyvsim.linting.registry import CHECKS
from kyvsim.mutation.changes import KINDS as KINDS_OF_CHANGES
from kyvsim.policy.read import CONTEXT_SOURCES
from kyvsim.policy.rule import read_rule
from kyvsim.policy.tree import ContextEntry
from kyvsim.report.diagnostic_codes import codes_by_name
from kyvsim.report.formats import FORMATS_OF, RUN_FORMATS
from kyvsim.schema.kinds import kyverno_facts
from kyvsim.simulator.hazards import HAZARDS, find_hazards

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "kyvsim"
UNIT = ROOT / "tests/unit"


def modules(folder):
    """Return the modules of a folder by name, without its `__init__`."""
    room = f"kyvsim.{folder.replace('/', '.')}"
    names = sorted(path.stem for path in (PACKAGE / folder).glob("*.py"))
    return {name: importlib.import_module(f"{room}.{name}") for name in names if name[0] != "_"}


def values(module, kind):
    """Return the records of a kind that a module defines at its top, alone or in tuples."""
    found = []
    for value in vars(module).values():
        for one in value if value.__class__ is tuple else (value,):
            if isinstance(one, kind) and one not in found:
                found.append(one)
    return found


def only_once(keys):
    return [key for key, count in Counter(keys).items() if count > 1]


def with_companions(rule_types):
    """Return rule types, and those that they name as the further part of their work."""
    named = [part for one in rule_types for part in one if isinstance(part, RuleType)]
    return [*rule_types, *named]


def test_every_rule_type_is_registered():
    """Every RuleType that a file of `rules` defines stands in a line, under its field, and once."""
    known = [*rule_types()]
    for name, module in modules("languages/classic/rules").items():
        missing = [
            one.field for one in values(module, RuleType) if one not in with_companions(known)
        ]
        assert not missing, name
    assert not only_once(one.field for one in known)
    for one in known:
        rule = functools.reduce(lambda body, field: {field: body}, reversed(one.field), {})
        assert [*rule_types_of(read_rule(rule, ()))] == [one]


def test_every_context_loader_is_registered():
    """Every loader stands in a line, under its class of entries."""
    assert {*LOADERS.values()} == {*modules("engine/context/loaders")}
    for entry_class in LOADERS:
        taken, *_ = inspect.get_annotations(loader_compiler(entry_class), eval_str=True).values()
        assert taken is entry_class
    assert {*LOADERS} == {*get_args(ContextEntry)}


def test_the_names_of_kinds_of_changes_differ():
    assert not only_once(one.name for one in KINDS_OF_CHANGES)


def test_context_loaders_cover_every_source_of_an_entry():
    """Each field of an entry in Kyverno's definitions, other than its name, is read."""
    entry = kyverno_facts()["schemas"]["Context"]["items"]["properties"]
    assert {*CONTEXT_SOURCES} == {*entry} - {"name"}


def test_every_family_of_functions_is_registered():
    for name, module in modules("jmespath/functions").items():
        own = [one for one in values(module, Function) if one not in functions().values()]
        replaced = [one for one in own if one.name in functions()]
        assert own == replaced, name
    assert set(functions()) == {one.name for title in FAMILIES for one in family(title)}


def test_functions_have_one_name_each():
    assert not only_once(one.name for title in FAMILIES for one in family(title))


def test_functions_say_what_they_do():
    assert not [name for name, one in functions().items() if not one.note]


def test_every_operator_is_registered():
    """A function of key and value beside the operators is what one of OPERATORS does."""
    held = {one.holds for one in OPERATORS}
    module = modules("engine/conditions")["operators"]
    offered = [
        function
        for function in vars(module).values()
        if inspect.isfunction(function)
        and function.__module__ == module.__name__
        and function.__name__[0] != "_"
        and [*inspect.signature(function).parameters] == ["key", "value"]
        and inspect.signature(function).return_annotation is bool
    ]
    assert offered
    assert not [function.__name__ for function in offered if function not in held]
    assert not only_once(one.name for one in OPERATORS)
    assert all(one.meaning for one in OPERATORS)


def test_successors_of_operators_are_operators():
    named = {successor for one in OPERATORS for successor in one.successors}
    assert named <= operators.keys()
    assert not [one.name for one in OPERATORS if one.warned and not one.successors]


def test_every_operator_is_tested():
    texts = (UNIT / "engine/conditions/test_operators.py").read_text(encoding="utf-8")
    rows = (ROOT / "tests/differential/conditions.jsonl").read_text(encoding="utf-8")
    assert not [name for name in operators if f'"{name}"' not in texts + rows]


def called_in_checks():
    """Return the names that stand in the lists of checks, from the text of their module."""
    tree = ast.parse(
        (PACKAGE / "languages/classic/validation/__init__.py").read_text(encoding="utf-8")
    )
    written = [
        node
        for node in tree.body
        if isinstance(node, ast.AnnAssign | ast.FunctionDef)
        and ast.unparse(node).partition("(")[0] != "def check_policy"
    ]
    return [
        getattr(node, "id", getattr(node, "attr", ""))
        for part in written
        for node in ast.walk(part)
        if isinstance(node, ast.Name | ast.Attribute)
    ]


def test_every_check_is_registered():
    named = called_in_checks()
    for name, module in modules("languages/classic/validation").items():
        checks = [
            function
            for function in vars(module)
            if function.startswith("check_")
            and vars(module)[function].__module__ == module.__name__
        ]
        assert not [check for check in checks if check not in named], name
    assert not only_once(name for name in named if name.startswith("check_"))


def test_every_lint_check_is_registered():
    """The codes of `kyvsim.linting` are those of its table, but for what `apply` adds to a run."""
    named = {code.code for one in CHECKS for code in one.codes}
    texts = [path.read_text(encoding="utf-8") for path in (PACKAGE / "linting").glob("*.py")]
    reported = {code for text in texts for code in re.findall(r'"(KV\d{3})", ?', text)}
    assert reported - named == {"KV070", "KV172", "KV190"}
    assert not only_once((one.codes, one.subject) for one in CHECKS)
    functions = [one.run for one in CHECKS if one.run.__name__ != "<lambda>"]
    assert all(one.__doc__.startswith("KV") for one in functions)


def test_codes_of_lint_checks_are_described_with_their_severities_and_examples():
    described = codes_by_name()
    codes = {code for one in CHECKS for code in one.codes}
    missing = {code.code for code in codes} - described.keys()
    assert not missing, "no section in kyvsim/report/codes/"
    for code in codes:
        assert code.severities == described[code.code].severities, code
        assert code.example in described[code.code].bad.text, code


def test_codes_of_lint_checks_are_tested():
    folder = ROOT / "tests/unit"
    texts = "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.py"))
    missing = {code.code for one in CHECKS for code in one.codes if code.code not in texts}
    assert not missing


def test_everything_suspicious_is_registered():
    offered = {
        function
        for name, function in vars(suspicious).items()
        if inspect.isfunction(function)
        and function.__module__ == suspicious.__name__
        and [*inspect.signature(function).parameters] == ["policy"]
        and name != "suspicious_parts"
    }
    assert offered == {*suspicious.SUSPICIOUS}
    assert not only_once(suspicious.SUSPICIOUS)


def test_codes_stand_in_one_file_each():
    homes = {}
    places = ("classic/validation/*.py", "classic/suspicious.py")
    for path in (one for name in places for one in PACKAGE.glob(f"languages/{name}")):
        for code in set(re.findall(r'"(KV\d{3})"', path.read_text(encoding="utf-8"))):
            homes.setdefault(code, []).append(path.stem)
    assert {code: files for code, files in homes.items() if len(files) > 1} == {}


FORMAT_TABLES = [*FORMATS_OF.values()]


def test_every_format_can_be_chosen():
    """A function of `report` that writes a format has a line in a command's table."""
    written = {
        (module.__name__, function)
        for module in modules("report").values()
        for function, value in vars(module).items()
        if re.fullmatch("(begin|render)(_[a-z_]+)?", function)
        and getattr(value, "func", value).__module__ == module.__name__
    }
    chosen = {
        tuple(f"kyvsim.report.{one.function}".rsplit(".", 1))
        for table in FORMAT_TABLES
        for one in table.values()
    }
    assert written == chosen


@pytest.mark.parametrize("table", FORMAT_TABLES, ids=", ".join)
def test_formats_have_all_that_is_told_of_them(table):
    for name, one in table.items():
        assert callable(one.write), name
        assert re.fullmatch(r"[a-z]+/[a-z+.-]+", one.media), name
        assert re.fullmatch(r"\.[a-z]+", one.extension), name


@pytest.mark.parametrize("name", RUN_FORMATS)
def test_every_format_of_apply_has_a_golden_case_on_the_menagerie(name):
    file = ROOT / f"tests/golden/apply/format-{name}/cmd"
    assert file.exists()
    command = file.read_text(encoding="utf-8")
    assert "menagerie" in command
    assert command.endswith(f" --output-format {name}\n")


def test_every_hazard_is_registered():
    finders = {
        one
        for module in modules("simulator/hazards").values()
        for name, one in inspect.getmembers(module, inspect.isfunction)
        if not name.startswith("_")
        and one.__module__ == module.__name__
        and [*inspect.signature(one).parameters] == ["facts"]
    }
    assert finders - {find_hazards} == set(HAZARDS)
    assert not only_once(HAZARDS)


def test_hazards_have_codes_of_their_own_that_are_described_and_tested():
    folder = PACKAGE / "simulator/hazards"
    written = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    codes = re.findall(r'"(KH\d{3})"', written)
    assert len(set(codes)) == len(HAZARDS)
    described = (ROOT / "docs/hazards.md").read_text(encoding="utf-8")
    assert not [code for code in codes if code not in described]
    tests = [*(UNIT / "simulator").rglob("*.py"), *(ROOT / "tests/golden").rglob("stdout")]
    told = "".join(path.read_text(encoding="utf-8") for path in tests)
    assert not [code for code in codes if code not in told]


def test_every_language_is_registered():
    """The LANGUAGE of a folder is in the table, and no two have a kind in common."""
    folders = [path.parent.name for path in (PACKAGE / "languages").glob("*/__init__.py")]
    packages = {name: importlib.import_module(f"kyvsim.languages.{name}") for name in folders}
    found = [name for name, one in packages.items() if "LANGUAGE" in vars(one)]
    assert sorted(found) == sorted(one.language for one in LANGUAGES)
    assert not only_once(kind for one in LANGUAGES for kind in one.kinds)


@pytest.mark.parametrize("one", LANGUAGES, ids=lambda one: one.language)
def test_modules_of_languages_have_what_the_table_says(one):
    """The table imports them by their names, which no type checker sees."""
    module, _, name = one.references.rpartition(".")
    for part, home in (("LANGUAGE", one.language), (name, module)):
        assert hasattr(importlib.import_module(f"kyvsim.languages.{home}"), part), home


CEL_FOLDERS = ("cel/libraries", "cel/kyverno")


@functools.cache
def names_in_cel():
    """Return the names of the functions that expressions of some kind of policy may call."""
    kinds = (f"{scope}{kind}" for kind in CEL_KINDS for scope in ("", "Namespaced"))
    environments = [kyverno_environment(kind, None, None) for kind in kinds]
    environments += [authorization_environment(mode, None) for mode in MODES.values()]
    return {name for one in environments for name in one.functions}


@pytest.mark.parametrize("folder", CEL_FOLDERS)
def test_every_library_of_cel_is_registered(folder):
    for name, module in modules(folder).items():
        offered = {one.name for library in values(module, Library) for one in library.functions}
        missing = offered - names_in_cel()
        assert not missing, name


@functools.cache
def words():
    """Return how often each word occurs in the package."""
    texts = (path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    return Counter(word for text in texts for word in re.findall(r"\w+", text))


@pytest.mark.parametrize("folder", CEL_FOLDERS)
def test_every_function_of_a_library_is_part_of_it(folder):
    """A function in a library's file that nothing names was written and forgotten."""
    for name, module in modules(folder).items():
        own = [one for one in vars(module).values() if inspect.isfunction(one)]
        defined = [one.__name__ for one in own if one.__module__ == module.__name__]
        assert not [one for one in defined if words()[one] < 2], name


def test_every_command_is_listed():
    commands = [
        name
        for name, module in modules("cli").items()
        if isinstance(getattr(module, "command", None), click.Command)
    ]
    assert sorted(map(module_of, COMMANDS)) == sorted(commands)
    for name in commands:
        assert importlib.import_module(f"kyvsim.cli.{name}").command.help


FOLDERS = (
    "languages/classic/rules",
    "engine/context/loaders",
    "jmespath/functions",
    "languages/classic/validation",
    "linting",
    "report",
)
DESCRIBED = [(folder, name) for folder in FOLDERS for name in modules(folder)]


@pytest.mark.parametrize(("folder", "name"), DESCRIBED)
def test_plugins_say_what_they_are(folder, name):
    assert modules(folder)[name].__doc__


def is_tested(folder, name):
    """Whether a module has a test file of its name, or its room a test that imports it."""
    room = folder.partition("/")[0]
    files = [*(UNIT / room).rglob("*.py"), *(ROOT / "tests/differential").glob("test_*.py")]
    if any(path.name == f"test_{name}.py" for path in files):
        return True
    imported = re.compile(rf"\b{re.escape(f'kyvsim.{folder}'.replace('/', '.'))}[. ].*\b{name}\b")
    return any(imported.search(path.read_text(encoding="utf-8")) for path in files)


def plugins():
    for name, module in modules("languages/classic/rules").items():
        if values(module, RuleType):
            yield "languages/classic/rules", name
    yield from (("engine/context/loaders", name) for name in LOADERS.values())


@pytest.mark.parametrize(("folder", "name"), sorted(plugins()))
def test_plugins_have_a_unit_test(folder, name):
    assert is_tested(folder, name)


def test_every_function_is_called_by_a_test():
    texts = "".join(
        path.read_text(encoding="utf-8")
        for folder in ("unit/jmespath", "differential")
        for path in (ROOT / "tests" / folder).rglob("*")
        if path.suffix in {".py", ".jsonl"}
    )
    shown = {one.name for one in functions().values() if one.examples}
    assert not [name for name in functions() if f"{name}(" not in texts and name not in shown]


def test_every_code_of_a_check_is_asked_for_by_a_test():
    codes = set()
    for path in (PACKAGE / "languages/classic/validation").glob("*.py"):
        codes |= set(re.findall(r'"(KV\d{3})"', path.read_text(encoding="utf-8")))
    texts = [*(UNIT / "languages").rglob("*.py"), *(ROOT / "tests/golden").rglob("stderr")]
    told = "".join(path.read_text(encoding="utf-8") for path in texts)
    assert not {code for code in codes if code not in told}


def test_every_function_of_cel_is_called_by_a_test():
    """Libraries of Kyverno's have some in two spellings: one of them is enough."""
    texts = "".join(
        path.read_text(encoding="utf-8").lower()
        for folder in ("unit/cel", "unit/languages", "differential")
        for path in (ROOT / "tests" / folder).rglob("*")
        if path.suffix in {".py", ".jsonl"}
    )
    names = [name for name in names_in_cel() if name.replace(".", "_").isidentifier()]
    assert not [name for name in sorted(names) if f"{name}(".lower() not in texts]
