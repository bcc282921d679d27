"""Options of `kyvsim apply` that spread a run: which of them go together."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import click

from kyvsim.cli.fleet_views import WHOLE
from kyvsim.cli.report_files import Chosen
from kyvsim.report.look import Show


def check_fleet(options: Mapping[str, Any], chosen: Chosen, ctx: click.Context) -> None:
    """Raise UsageError where options do not go together."""
    engine, partials = options["engine"], options["partials"]
    for name in ("scheduler", "partials_format", "resume", "cluster_per", "piece_size"):
        if options[name] and not (engine or partials):
            text = "is for runs that are spread: give --engine or --partials, too"
            raise click.UsageError(f"--{name.replace('_', '-')} {text}", ctx)
    if engine == "dask" and not options["scheduler"]:
        text = "--engine dask needs --scheduler ADDRESS, as tcp://127.0.0.1:8786"
        raise click.UsageError(text, ctx)
    if options["scheduler"] and engine != "dask":
        raise click.UsageError("--scheduler is for --engine dask", ctx)
    for name in ("resume", "partials_format"):
        if options[name] and not partials:
            spelled = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{spelled} is about partial reports: give --partials", ctx)
    _refuse(options, ctx)
    others = [name for name in (chosen.shown, *dict(chosen.files)) if name not in WHOLE]
    if others or chosen.files:
        what = f"--output-format {(others or [chosen.files[0][0] + '=FILE'])[0]}"
        text = f"does not go with --engine and --partials: these write one of {', '.join(WHOLE)}"
        raise click.UsageError(f"{what} {text}", ctx)


_REFUSED: Final = MappingProxyType(
    {
        "table": "--table",
        "policy_report": "--policy-report",
        "stdin": "--stdin",
        "diff": "--diff",
        "output": "--output",
        "explain": "--explain",
        "check_idempotent": "--check-idempotent",
        "exceptions_with_resources": "--exceptions-with-resources",
        "json_files": "--json",
        "http_payload": "--http-payload",
        "envoy_payload": "--envoy-payload",
        "old_resource": "--old-resource",
        "changed": "--changed",
        "baseline": "--baseline",
        "quiet": "--quiet",
        "statistics": "--statistics",
        "write_baseline": "--write-baseline",
    }
)
"""Options that need all objects of a run in one place."""


def _refuse(options: Mapping[str, Any], ctx: click.Context) -> None:
    """Raise UsageError for an option that a spread run cannot honour."""
    for name, spelled in _REFUSED.items():
        if options[name]:
            text = "does not go with --engine and --partials: it needs all of a run in one place"
            raise click.UsageError(f"{spelled} {text}", ctx)
    if options["show"] == Show.ALL:
        text = "partial reports tell once what is alike, and count the rest"
        raise click.UsageError(f"--show {options['show']}: {text}", ctx)
    if "-" in options["resource"]:
        text = "standard input cannot be spread: write it to a file and pass that"
        raise click.UsageError(text, ctx)
