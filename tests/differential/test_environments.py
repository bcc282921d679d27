"""Which expressions compile in which kind of policy, against Kyverno 1.19.0's recorded answers.

`record_environments.py` asks again.
"""

import json

import pytest
import record_environments as recorder
from recorded import recorded

from kyvsim.api.system import own_system
from kyvsim.engine.compile import CompileOptions
from kyvsim.languages import READERS
from kyvsim.languages.cel.compile import problems_of
from kyvsim.load.documents import STRICT, read_documents
from kyvsim.load.policy import load_policies

ROWS = recorded("environments.jsonl")
EXPRESSIONS = [row["expression"] for row in ROWS]


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """Return what gives the first error of each expression that a kind of policy refuses."""
    folder = tmp_path_factory.mktemp("policies")

    def ask(kind):
        file = folder / "policy.json"
        file.write_text(json.dumps(recorder.policy(kind, EXPRESSIONS)))
        documents, _ = read_documents([str(file)], None, STRICT)
        (policy,), _ = load_policies(documents, READERS)
        problems = problems_of(policy, CompileOptions(own_system()))
        told = (one for one in problems if one.path[1] == "variables")
        return {one.path[2]: recorder.first_error(one.message) for one in told}

    return ask


@pytest.mark.parametrize("kind", recorder.KINDS)
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
