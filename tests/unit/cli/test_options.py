import click
import pytest

from kyvsim.cli.options import GoSpelledCommand, list_option


@pytest.fixture
def parsed():
    """A function that parses arguments with a list `-r`, a flag `-t` and free arguments."""

    def parse(*arguments):
        found = {}

        @click.command(cls=GoSpelledCommand)
        @list_option("-r", "--resource", help="")
        @click.option("-t", "--table", is_flag=True)
        @click.argument("paths", nargs=-1)
        def command(**values):
            found.update(values)

        command.main(list(arguments), standalone_mode=False)
        return found["resource"], found["table"], found["paths"]

    return parse


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
def test_arguments(parsed, arguments, found):
    assert parsed(*arguments) == found
