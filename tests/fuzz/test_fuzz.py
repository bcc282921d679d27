"""A slice of the fuzzer's inputs, and all that were ever found: no command dies of its input."""

import pytest
from commands import COMMANDS
from inputs import Source
from replaced import COMMANDS as ON_REPLACED
from replaced import FOLDERS, TOGETHER, findings, sample
from run import found_before, problem_of

pytestmark = pytest.mark.slow

SLICE = range(2)
"""Seeds of each command; `python tests/fuzz/run.py --count N` runs as many as one has time for."""


@pytest.fixture(scope="module")
def source():
    return Source()


@pytest.mark.parametrize("what", COMMANDS)
@pytest.mark.parametrize("seed", SLICE)
def test_no_command_dies_of_its_input(source, seed, what):
    assert problem_of(source.make(seed, what)) == ""


@pytest.mark.parametrize("command", ON_REPLACED, ids=" ".join)
def test_no_command_dies_of_a_node_of_another_type(command):
    made = sample(0, 600, *FOLDERS)
    parts = (made[start : start + TOGETHER] for start in range(0, len(made), TOGETHER))
    assert [one for part in parts for one in findings(command, part)] == []


def test_a_seed_makes_the_same_input_again(source):
    assert source.make(7) == Source().make(7)


@pytest.mark.parametrize("one", tuple(found_before()), ids=lambda one: one.name)
def test_what_was_found_stays_mended(one):
    assert problem_of(one) == ""
