"""Options that suppose something of the requests of a run: who asks, for what, and where."""

from collections.abc import Mapping, Sequence
from typing import Any

from kyvsim.api.what_if import AS_GIVEN, WhatIf
from kyvsim.cli import declared
from kyvsim.cli.options import list_option
from kyvsim.model.request import Operation

_OPERATIONS = tuple(one.value for one in Operation)


def _labels(call: declared.Call, spelled: str, values: Sequence[str]) -> Any:
    """Return namespaces with labels; raise UsageError for what is no NAMESPACE:KEY=VALUE."""
    found: list[tuple[str, str, str]] = []
    for value in values:
        namespace, colon, texts = value.partition(":")
        pairs = [pair.partition("=") for pair in texts.split(",")]
        if not (namespace and colon and all(key and equals for key, equals, _ in pairs)):
            text = f"{spelled} {value}: not of the form NAMESPACE:KEY=VALUE[,KEY=VALUE]"
            raise declared.UsageError(text, call)
        found += [(namespace, key, label) for key, _, label in pairs]
    return tuple(found)


what_if_options = declared.options(
    declared.option(
        "--as", "as_user", default="", metavar="USER", help="Who sends the requests, by name."
    ),
    declared.option(
        "--as-group", multiple=True, metavar="GROUP", help="A group of that user; may repeat."
    ),
    declared.option(
        "--operation",
        type=declared.Choice(_OPERATIONS),
        help="What is done to the resources.  [default: CREATE, or UPDATE of an --old-resource]",
    ),
    list_option(
        "--old-resource",
        "--old-resources",
        help="The resources as they were before: those of the same name are updated.",
        paths=True,
    ),
    declared.option(
        "--namespace-labels",
        multiple=True,
        callback=_labels,
        metavar="NAMESPACE:KEY=VALUE",
        help="The labels of a namespace, whatever else says some; may repeat.",
    ),
    list_option(
        "--without-exception",
        "--without-exceptions",
        help="Policy exceptions that do not count: NAME or NAMESPACE/NAME, * for all.",
    ),
)
"""Adds the options that suppose something of requests."""


def what_if_of(options: Mapping[str, Any], call: declared.Call) -> WhatIf:
    """Return what the options suppose; raise UsageError where they contradict each other."""
    user, groups = options["as_user"], options["as_group"]
    operation = options["operation"]
    if groups and not user:
        raise declared.UsageError("--as-group is about a user: give --as USER, too", call)
    if options["old_resource"] and operation not in {None, Operation.UPDATE.value}:
        text = f"--old-resource is for updates: it does not go with --operation {operation}"
        raise declared.UsageError(text, call)
    if operation and any(one.startswith("request.operation=") for one in options["set_values"]):
        text = "say what is done either with --operation or with --set request.operation, not both"
        raise declared.UsageError(text, call)
    named = None
    if user:
        from kyvsim.load.values import named_user  # noqa: PLC0415 — seldom asked for

        named = named_user(user, groups)
    return AS_GIVEN._replace(
        user=named,
        operation=Operation(operation) if operation else None,
        old_resources=options["old_resource"],
        namespace_labels=options["namespace_labels"],
        without_exceptions=options["without_exception"],
    )
