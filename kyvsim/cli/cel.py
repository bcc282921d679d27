"""`kyvsim cel`: CEL expressions as Kyverno's policy kinds use them."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import click

from kyvsim.api.cel import (
    EXPRESSION_KINDS,
    REQUEST_KINDS,
    CelInputs,
    CelSession,
    compile_cel,
    evaluate_cel,
    open_cel,
    signatures,
    variables,
)
from kyvsim.cel import CelError, CompileError
from kyvsim.cli.command import Group
from kyvsim.cli.jp import read_lines, read_text, text_file_option
from kyvsim.cli.options import time_option
from kyvsim.cli.parameters import EVALUATION, INPUT, argument, offering, safe_option
from kyvsim.cli.streams import FAILED, OK, UNUSABLE, print_diagnostics, print_stderr, write_out
from kyvsim.kubernetes.go_text import to_json
from kyvsim.model.diagnostic import has_errors, likely
from kyvsim.report.formats import JSON, log_safe
from kyvsim.report.style import safe_text


@click.group(cls=Group)
def cel() -> None:
    """Check and evaluate CEL expressions with Kyverno's libraries."""


command = cel
_PLACE = "ERROR: <input>:"
"""The prefix of errors, before line and column."""
_kind = safe_option(
    "--kind",
    type=click.Choice(EXPRESSION_KINDS),
    default=EXPRESSION_KINDS[0],
    show_default=True,
    metavar="KIND",
    group=INPUT,
    help="Policy kind that defines the available variables and functions, such as "
    "ValidatingPolicy, NamespacedMutatingPolicy or ValidatingAdmissionPolicy; HTTP or "
    "Envoy for a ValidatingPolicy of that mode.",
)
_expressions = safe_option(
    "-e", "--expression", multiple=True, group=INPUT, help="Expression. Repeatable."
)
_arguments = argument("arguments", metavar="[EXPRESSION]...", nargs=-1)


@cel.command(short_help="Compile expressions and show their types.")
@_expressions
@_kind
@_arguments
def check(arguments: tuple[str, ...], expression: tuple[str, ...], kind: str) -> int:
    """Compile expressions and show their types or errors."""
    session = open_cel(CelInputs(kind))
    status = OK
    for text in _texts(arguments, expression):
        try:
            write_out([f"# {safe_text(text)}\n{compile_cel(text, session).type}\n"])
        except CompileError as error:
            print_stderr(_pointed(error))
            status = UNUSABLE
    return status


@cel.command(name="eval", short_help="Evaluate expressions on an object.")
@_expressions
@_kind
@text_file_option(
    "-r",
    "--resource",
    default="",
    help="Manifest of the object, or a request for --kind HTTP or Envoy; - for standard input.",
)
@safe_option(
    "--name",
    default="",
    metavar="[KIND/][NAMESPACE/]NAME",
    group=INPUT,
    help="Name of the object in the --resource file.",
)
@text_file_option("--context-file", default="", help="Data for context lookups, as in `apply`.")
@safe_option(
    "--namespace",
    default="default",
    show_default=True,
    metavar="NAME",
    group=INPUT,
    help="Namespace of the policy.",
)
@safe_option(
    "--now",
    callback=time_option,
    metavar="TIME",
    group=EVALUATION,
    help="Current time, in RFC 3339 format [default: system time].",
)
@text_file_option(
    "--batch", help='Read expressions from FILE (or -), one JSON object per line: {"expr": ...}.'
)
@_arguments
def evaluate(arguments: tuple[str, ...], expression: tuple[str, ...], **options: Any) -> int:
    """Evaluate expressions on an object and show their types and values.

    Numbers in the object are doubles, as in Kyverno's CLI. Values are shown as JSON.
    """
    batch = options.pop("batch")
    inputs = CelInputs(**options)
    if batch and (arguments or expression):
        raise click.UsageError("--batch reads its own expressions: remove the others")
    texts = () if batch else _texts(arguments, expression)
    if inputs.name and not inputs.resource:
        raise click.UsageError("--name selects an object in --resource: add --resource")
    if inputs.name and inputs.kind in REQUEST_KINDS:
        raise click.UsageError(f"--name selects an object, and {inputs.kind} evaluates one request")
    if batch == "-" and inputs.resource == "-":
        raise click.UsageError("standard input (-) can hold either lines or the resource, not both")
    session = open_cel(inputs, read_text("-").encode() if inputs.resource == "-" else None)
    print_diagnostics(session.diagnostics)
    if has_errors(session.diagnostics):
        return UNUSABLE
    if batch:
        write_out(_batch(read_lines(batch), session), JSON)
        return OK
    return max((_answer(text, session) for text in texts), default=OK)


def _texts(arguments: tuple[str, ...], options: tuple[str, ...]) -> tuple[str, ...]:
    texts = (*options, *arguments)
    if not texts:
        raise click.UsageError("no expression given: pass it as an argument or with -e")
    if not all(map(str.strip, texts)):
        raise click.UsageError("an expression is empty")
    return texts


def _pointed(error: CompileError) -> str:
    """Return the errors of an expression, with positions and carets."""
    if not error.issues:
        return f"error: {error.listing or error}"
    return error.listing.replace(_PLACE, "error: ")


def _answer(text: str, session: CelSession) -> int:
    try:
        value = evaluate_cel(compile_cel(text, session), session)
    except CompileError as error:
        print_stderr(_pointed(error))
        return UNUSABLE
    except CelError as error:
        print_stderr(f"error: {text}: {error}")
        return FAILED
    write_out([f"# {safe_text(text)}\n{value.type} {log_safe(value.text, JSON)}\n"])
    return OK


def _batch(lines: Iterable[str], session: CelSession) -> Iterator[str]:
    """Yield `{"type": …, "value": …}` or `{"error": …}` for each line, in order."""
    for line in lines:
        try:
            text = json.loads(line)["expr"]
            value = evaluate_cel(compile_cel(text, session), session)
            yield f'{{"type":{to_json(value.type)},"value":{value.text}}}\n'
        except CompileError as error:
            yield f'{{"error":{to_json(error.listing or str(error))}}}\n'
        except CelError as error:
            yield f'{{"error":{to_json(str(error))}}}\n'
        except (KeyError, TypeError, AttributeError, ValueError):
            yield '{"error":"a line must be an object with a string `expr`"}\n'


@cel.command()
@_kind
@argument(
    "names",
    metavar="[NAME]...",
    nargs=-1,
    shell_complete=offering(lambda _: dict(signatures(EXPRESSION_KINDS[0]))),
)
def functions(names: tuple[str, ...], kind: str) -> int:
    """Show the variables and functions of a policy kind."""
    known = dict(signatures(kind))
    unknown = [name for name in names if name not in known]
    if not names:
        write_out(f"{name}: {type_name}\n" for name, type_name in variables(kind).items())
    write_out(f"{spelled}\n" for name in names or known for spelled in known.get(name, ()))
    for name in unknown:
        print_stderr(f"error: {kind} has no function `{name}`{likely(name, known)}")
    return UNUSABLE if unknown else OK
