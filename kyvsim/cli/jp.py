"""`kyvsim jp`: JMESPath expressions as policies use them.

upstream: cmd/cli/kubectl-kyverno/commands/jp; same arguments, same standard output.
"""

import json
import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final

import click

from kyvsim.api.system import own_system
from kyvsim.cli.command import Group
from kyvsim.cli.options import list_option
from kyvsim.cli.parameters import (
    INPUT,
    OUTPUT,
    Options,
    argument,
    flag_option,
    offering,
    safe_option,
)
from kyvsim.cli.streams import FAILED, OK, UNUSABLE, print_stderr, read_stdin, write_out
from kyvsim.jmespath import QueryError, QuerySyntaxError, System, compile_query
from kyvsim.jmespath.functions import functions
from kyvsim.jmespath.show_tree import show_tree
from kyvsim.kubernetes.go_text import to_json
from kyvsim.kubernetes.objects import TOO_DEEP, Json, is_too_deep, may_be_too_deep
from kyvsim.load.files import TOO_LARGE, read_bytes
from kyvsim.model.diagnostic import likely
from kyvsim.model.ports import BudgetError
from kyvsim.report.formats import JSON
from kyvsim.report.style import safe_line, safe_text
from kyvsim.yaml.document import YamlError
from kyvsim.yaml.text import load_one

_ODD: Final = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
"""Characters that are valid in JSON, but unsafe on terminals."""
_JSON_TOKEN: Final = re.compile(r'"(?:\\.|[^"\\]++)*+"|\[\]|\{\}|[][{}:,]|[^][{}:,"]+')


@click.group(cls=Group, context_settings={"max_content_width": 100})
def jp() -> None:
    """Parse and evaluate JMESPath expressions with Kyverno's functions."""


command = jp
text_file_option = partial(safe_option, metavar="FILE", group=INPUT)


@jp.command(short_help="Show the signatures of functions.")
@argument("names", metavar="[NAME]...", nargs=-1, shell_complete=offering(lambda _: functions()))
def function(names: tuple[str, ...]) -> int:
    """Show the functions with their arguments, results and descriptions."""
    chosen = [record for record in functions().values() if not names or record.name in names]
    for record in sorted(chosen, key=lambda record: record.signature):
        note = f"  Note:      {record.note}\n" if record.note else ""
        write_out([f"Name: {record.name}\n  Signature: {record.signature}\n{note}\n"])
    unknown = [name for name in names if name not in functions()]
    for name in unknown:
        print_stderr(f"error: unknown function `{safe_line(name)}`{likely(name, functions())}")
    return UNUSABLE if unknown else OK


@jp.command()
@list_option("-f", "--file", metavar="FILE", group=INPUT, help="Read an expression from a file.")
@argument("expressions", metavar="[EXPRESSION]...", nargs=-1)
def parse(file: tuple[str, ...], expressions: tuple[str, ...]) -> int:
    """Show the syntax trees of expressions."""
    texts = [*expressions, *map(read_text, file)]
    try:
        for text in texts or [_prompted("a jmespath expression")]:
            write_out([safe_text(f"# {text}\n{show_tree(text)}\n")])
    except QuerySyntaxError as error:
        print_stderr(f"Error: {_pointed(error)}")
        return UNUSABLE
    return OK


@jp.command()
@text_file_option("-i", "--input", "source", help="Read the input from a JSON or YAML file.")
@list_option("-q", "--query", metavar="FILE", group=INPUT, help="Read a query from a file.")
@flag_option("-c", "--compact", group=OUTPUT, help="Print compact JSON.")
@flag_option("-u", "--unquoted", group=OUTPUT, help="Print a string result without quotes.")
@text_file_option(
    "--batch",
    help='Read queries from FILE (or -), one JSON object per line: {"expr": ..., "input": ...}.',
)
@argument("queries", metavar="[QUERY]...", nargs=-1)
def query(queries: tuple[str, ...], query: tuple[str, ...], **options: Any) -> int:
    """Evaluate queries on a JSON or YAML input."""
    system = own_system()
    texts = [*queries, *map(read_text, query)]
    source, batch = options["source"], options["batch"]
    if batch:
        if texts or source:
            raise click.UsageError("--batch reads its own queries and inputs: remove the others")
        write_out(_batch_answers(read_lines(batch), system), JSON)
        return OK
    if not texts and not source:
        raise click.UsageError("at least one query or input object is required")
    data = _data(read_text(source), source) if source else None
    if not texts:
        texts = [_prompted("a jmespath expression")]
    if not source:
        data = _data(_prompted("input object"), "-")
    for text in texts:
        status = _answer(text, data, system, options)
        if status != OK:
            return status
    return OK


def _answer(text: str, data: object, system: System, options: Options) -> int:
    try:
        result = compile_query(text, system).evaluate(data)
    except QuerySyntaxError as error:
        print_stderr(f"Error: failed to compile JMESPath: {text}, error: {_pointed(error)}")
        return UNUSABLE
    except (QueryError, BudgetError) as error:
        message = error.message if isinstance(error, QueryError) else error
        print_stderr(f"Error: error evaluating JMESPath expression: {message}")
        return FAILED
    write_out([f"# {safe_text(text)}\n"])
    if options["unquoted"] and result.__class__ is str:
        write_out([f"{safe_text(result)}\n"])
        return OK
    try:
        shown = to_json(result)
    except ValueError as error:
        print_stderr(f"Error: error marshalling result to JSON: {error}")
        return FAILED
    shown = _ODD.sub(lambda found: f"\\u{ord(found[0]):04x}", shown)
    write_out([f"{shown if options['compact'] else _indented(shown)}\n"], JSON)
    return OK


def _batch_answers(lines: Iterable[str], system: System) -> Iterator[str]:
    """Yield `{"output": …}` or `{"error": …}` for each line, in order."""
    for line in lines:
        try:
            system.meter.begin_rule()
            case = json.loads(line, parse_int=float)
            if may_be_too_deep(line.count("[") + line.count("{")) and is_too_deep(case):
                yield f'{{"error":{to_json(TOO_DEEP)}}}\n'
                continue
            result = compile_query(case["expr"], system).evaluate(case.get("input"))
            yield f'{{"output":{to_json(result)}}}\n'
        except RecursionError:
            yield f'{{"error":{to_json(TOO_DEEP)}}}\n'
        except (QueryError, BudgetError, ValueError) as error:
            yield f'{{"error":{to_json(str(error))}}}\n'
        except (KeyError, TypeError, AttributeError):
            yield '{"error":"a line must be an object with a string `expr`"}\n'


def read_text(name: str) -> str:
    """Return the text of a file, `-` for standard input; raises ClickException."""
    try:
        raw = read_stdin() if name == "-" else read_bytes(name)
        if raw is None:
            raise click.ClickException(f"failed to read file {safe_line(name)}: {TOO_LARGE}")
        return raw.decode()
    except UnicodeDecodeError:
        raise click.ClickException(f"failed to read file {name}: invalid UTF-8") from None
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or error
        raise click.ClickException(f"failed to read file {name}: {cause}") from None


def read_lines(name: str) -> list[str]:
    """Return the non-blank lines of a file; raises ClickException if there are none."""
    lines = [line for line in read_text(name).split("\n") if line.strip()]
    if not lines:
        raise click.ClickException(f"{_shown(name)} is empty: it must have at least one line")
    return lines


def _shown(name: str) -> str:
    return "standard input" if name == "-" else safe_line(name)


def _prompted(what: str) -> str:
    write_out([f"Reading from terminal input.\nEnter {what} and hit Ctrl+D.\n"])
    return read_text("-")


def _data(text: str, name: str) -> Json:
    try:
        data = load_one(text, floats=True)
    except YamlError as error:
        raise click.ClickException(f"error parsing input json: {error}") from None
    if data is None and all(
        line.strip() in {"", "---", "..."} or line.lstrip().startswith("#")
        for line in text.splitlines()
    ):
        raise click.ClickException(f"{_shown(name)} is empty: it must have an input object")
    return data


def _pointed(error: QuerySyntaxError) -> str:
    """Return the message, with a caret below the position."""
    before = error.expression[: error.offset]
    line = error.expression.split("\n")[before.count("\n")]
    column = len(before) - before.rfind("\n") - 1
    return f"{error.message}\n{line}\n{' ' * column}^"


def _indented(text: str) -> str:
    """Return compact JSON with line breaks and indentation; escapes are preserved."""
    pieces: list[str] = []
    depth = 0
    for piece in _JSON_TOKEN.findall(text):
        if piece in {"[", "{"}:
            depth += 1
        elif piece in {"]", "}"}:
            depth -= 1
            pieces.append(f"\n{'  ' * depth}")
        pieces.append(": " if piece == ":" else piece)
        if piece in {"[", "{", ","}:
            pieces.append(f"\n{'  ' * depth}")
    return "".join(pieces)
