"""`kyvsim schema`: JSON Schemas for editors."""

import json
from collections.abc import Iterator
from typing import Any

import click

from kyvsim.api.schemas import UnknownKindError, known_schemas, schema_of
from kyvsim.cli.command import Command
from kyvsim.cli.parameters import argument, offering
from kyvsim.cli.streams import OK, write_out
from kyvsim.report.formats import JSON

_HELP = """Print the JSON Schema of a resource kind.

KIND is a kind such as ClusterPolicy, optionally with its apiVersion: kyverno.io/v2/PolicyException.
Without KIND, all kinds are listed. For .kyvsim.yaml, use `kyvsim config --schema`.

\b
    kyvsim schema ClusterPolicy > clusterpolicy.schema.json
    kyvsim schema cli.kyverno.io/v1alpha1/Test > kyverno-test.schema.json
"""


def _names() -> Iterator[str]:
    """Yield the names of kinds, without and with their apiVersion."""
    known = sorted(known_schemas())
    yield from dict.fromkeys(name.rpartition("/")[2] for name in known)
    yield from known


@click.command("schema", cls=Command, help=_HELP)
@argument("kinds", nargs=-1, metavar="[KIND]", shell_complete=offering(lambda _: _names()))
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Run `kyvsim schema` and return its exit status."""
    kinds = options["kinds"]
    if not kinds:
        write_out(f"{name}\n" for name in sorted(known_schemas()))
        return OK
    if len(kinds) > 1:
        raise click.UsageError("one schema is printed at a time: name one kind", ctx)
    try:
        schema = schema_of(kinds[0])
    except UnknownKindError as error:
        raise click.UsageError(str(error), ctx) from None
    write_out([json.dumps(schema, indent=2), "\n"], JSON)
    return OK
