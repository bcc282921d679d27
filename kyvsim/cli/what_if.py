"""Options that suppose something of the requests of a run: who asks, for what, and where."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from kyvsim.api.what_if import AS_GIVEN, WhatIf
from kyvsim.cli.options import list_option
from kyvsim.cli.parameters import Effect, bad_value, combined, option
from kyvsim.load.values import named_user
from kyvsim.model.request import Operation

_OPERATIONS = tuple(one.value for one in Operation)


def _labels(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> Any:
    """Return namespaces with labels; raise UsageError for what is no NAMESPACE:KEY=VALUE."""
    found: list[tuple[str, str, str]] = []
    for value in values:
        namespace, colon, texts = value.partition(":")
        pairs = [pair.partition("=") for pair in texts.split(",")]
        if not (namespace and colon and all(key and equals for key, equals, _ in pairs)):
            text = f"{value}: not of the form NAMESPACE:KEY=VALUE[,KEY=VALUE]"
            raise bad_value(ctx, param.opts[-1], text)
        found += [(namespace, key, label) for key, _, label in pairs]
    return tuple(found)


what_if_options = combined(
    option(
        "--as",
        "as_user",
        effect=Effect.NONE,
        default="",
        metavar="USER",
        help="Who sends the requests, by name.",
    ),
    option(
        "--as-group",
        effect=Effect.NONE,
        multiple=True,
        metavar="GROUP",
        help="A group of that user; may repeat.",
    ),
    option(
        "--operation",
        effect=Effect.NONE,
        type=click.Choice(_OPERATIONS),
        help="What is done to the resources.  [default: CREATE, or UPDATE of an --old-resource]",
    ),
    list_option(
        "--old-resource",
        "--old-resources",
        effect=Effect.NONE,
        help="The resources as they were before: those of the same name are updated.",
        paths=True,
    ),
    option(
        "--namespace-labels",
        effect=Effect.NONE,
        multiple=True,
        callback=_labels,
        metavar="NAMESPACE:KEY=VALUE",
        help="The labels of a namespace, whatever else says some; may repeat.",
    ),
    list_option(
        "--without-exception",
        "--without-exceptions",
        effect=Effect.NONE,
        help="Policy exceptions that do not count: NAME or NAMESPACE/NAME, * for all.",
    ),
)
"""Adds the options that suppose something of requests."""


def what_if_of(options: Mapping[str, Any], ctx: click.Context) -> WhatIf:
    """Return what the options suppose; raise UsageError where they contradict each other."""
    user, groups = options["as_user"], options["as_group"]
    operation = options["operation"]
    if groups and not user:
        raise click.UsageError("--as-group is about a user: give --as USER, too", ctx)
    if options["old_resource"] and operation not in {None, Operation.UPDATE.value}:
        text = f"--old-resource is for updates: it does not go with --operation {operation}"
        raise click.UsageError(text, ctx)
    if operation and any(one.startswith("request.operation=") for one in options["set_values"]):
        text = "say what is done either with --operation or with --set request.operation, not both"
        raise click.UsageError(text, ctx)
    named = None
    if user:
        named = named_user(user, groups)
    return AS_GIVEN._replace(
        user=named,
        operation=Operation(operation) if operation else None,
        old_resources=options["old_resource"],
        namespace_labels=options["namespace_labels"],
        without_exceptions=options["without_exception"],
    )
