"""What `kyvsim apply` writes, and where: which options choose it, and which contradict."""

import os
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from kyvsim.cli import declared
from kyvsim.cli.report_files import Chosen, ReportFiles, named_formats
from kyvsim.cli.streams import say, shows_colours
from kyvsim.report.ending import ending_line
from kyvsim.report.run import Look, Run, Teller
from kyvsim.report.run_ending import run_ending
from kyvsim.report.run_formats import FORMATS
from kyvsim.report.style import safe_text
from kyvsim.report.writing import Writing, tell, written

_VIEWS = (
    ("policy_report", "--policy-report", "policy-report"),
    ("table", "--table", "table"),
    ("stdin", "--stdin", "manifests"),
)
"""Options that choose a format for standard output, with their spelling."""
_REPORTS: Mapping[str, str] = MappingProxyType(
    {"yaml": "policy-report", "json": "policy-report-json"}
)
"""What `--policy-report` makes of a format for standard output."""
_SHORTENED = "text"


def chosen_by(options: Mapping[str, Any], call: declared.Call) -> Chosen:
    """Return the formats that the options choose; raise UsageError where they contradict."""
    named = named_formats(options["output_format"], FORMATS, call)
    given = [(spelled, name) for key, spelled, name in _VIEWS if options[key]]
    if named.shown and options["policy_report"]:
        if named.shown not in _REPORTS:
            text = f"--policy-report is printed as {' or '.join(_REPORTS)}, not as {named.shown}"
            raise declared.UsageError(text, call)
        given[0] = (given[0][0], _REPORTS[named.shown])
    elif named.shown:
        given.append((f"--output-format {named.shown}", named.shown))
    if len(given) > 1:
        names = " and ".join(spelled for spelled, _ in given)
        text = f"{names} are formats of their own: standard output holds one of them"
        raise declared.UsageError(text, call)
    chosen = Chosen(given[0][1] if given else next(iter(FORMATS)), named.files)
    if options["diff"] and _SHORTENED not in {chosen.shown, *dict(chosen.files)}:
        text = f"--diff shortens the view for people: it does not go with {given[0][0]}"
        raise declared.UsageError(text, call)
    _refuse_objects_file(chosen, options["output"], call)
    return chosen


def _refuse_objects_file(chosen: Chosen, output: str, call: declared.Call) -> None:
    """Raise UsageError where a format goes to the file for changed objects."""
    for name, path in chosen.files:
        if output and os.path.realpath(path) == os.path.realpath(output):
            raise declared.UsageError(f"{name} and --output both go to {path}", call)


def is_for_people(chosen: Chosen) -> bool:
    """Return whether standard output is a view for people, not a document for programs."""
    return FORMATS[chosen.shown].for_people


def streams(chosen: Chosen) -> bool:
    """Return whether standard output tells people of each response as it comes."""
    return is_for_people(chosen) and not FORMATS[chosen.shown].whole


def shown_pieces(
    run: Run, chosen: Chosen, options: Mapping[str, Any], files: ReportFiles
) -> Iterator[str]:
    """Yield what goes to standard output; the other formats go to their files meanwhile."""
    for index, piece in written(run, _writings(run, chosen, options)):
        if index:
            files.write(index - 1, piece)
        else:
            yield piece
    closing = f"{ending_line(run_ending(run))}\n"
    for index, (name, _) in enumerate(chosen.files):
        if FORMATS[name].for_people:
            files.write(index, closing)


def teller(chosen: Chosen, options: Mapping[str, Any]) -> Teller | None:
    """Return what writes parts of a run in the formats that are chosen.

    None where one of them can't be told in parts, or responses are asked for besides.
    """
    names = (chosen.shown, *(name for name, _ in chosen.files))
    if options["output"] or not all(FORMATS[name].parted for name in names):
        return None
    return Teller(len(names), lambda run: tell(run, _writings(run, chosen, options)))


def _writings(run: Run, chosen: Chosen, options: Mapping[str, Any]) -> list[Writing]:
    plain = Look(
        detailed=options["detailed_results"],
        diff=options["diff"],
        objects=not options["output"],
        say=_say_all,
    )
    shown = plain._replace(
        colours=is_for_people(chosen) and shows_colours(unwanted=options["remove_color"])
    )
    begun = [FORMATS[chosen.shown].write(run, shown)]
    return begun + [FORMATS[name].write(run, plain) for name, _ in chosen.files]


def _say_all(lines: str) -> None:
    say(safe_text(lines.rstrip()))
