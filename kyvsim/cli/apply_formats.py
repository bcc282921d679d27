"""What `kyvsim apply` writes to standard output: which options choose it, and which contradict.

A format for programs is loaded when it is chosen.
"""

import importlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, cast

from kyvsim.cli import declared
from kyvsim.cli.streams import say, shows_colours
from kyvsim.report import text
from kyvsim.report.run import Look, Run, Telling
from kyvsim.report.style import safe_text

DOCUMENTS: Mapping[str, str] = MappingProxyType({"yaml": "yaml_document", "json": "json_document"})
"""The formats of `--output-format`; each is `render` in a module of `kyvsim.report`, loaded when it
is chosen."""
_REPORTS = ("yaml", "json")
"""Those in which there are policy reports."""
_VIEWS = (
    ("policy_report", "--policy-report"),
    ("table", "--table"),
    ("stdin", "--stdin"),
)
"""Options of which each is a format of its own, with their spelling."""


def check_formats(options: Mapping[str, Any], call: declared.Call) -> None:
    """Raise UsageError where options ask for two formats at once."""
    chosen = [spelled for name, spelled in _VIEWS if options[name]]
    data = options["output_format"]
    if data and not options["policy_report"]:
        chosen.append(f"--output-format {data}")
    if data and options["policy_report"] and data not in _REPORTS:
        text = f"--policy-report is printed as {' or '.join(_REPORTS)}, not as {data}"
        raise declared.UsageError(text, call)
    if len(chosen) > 1:
        text = f"{' and '.join(chosen)} are formats of their own: standard output holds one of them"
        raise declared.UsageError(text, call)
    if options["diff"] and (chosen or data):
        other = (chosen or [f"--output-format {data}"])[0]
        text = f"--diff shortens the view for people: it does not go with {other}"
        raise declared.UsageError(text, call)


def is_for_people(options: Mapping[str, Any]) -> bool:
    """Return whether standard output is a view for people, not a document for programs."""
    return not (options["policy_report"] or options["output_format"] or options["stdin"])


def render(run: Run, options: Mapping[str, Any]) -> Iterator[str]:
    """Return the output in the format that the options choose."""
    if options["policy_report"] or options["output_format"]:
        return _document(run, options)
    look = _look(options)
    if options["table"]:
        from kyvsim.report import table  # noqa: PLC0415 — for this format only

        return table.render(run, look)
    if options["stdin"]:
        from kyvsim.report import manifests  # noqa: PLC0415 — for this format only

        return manifests.render(run, look._replace(colours=False), _say_all)
    return text.render(run, look)


def _look(options: Mapping[str, Any]) -> Look:
    return Look(
        colours=shows_colours(unwanted=options["remove_color"]),
        detailed=options["detailed_results"],
        diff=options["diff"],
        objects=not options["output"],
    )


def teller(options: Mapping[str, Any]) -> Callable[[Run], Telling] | None:
    """Return what writes a part of a run in the format that the options choose.

    None where a format has to see all results before it writes any, or responses are asked for
    besides.
    """
    if options["stdin"] or options["output"]:
        return None
    if options["table"]:
        from kyvsim.report import table  # noqa: PLC0415 — for this format only

        return partial(table.tell, look=_look(options))
    if options["policy_report"]:
        from kyvsim.report import policy_report  # noqa: PLC0415 — for this format only

        in_json = options["output_format"] == "json"
        return policy_report.tell_json if in_json else policy_report.tell_yaml
    if options["output_format"]:
        from kyvsim.report import json_document  # noqa: PLC0415 — for these formats only

        return json_document.tell
    return partial(text.tell, look=_look(options))


def _document(run: Run, options: Mapping[str, Any]) -> Iterator[str]:
    """Return the output as a document for programs."""
    data = options["output_format"]
    if options["policy_report"]:
        from kyvsim.report import policy_report  # noqa: PLC0415 — for this format only

        write = policy_report.render_json if data == "json" else policy_report.render_yaml
        return write(run)
    write = importlib.import_module(f"kyvsim.report.{DOCUMENTS[data]}").render
    return cast("Iterator[str]", write(run))


def _say_all(lines: str) -> None:
    say(safe_text(lines.rstrip()))
