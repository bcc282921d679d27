import click
import pytest

from kyvsim.cli.apply import command as apply
from kyvsim.cli.command import Command
from kyvsim.cli.options import list_option
from kyvsim.cli.parameters import Effect, argument, option
from kyvsim.fleet.partials import FORMATS
from kyvsim.fleet.work import ClusterGrouping

_FLEETS = {"partials_format": FORMATS, "cluster_per": ClusterGrouping}
"""What is written out in the options, since a start does not load fleets."""


@pytest.fixture
def command():
    """A command with a list `-r`, a flag `-t` and free arguments."""

    @click.command(cls=Command, go_spelling=True)
    @list_option("-r", "--resource", effect=Effect.NONE)
    @option("-t", "--table", effect=Effect.NONE, is_flag=True)
    @argument("paths", nargs=-1)
    def command(**values):
        return values

    return command


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["-r", "a,b", "-r", "c"], (("a", "b", "c"), False, ())),
        (["-r", '"a,b",c'], (("a,b", "c"), False, ())),
        (["-r", ""], ((), False, ())),
        (["-r=a"], (("a",), False, ())),
        (["--resource=a,b", "p", "-t"], (("a", "b"), True, ("p",))),
        (["--table=true", "p"], ((), True, ("p",))),
        (["--table=false", "-t=0"], ((), False, ())),
        (["-t=TRUE"], ((), True, ())),
        (["--", "--table=true", "-r=a"], ((), False, ("--table=true", "-r=a"))),
    ],
)
def test_arguments(command, arguments, found):
    values = command.main(list(arguments), standalone_mode=False)
    assert (values["resource"], values["table"], values["paths"]) == found


def test_choices_of_fleets_are_those_that_fleets_know():
    options = [one for one in apply.params if one.name in _FLEETS]
    choices = {one.name: tuple(one.type.choices) for one in options}
    assert choices == {name: tuple(known) for name, known in _FLEETS.items()}
