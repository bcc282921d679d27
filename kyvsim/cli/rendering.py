"""Charts and kustomizations as resources, rendered by the programs that do so."""

from collections.abc import Iterator, Mapping
from typing import Any

import click

from kyvsim.cli.options import list_option
from kyvsim.cli.parameters import Effect, combined
from kyvsim.load.files import Source
from kyvsim.load.rendered import RenderError, rendered_chart, rendered_kustomization

rendering_options = combined(
    list_option(
        "--helm",
        effect=Effect.RUNS,
        help="Helm charts, rendered by `helm template`, as resources.",
        paths=True,
    ),
    list_option("--helm-values", effect=Effect.NONE, help="Values for these charts.", paths=True),
    list_option(
        "--kustomize",
        effect=Effect.RUNS,
        help="Kustomizations, rendered by `kustomize build` or `kubectl kustomize`, as resources.",
        paths=True,
    ),
)
"""Adds the options."""


def is_rendered(options: Mapping[str, Any]) -> bool:
    """Return whether something is to be rendered."""
    return bool(options["helm"] or options["kustomize"])


def rendered(options: Mapping[str, Any], ctx: click.Context) -> tuple[Source, ...]:
    """Return the manifests of what is to be rendered; raises CommandError with what went wrong."""
    if options["helm_values"] and not options["helm"]:
        raise click.UsageError("--helm-values goes with --helm", ctx)
    if not is_rendered(options):
        return ()
    try:
        return tuple(_rendered(options))
    except RenderError as error:
        raise click.ClickException(str(error)) from None


def _rendered(options: Mapping[str, Any]) -> Iterator[Source]:
    for chart in options["helm"]:
        yield from rendered_chart(chart, options["helm_values"])
    for folder in options["kustomize"]:
        yield from rendered_kustomization(folder)
