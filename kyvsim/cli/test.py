"""`kyvsim test`: manifests that say what policies are expected to do."""

import os
import sys
from collections.abc import Mapping
from typing import Any

import click

from kyvsim.api.test import TestOptions, TestRun, run_tests
from kyvsim.cli.exit_status import FAILED, OK, UNUSABLE
from kyvsim.cli.options import GoSpelledCommand
from kyvsim.cli.streams import is_terminal, say, write_out
from kyvsim.report import test_json
from kyvsim.report.style import safe_line
from kyvsim.report.test_run import Sight, every_diagnostic, is_unusable
from kyvsim.suite.selector import Selector, SelectorError, parse_selector


@click.command(cls=GoSpelledCommand)
@click.argument("paths", nargs=-1, required=True)
@click.option("-f", "--file-name", default="kyverno-test.yaml")
@click.option("--lenient", is_flag=True)
@click.option("-o", "--output-format", default="text")
def command(**options: Any) -> int:
    outcome = run_tests(TestRun(options["paths"], options["file_name"], TestOptions(lenient=options["lenient"])))
    for one in every_diagnostic(outcome):
        say(safe_line(str(one)))
    write_out(test_json.render(outcome, Sight()))
    if is_unusable(outcome):
        return UNUSABLE
    return FAILED if outcome.failed else OK
