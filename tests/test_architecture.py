"""The numbers and shapes that ARCHITECTURE.md promises hold for every file of the package.

What import-linter and ruff check already (layers, cycles, complexity, nesting, arguments) is not
checked again here. A bound is today's figure or the standard's, whichever is stricter; it may be
made stricter at any time and looser only with a reason.
"""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from itertools import chain, islice
from pathlib import Path

import pytest

from kyvsim.api.apply import open_application
from kyvsim.api.inputs import ApplyInputs

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "kyvsim"
FILES = sorted(PACKAGE.rglob("*.py"))
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)

LONGEST_MODULE = 1000

BROAD_EXCEPTS = {
    "kyvsim/load/policy.py": 1,
    "kyvsim/languages/__init__.py": 1,
    "kyvsim/linting/policies.py": 1,
    "kyvsim/engine/evaluate.py": 1,
    "kyvsim/engine/policy.py": 1,
    "kyvsim/migrate/convert.py": 1,
    "kyvsim/simulator/api_server/server.py": 1,
    "kyvsim/cli/main.py": 1,
    "kyvsim/fleet/files.py": 1,
    "kyvsim/api/process_pool.py": 2,
    "kyvsim/playground/evaluator.py": 1,
    "kyvsim/lsp/session.py": 1,
}
"""Faults become errors of what they are in: of a document as it is read, of a policy as it is
compiled or linted, of a policy on an object, of a rule that is evaluated or converted, of a request
to a simulated server. Then comes the last resort of the program; in the last libraries of storages
raise what they like. Whatever a task of a process raises is raised where its
result is wanted. What is typed into the playground ends no process,
and a document costs an editor nothing but itself."""

SLOW_OR_UNUSED = ("rich", "jinja2", "jsonschema", "jmespath", "yaml", "re2", "hypothesis", "pytest")


def name_of(path):
    return path.relative_to(ROOT).as_posix()


@cache
def nodes():
    """Return the nodes of every module, its own first, by path. Parsed once for all tests."""
    return {path: tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8")))) for path in FILES}


def dotted(node):
    """Return the name that an expression of names and attributes spells, or an empty text."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""


def test_modules_are_under_a_thousand_lines():
    lengths = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {name: length for name, length in lengths.items() if length > LONGEST_MODULE} == {}


def test_folders_hold_more_than_one_file():
    folders = {path.parent for path in FILES}
    assert not [name_of(folder) for folder in folders if len(list(folder.glob("*.py"))) < 2]


def test_modules_say_what_they_are():
    assert not [
        name_of(path) for path, (tree, *_) in nodes().items() if not ast.get_docstring(tree)
    ]


def is_broad(handler):
    caught = handler.type
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(
        name is None or getattr(name, "id", "") in {"Exception", "BaseException"} for name in names
    )


def test_faults_are_caught_in_one_place():
    found = {}
    for path, inside in nodes().items():
        count = sum(isinstance(node, ast.ExceptHandler) and is_broad(node) for node in inside)
        if count:
            found[name_of(path)] = count
    assert found == BROAD_EXCEPTS


MUTABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
MAKERS = {"list", "dict", "set", "defaultdict", "OrderedDict", "Counter", "deque", "bytearray"}


def names_given(statement):
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def is_mutable(value):
    if isinstance(value, ast.Call):
        return getattr(value.func, "id", getattr(value.func, "attr", "")) in MAKERS
    return isinstance(value, MUTABLE)


def is_read_only(statement):
    """Return whether the type checker refuses to change what a name holds."""
    annotation = ast.unparse(getattr(statement, "annotation", ast.Constant(None)))
    return re.fullmatch(r"((Final|ClassVar)\[)?Mapping\[.*", annotation) is not None


def state_of(inside):
    """Return the lists, dicts and sets at the top of a module or its classes, and each `global`.

    A dict that is declared as a Mapping is a constant.
    """
    bodies = [node.body for node in inside if isinstance(node, ast.Module | ast.ClassDef)]
    statements = [
        one for body in bodies for one in body if isinstance(one, ast.Assign | ast.AnnAssign)
    ]
    mutable = {
        name
        for statement in statements
        if is_mutable(statement.value) and not is_read_only(statement)
        for name in names_given(statement)
    }
    shared = {name for node in inside if isinstance(node, ast.Global) for name in node.names}
    return (mutable - {"__all__"}) | shared


def test_modules_hold_no_state():
    found = {name_of(path): state_of(inside) for path, inside in nodes().items()}
    assert {name: names for name, names in found.items() if names} == {}


def test_the_help_text_loads_nothing_slow():
    code = (
        "import sys, json; from kyvsim.cli.main import run; run(['--help']);"
        f"print(json.dumps([name for name in {SLOW_OR_UNUSED!r} if name in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert json.loads(done.stdout.splitlines()[-1]) == []


BEHIND_LANGUAGES = ("simulator", "chainsaw", "suite", "report", "api", "testing", "cli")
RAW = re.compile(r"\brule\.data\b|\bpolic(?:y|ies)\.spec\b|\b(?:own|owner|rule)\.spec\b")


def test_policies_are_asked_for_facts():
    """Behind the languages nobody reads what a rule or policy writes."""
    found = [
        f"{name_of(path)}: {line.strip()}"
        for room in BEHIND_LANGUAGES
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if RAW.search(line)
    ]
    assert found == []


FIELDS_OF_RULES = frozenset(
    {
        *("preconditions", "celPreconditions", "anyPattern", "deny", "foreach", "elementScope"),
        *("patchStrategicMerge", "patchesJson6902", "podSecurity", "verifyImages", "cloneList"),
        *("imageExtractors", "reportProperties", "failureActionOverrides", "generateExisting"),
        *("validationFailureAction", "validationFailureActionOverrides", "jmesPath", "attestors"),
        *("mutateExistingOnPolicyUpdate", "controlName", "restrictedField", "subjects"),
    }
)
"""Fields that rules have, and hardly anything else."""
READ_ELSEWHERE = {
    # What a template of these fields gives when it is filled in.
    "engine/context/loaders/api_call.py": {"jmesPath"},
    "engine/context/loaders/image_registry.py": {"jmesPath"},
    "languages/classic/rules/generate.py": {"cloneList"},
    "languages/classic/rules/mutate_foreach.py": {"patchStrategicMerge"},
    "languages/classic/rules/mutate_resource.py": {"patchStrategicMerge", "patchesJson6902"},
    # Fields of other documents: GlobalContextEntries, RBAC, policies in CEL, exceptions.
    "engine/context/cluster_api.py": {"subjects"},
    "engine/context/loaders/global_reference.py": {"jmesPath"},
    "load/policy.py": {"podSecurity"},
}
"""Files that read such fields from data, and why."""


def fields_read(path):
    """Yield the fields that a file reads: `data["a"]`, `data.get("a")`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Subscript(slice=ast.Constant(value=str(field)), ctx=ast.Load()):
                yield field
            case ast.Call(
                func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(field)), *_]
            ):
                yield field


def test_the_reader_alone_reads_the_fields_of_rules():
    """A field that one of several readers forgets is not noticed; nodes have types."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        fields = FIELDS_OF_RULES.intersection(fields_read(path))
        if fields and path.relative_to(PACKAGE).parts[0] != "policy":
            found[path.relative_to(PACKAGE).as_posix()] = fields
    assert found == READ_ELSEWHERE


def test_every_room_has_a_layer():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    named = {room.strip() for layer in layers for room in layer.split("|")}
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert named == rooms


def test_every_package_is_described():
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    packages = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert not {package for package in packages if f"**`{package}/`**" not in page}


def test_suppressions_have_a_reason():
    """A `noqa` names its rule and says why."""
    bare = [
        f"{name_of(path)}: {line.strip()}"
        for path in FILES
        for line in path.read_text(encoding="utf-8").splitlines()
        for found in re.findall(r"#\s*noqa(.*)$", line)
        if not re.match(r": [A-Z]+\d+(, ?[A-Z]+\d+)* [—-] \S", found)
    ]
    assert bare == []


OUTSIDE = {"time", "random", "secrets", "uuid", "os", "socket", "subprocess", "tempfile", "http"}
OUTSIDE_CALLS = {"open", "datetime.now", "datetime.today", "print"}
ROOMS_THAT_REACH_OUT = {"cli", "load", "api", "kubernetes/package_data.py"}
ROOMS_THAT_REACH_OUT |= {"testing", "fleet"}  # golden files; dumps and partial reports
ROOMS_THAT_REACH_OUT |= {"playground"}  # a server of this machine, and a wall against the rest
ROOMS_THAT_REACH_OUT |= {"lsp"}  # paths of an editor's files


def outside_of(inside):
    """Return the modules and calls of a module that reach out of the process."""
    found = set()
    for node in inside:
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names} & OUTSIDE
        elif isinstance(node, ast.ImportFrom):
            found |= {str(node.module).partition(".")[0]} & OUTSIDE
        elif isinstance(node, ast.Call):
            found |= {dotted(node.func)} & OUTSIDE_CALLS
    return found


def test_evaluation_reaches_the_world_through_its_ports():
    """No clock, no random numbers, no files: those come in by `model/ports.py`."""
    found = {}
    for path, inside in nodes().items():
        place = path.relative_to(PACKAGE)
        if not {place.parts[0], place.as_posix()} & ROOMS_THAT_REACH_OUT:
            found[place.as_posix()] = outside_of(inside)
    assert {name: names for name, names in found.items() if names} == {}


def cache_of(function):
    """Return what a function's results are kept by: its decorator's call or name, or None."""
    for decorator in function.decorator_list:
        name = ast.unparse(decorator).partition("(")[0].rpartition(".")[2]
        if name in {"cache", "lru_cache"}:
            return name, decorator
    return None


def test_caches_are_bounded():
    """A cache holds one value, made when first asked for, or has a size."""
    for node in chain.from_iterable(nodes().values()):
        found = cache_of(node) if isinstance(node, FUNCTION) else None
        if found is None:
            continue
        name, decorator = found
        arguments = [*node.args.args, *node.args.kwonlyargs, node.args.vararg]
        # As many results as there are booleans is a bound, too.
        takes_arguments = any(
            one is not None and ast.unparse(one.annotation or one) != "bool" for one in arguments
        )
        sizes = decorator.keywords if isinstance(decorator, ast.Call) else []
        unbounded = any(ast.unparse(size.value) == "None" for size in sizes)
        assert not unbounded, node.name
        assert name == "lru_cache" or not takes_arguments, node.name
        assert bool(sizes) or not takes_arguments, node.name


FIXED_ROOMS = ("jmespath", "engine", "languages")
WHEN_FILLED = "languages/classic/rules/patches.py"
"""Patches are compiled when their variables have values."""
MENAGERIE = ROOT / "fixtures/menagerie"


def test_nothing_fixed_is_parsed_again():
    """Objects like those that came before them are evaluated with what was compiled for those."""
    resources = str(MENAGERIE / "resources.yaml")
    inputs = ApplyInputs(
        (str(MENAGERIE / "policies.yaml"),),
        (resources, resources),
        values_file=str(MENAGERIE / "values.yaml"),
    )
    application = open_application(inputs)
    responses = iter(application.responses)
    half = application.resource_count // 2
    parsed = set()

    def see(frame, event, _):
        code = frame.f_code
        place, _, file = code.co_filename.rpartition("/kyvsim/")
        reads = code.co_name.startswith(("compile_", "_compile", "parse", "lower"))
        fixed = file.startswith(FIXED_ROOMS) and file != WHEN_FILLED
        if event == "call" and reads and place and fixed:
            parsed.add(f"{file}: {code.co_name}")

    assert len([*islice(responses, half)]) == half > 3
    sys.setprofile(see)
    try:
        assert len([*responses]) == half
    finally:
        sys.setprofile(None)
    assert not parsed


def test_the_order_of_stages_is_written_once():
    found = [
        name_of(path)
        for path, inside in nodes().items()
        for node in inside
        if isinstance(node, ast.Tuple | ast.List) and len(node.elts) > 2
        if all(dotted(one).startswith("Stage.") for one in node.elts)
    ]
    assert found == ["kyvsim/engine/evaluate.py"]


@pytest.mark.slow
def test_the_same_input_gives_the_same_bytes():
    """Two runs in which sets and dicts of texts are in other orders."""
    command = [
        sys.executable,
        "-m",
        "kyvsim",
        "apply",
        "policies",
        "fixtures/menagerie/policies.yaml",
    ]
    command += ["-r", "fixtures/resources", "-r", "fixtures/menagerie/resources.yaml", "-p"]
    outputs = {
        subprocess.run(
            command,
            cwd=ROOT,
            capture_output=True,
            check=False,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1
    assert len(outputs.pop()) > 1000


def test_no_module_of_the_product_is_called_as_a_test_is():
    names = [name_of(path) for path in FILES]
    assert not [name for name in names if re.match(r"test(_.*)?\.py$", name.rpartition("/")[2])]


@pytest.mark.slow
def test_tests_import_only_what_the_readme_installs():
    """`pip install '.[test]'` is all that the README's second command has."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    installed = {re.split(r"[^\w.-]", wish)[0].lower() for wish in wanted}
    distributions = packages_distributions()
    own = {path.stem for path in (ROOT / "tests").rglob("*.py")} | {PACKAGE.name}
    missing = set()
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            for name in {name.partition(".")[0] for name in names} - sys.stdlib_module_names - own:
                providers = {provider.lower() for provider in distributions.get(name, [name])}
                if not providers & installed:
                    missing.add(f"{name_of(path)}: {name}")
    assert not missing
