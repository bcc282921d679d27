import pytest

from kyvsim.cli import declared
from kyvsim.cli.by_click import as_click
from kyvsim.cli.options import list_option
from kyvsim.cli.plain_arguments import read_plainly


@pytest.fixture
def command():
    """A command with a list `-r`, a flag `-t` and free arguments."""

    @declared.command(spelled_as_in_go=True)
    @list_option("-r", "--resource", help="")
    @declared.option("-t", "--table", is_flag=True)
    @declared.argument("paths", nargs=-1)
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
    values = as_click(command).main(list(arguments), standalone_mode=False)
    assert (values["resource"], values["table"], values["paths"]) == found
    assert read_plainly(declared.Call("kyvsim", command), arguments) in (
        values,
        None if "--" in arguments else values,
    )
