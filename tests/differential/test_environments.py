"""Which expressions compile in which kind of policy, against Kyverno 1.19.0's recorded answers.

`record_environments.py` asks again.
"""

import importlib.util
import json
from pathlib import Path

import pytest

from kyvsim.api.system import own_system
from kyvsim.compile import CompileOptions
from kyvsim.languages import READERS
from kyvsim.languages.cel import expression_problems
from kyvsim.load.documents import STRICT, read_documents
from kyvsim.load.policy import load_policies

HERE = Path(__file__)
ROWS = [
    json.loads(line)
    for line in HERE.with_name("environments.jsonl").read_text("utf-8").splitlines()
]
EXPRESSIONS = [row["expression"] for row in ROWS]


def recorder():
    file = HERE.with_name("record_environments.py")
    spec = importlib.util.spec_from_file_location("record_environments", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RECORDER = recorder()


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """Return what gives the first error of each expression that a kind of policy refuses."""
    folder = tmp_path_factory.mktemp("policies")

    def ask(kind):
        file = folder / "policy.json"
        file.write_text(json.dumps(RECORDER.policy(kind, EXPRESSIONS)))
        documents, _ = read_documents([str(file)], None, STRICT)
        (policy,), _ = load_policies(documents, READERS)
        problems = expression_problems(policy, CompileOptions(own_system()))
        told = (one for one in problems if one.path[1] == "variables")
        return {one.path[2]: RECORDER.first_error(one.message) for one in told}

    return ask


@pytest.mark.parametrize("kind", RECORDER.KINDS)
def test_what_compiles_in_a_kind_of_policy(refused, kind):
    found = refused(kind)
    expected = {
        index: row["refused"][kind] for index, row in enumerate(ROWS) if kind in row["refused"]
    }
    differing = {
        EXPRESSIONS[index]: (found.get(index), expected.get(index))
        for index in sorted(found.keys() | expected.keys())
        if found.get(index) != expected.get(index)
    }
    assert differing == {}
