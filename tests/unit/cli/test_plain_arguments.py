"""What is read without click is what click reads, for each option of each command."""

from itertools import product

import click
import pytest

from kyvsim.cli.by_click import as_click
from kyvsim.cli.commands import called, named
from kyvsim.cli.declared import Call, Group, UsageError
from kyvsim.cli.front_page import COMMANDS
from kyvsim.cli.plain_arguments import read_plainly

pytestmark = pytest.mark.slow


def every_command():
    for name in COMMANDS:
        found = named(name)
        inner = found.commands.items() if isinstance(found, Group) else [("", found)]
        yield from ((f"{name} {word}".strip(), command) for word, command in inner)


EVERY = dict(every_command())
VALUES = ("7", "a,b", "", "-", "json", "TEXT", "-1", "2026-01-31T08:00:00Z", "75%", '"a,b",c', "²")
"""Some of which fit some options, and some none."""


def by_click(command, words):
    """Return click's values, or None where it or a callback finds a fault."""
    try:
        with as_click(command).make_context("x", list(words)) as context:
            return context.params
    except (click.ClickException, click.exceptions.Exit, UsageError):
        return None


def plainly(call, words):
    """The values that are read without click, None where they are not plain."""
    read = read_plainly(call, words)
    return read and read.values


def words_of(option):
    for name in option.spellings:
        yield [name]
        for value in VALUES:
            yield from ([name, value], [f"{name}={value}"])


@pytest.mark.parametrize("name", EVERY)
def test_plain_arguments_are_what_click_reads(name):
    command = EVERY[name]
    call = Call(f"kyvsim {name}", command)
    found = [
        (words, plainly(call, words), by_click(command, words))
        for option in command.parameters
        if option.is_option
        for one in words_of(option)
        for words in (one, ["p", *one, "q"])[: 1 + one[0].startswith("--")]
    ]
    found += [
        (words, plainly(call, words), by_click(command, words))
        for words in ([], ["p"], ["p", "--", "-x"], ["-"], ["--help"], ["--no"], [""], ["-xy"])
    ]
    assert not [one for one in found if one[1] is not None and one[1] != one[2]]
    # Where click has no fault, it is hardly ever asked.
    odd = [words for words, plain, whole in found if plain is None and whole is not None]
    assert len(odd) <= len(found) / 4, odd


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["apply", "p", "-r", "x", "--resource=y,z", "-t"], ("x", "y", "z")),
        (["apply", "p", "-r=x", "--table=true"], ("x",)),
    ],
)
def test_usual_arguments_are_plain(words, expected):
    call, rest = called(words)
    values = plainly(call, rest)
    assert call.path == "kyvsim apply"
    assert (values["policies"], values["resource"], values["table"]) == (("p",), expected, True)


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (["jp", "query", "a"], "kyvsim jp query"),
        (["jp"], None),
        (["jp", "nothing"], None),
        (["nothing"], None),
        (["--version"], None),
        ([], None),
    ],
)
def test_commands_are_called_by_their_first_words(words, path):
    found = called(words)
    assert (found and found[0].path) == path


def test_an_option_stands_before_or_behind_arguments():
    command = EVERY["lint"]
    call = Call("kyvsim lint", command)
    for words in product(["--strict", "p"], repeat=2):
        assert plainly(call, words) == by_click(command, words)
