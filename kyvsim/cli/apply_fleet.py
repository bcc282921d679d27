"""`kyvsim apply` over a fleet: --engine and --partials."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import click

from kyvsim.api import ApplyInputs
from kyvsim.api.system import processors
from kyvsim.cli.fleet_views import counts_of, whole_of
from kyvsim.cli.report_files import Chosen
from kyvsim.cli.streams import is_terminal
from kyvsim.fleet.dask_engine import dask
from kyvsim.fleet.engines import Engine, here, processes
from kyvsim.fleet.errors import FleetError
from kyvsim.fleet.plan import Cluster
from kyvsim.fleet.reports import reports_in
from kyvsim.fleet.run import Fleet, Progress, run_fleet
from kyvsim.fleet.store import Store
from kyvsim.load.scratch import scratch_folder
from kyvsim.report.progress import with_growing_progress


def apply_fleet(
    inputs: ApplyInputs, stdin: bytes | None, options: Mapping[str, Any], chosen: Chosen
) -> int:
    """Run `kyvsim apply` over a fleet and return its exit status; raises click.ClickException."""
    try:
        with ExitStack() as stack:
            folder = options["partials"] or stack.enter_context(scratch_folder())
            store = Store(folder, options["partials_format"] or "jsonl")
            for _ in _with_bar(run_fleet(inputs, stdin, _fleet(store, options))):
                pass
            reports = reports_in([store])
            only_counts = options["partials"] and not options["output_format"]
            show = counts_of if only_counts else whole_of
            return show(reports, chosen.shown, options)
    except FleetError as error:
        raise click.ClickException(str(error)) from None


def _fleet(store: Store, options: Mapping[str, Any]) -> Fleet:
    return Fleet(
        engine=_engine(options),
        store=store,
        resume=options["resume"],
        per=Cluster(options["cluster_per"]) if options["cluster_per"] else None,
        piece_size=options["piece_size"],
        everything=options["detailed_results"] or bool(options["output_format"]),
    )


def _engine(options: Mapping[str, Any]) -> AbstractContextManager[Engine]:
    if options["engine"] == "dask":
        return dask(options["scheduler"])
    jobs = options["jobs"] or processors()
    return processes(jobs) if jobs > 1 else here()


def _with_bar(progress: Iterator[Progress]) -> Iterator[Progress]:
    """Yield how far a run is, shown on standard error where people read that."""
    if not is_terminal(sys.stderr):
        return progress
    return with_growing_progress(progress, lambda one, _: one.total, "applying")
