"""Charts and kustomizations as resources, rendered by the programs that do so."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kyvsim.cli import declared
from kyvsim.cli.options import list_option

if TYPE_CHECKING:
    from kyvsim.load.files import Source

rendering_options = declared.options(
    list_option(
        "--helm", help="Helm charts, rendered by `helm template`, as resources.", paths=True
    ),
    list_option("--helm-values", help="Values for these charts.", paths=True),
    list_option(
        "--kustomize",
        help="Kustomizations, rendered by `kustomize build` or `kubectl kustomize`, as resources.",
        paths=True,
    ),
)
"""Adds the options."""


def is_rendered(options: Mapping[str, Any]) -> bool:
    """Return whether something is to be rendered."""
    return bool(options["helm"] or options["kustomize"])


def rendered(options: Mapping[str, Any], call: declared.Call) -> "tuple[Source, ...]":
    """Return the manifests of what is to be rendered; raises CommandError with what went wrong."""
    if options["helm_values"] and not options["helm"]:
        raise declared.UsageError("--helm-values goes with --helm", call)
    if not is_rendered(options):
        return ()
    from kyvsim.load.rendered import RenderError  # noqa: PLC0415 — seldom asked for

    try:
        return tuple(_rendered(options))
    except RenderError as error:
        raise declared.CommandError(str(error)) from None


def _rendered(options: Mapping[str, Any]) -> "Iterator[Source]":
    from kyvsim.load.rendered import (  # noqa: PLC0415 — seldom asked for
        rendered_chart,
        rendered_kustomization,
    )

    for chart in options["helm"]:
        yield from rendered_chart(chart, options["helm_values"])
    for folder in options["kustomize"]:
        yield from rendered_kustomization(folder)
