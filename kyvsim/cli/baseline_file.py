"""The file that `apply --write-baseline` writes."""

from kyvsim.api.apply import known_by_now
from kyvsim.cli.report_files import ReportFiles
from kyvsim.cli.streams import say
from kyvsim.model.ending import Verdict
from kyvsim.report.known_failures import baseline_text
from kyvsim.report.run import Run
from kyvsim.report.run_ending import run_ending
from kyvsim.report.style import counted, safe_line


def write_baseline(run: Run, path: str, files: ReportFiles) -> None:
    """Write what is known after a run to its path, the only one of `files`.

    A run that could not use all its input knows too little: then nothing is written.
    """
    if run_ending(run).verdict is Verdict.INCOMPLETE:
        say(safe_line(f"{path} is not written: some input could not be used"))
        return
    known = known_by_now(run)
    files.fill((baseline_text(known),))
    say(safe_line(f"wrote {counted(sum(known.values()), 'failure')} to {path}"))
