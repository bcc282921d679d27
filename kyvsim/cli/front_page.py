"""The page that `kyvsim --help` shows: what the program is for, and its commands."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "apply": "Apply policies to resources and show what they do.",
        "cel": "Work with CEL expressions as Kyverno's policy kinds use them.",
        "chainsaw": "Run chainsaw tests on a simulated cluster.",
        "completion": "Print the script by which a shell completes words.",
        "config": "Show what a configuration and variables set, and from where.",
        "diff": "Show what two sets of policies say otherwise of the same resources.",
        "equal": "Compare two sets of policies by cases made of what they mention.",
        "examples": "Make small manifests that pass and fail each rule, to begin tests with.",
        "explain": "Show how policies come to what they say of resources, step by step.",
        "jp": "Work with JMESPath expressions as policies use them.",
        "lint": "Check policies without resources and show all that is wrong with them.",
        "lsp": "Speak the Language Server Protocol, for editors.",
        "man": "Print the manual page.",
        "migrate": "Convert policies with rules to policies in CEL.",
        "playground": "Serve a page of this machine on which policies are tried while one types.",
        "report": "Show what partial reports of spread runs make up.",
        "rule": "Show what the code of a remark means, with a bad and a good example.",
        "schema": "Print the JSON Schema of a kind of file, for editors.",
        "simulate": "Play policies on a simulated cluster and show what happens, and when.",
        "test": "Run tests of policies: manifests that say what policies are expected to do.",
        "version": "Show the version.",
    }
)
"""Commands and what they do."""

PURPOSE = "Evaluate Kyverno policies offline: verdicts, mutated and generated resources."

ASKED_BY = frozenset({("--help",), ("-h",)})
"""The arguments that ask for this page and nothing else."""

_OPTIONS = (
    ("--version", "Show the version and exit."),
    ("--config FILE", "Read settings from this file instead of a discovered .kyvsim.yaml."),
    ("--no-config", "Do not read a configuration file."),
    ("-h, --help", "Show this message and exit."),
)
_USUAL_WIDTH = 80
_LEAST_WIDTH = 50


def page_width() -> int:
    """Return how wide the page is, as click has it: two less than the terminal, within limits."""
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() else 0
    if width <= 0:
        try:
            width = os.get_terminal_size(sys.__stdout__.fileno()).columns if sys.__stdout__ else 0
        except (OSError, ValueError, AttributeError):
            width = 0
    return max(min(width or _USUAL_WIDTH, _USUAL_WIDTH) - 2, _LEAST_WIDTH)


def front_page(width: int) -> str:
    """Return the page, whose lines are at most `width` wide.

    It is written without click, which takes longer to load than all the rest of showing it.
    """
    lines = (
        "Usage: kyvsim [OPTIONS] COMMAND [ARGS]...",
        "",
        *_wrapped(PURPOSE, "  ", "  ", width),
        "",
        "Options:",
        *_entries(_OPTIONS, width),
        "",
        "Commands:",
        *_entries(COMMANDS.items(), width),
    )
    return "\n".join(lines)


def _entries(entries: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    """Yield names in a column and what they mean beside them."""
    entries = tuple(entries)
    column = max(len(name) for name, _ in entries) + 4
    for name, text in entries:
        yield from _wrapped(text, f"  {name}".ljust(column), " " * column, width)


def _wrapped(text: str, first: str, other: str, width: int) -> Iterator[str]:
    """Yield the lines of a text of which no word is longer than a line."""
    line = first
    indent = len(first)
    for word in text.split():
        if len(line) > indent and len(line) + 1 + len(word) > width:
            yield line
            line = other
        line = f"{line} {word}" if len(line) > indent else f"{line}{word}"
    yield line
