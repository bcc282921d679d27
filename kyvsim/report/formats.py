"""The formats of each command by name, and the escapes for commands of CI systems."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

from kyvsim.report.style import CONTROLS

# A format is one line in the table of its command. The tables name functions instead of importing
# them, so that a run only loads the chosen formats.

TEXT = "text/plain"
JSON = "application/json"
YAML = "application/yaml"
ANNOTATIONS = "text/x-github-annotations"
"""The media type of GitHub's workflow commands; only the texts in the commands are the user's."""


class OutputFormat(NamedTuple):
    """A format and its properties. Its module is loaded on demand."""

    function: str
    """Module of `kyvsim.report` and function that write the format: `documents.begin_json`."""
    about: str
    """What it contains, for the documentation."""
    media: str
    extension: str
    """The usual file extension, with the dot."""
    for_people: bool = False
    """Whether it is read by people and therefore ends with a closing line."""
    whole: bool = False
    """Whether it needs all results before it can write anything; other formats stream."""
    explains: bool = False
    """Whether it explains the results of rules, if the reasons are known."""

    @property
    def write(self) -> Callable[..., Any]:
        """The function that writes it; the comments at the tables describe its arguments."""
        module, _, name = self.function.partition(".")
        function: Callable[..., Any] = getattr(import_module(f"kyvsim.report.{module}"), name)
        return function


_text = partial(OutputFormat, media=TEXT, extension=".txt", for_people=True)
_json = partial(OutputFormat, media=JSON, extension=".json")
_yaml = partial(OutputFormat, media=YAML, extension=".yaml")
_xml = partial(OutputFormat, media="application/xml", extension=".xml")
_sarif = partial(OutputFormat, media="application/sarif+json", extension=".sarif")
_markdown = partial(OutputFormat, media="text/markdown", extension=".md")
_html = partial(OutputFormat, media="text/html", extension=".html")
_github = partial(OutputFormat, media=ANNOTATIONS, extension=".txt")

# The formats of `apply` by name; each begins a `StreamingDocument`.
RUN_FORMATS: Mapping[str, OutputFormat] = {
    "text": _text(
        "text.begin_text",
        "Findings with reasons and positions, changed objects and a summary, for people",
    ),
    "table": _text(
        "tables.begin_table",
        "A table with a row for each policy, rule and resource",
        whole=True,
    ),
    "json": _json("documents.begin_json", "The run as one JSON document"),
    "yaml": _yaml("documents.begin_yaml", "The run as one YAML document, results first"),
    "manifests": _yaml(
        "documents.begin_manifests",
        "The resources after mutation, as a stream of manifests",
    ),
    "policy-report": _yaml(
        "policy_objects.begin_report_yaml", "A PolicyReport (wgpolicyk8s.io) in YAML"
    ),
    "policy-report-json": _json(
        "policy_objects.begin_report_json", "A PolicyReport (wgpolicyk8s.io) in JSON"
    ),
    "open-report": _yaml("policy_objects.begin_open_yaml", "A Report (openreports.io) in YAML"),
    "open-report-json": _json(
        "policy_objects.begin_open_json", "A Report (openreports.io) in JSON"
    ),
    "exceptions": _yaml(
        "policy_objects.begin_exceptions_yaml",
        "PolicyExceptions that exempt every failure, in YAML",
    ),
    "exceptions-json": _json(
        "policy_objects.begin_exceptions_json",
        "PolicyExceptions that exempt every failure, in JSON",
    ),
    "junit": _xml(
        "finding_formats.begin_junit",
        "JUnit XML: a suite for each object, a case for each rule",
    ),
    "sarif": _sarif(
        "finding_formats.begin_sarif",
        "SARIF 2.1.0, for code scanning services",
    ),
    "github": _github(
        "finding_formats.begin_github", "Workflow commands, which GitHub shows as annotations"
    ),
    "gitlab": _json("finding_formats.begin_gitlab", "A GitLab code quality report"),
    "markdown": _markdown(
        "tables.begin_markdown", "A Markdown table, for comments and summary pages"
    ),
    "csv": OutputFormat(
        "tables.begin_csv",
        "Comma-separated values (RFC 4180 with LF line ends)",
        "text/csv",
        ".csv",
    ),
    "html": _html(
        "run_html.begin",
        "A page with the findings, their reasons and the changed objects",
        whole=True,
        explains=True,
    ),
}

# The formats of `test` by name. Each writes a test outcome according to `SuiteOptions`.
SUITE_FORMATS: Mapping[str, OutputFormat] = {
    "text": _text(
        "suite_text.render_text",
        "A line for each test file, with the failed rows and their reasons",
    ),
    "table": _text("suite_text.render_table", "A table of rows for each test file", whole=True),
    "json": _json("suite_formats.render_json", "The result as one JSON document"),
    "yaml": _yaml("suite_formats.render_yaml", "The result as one YAML document"),
    "markdown": _markdown("suite_formats.render_markdown", "The rows as a Markdown table"),
    "junit": _xml(
        "suite_formats.render_junit",
        "JUnit XML: a suite for each test file, a case for each row",
    ),
    "tap": OutputFormat(
        "suite_formats.render_tap", "TAP 13: a test point for each row", "text/x-tap", ".tap"
    ),
    "github": _github("suite_formats.render_github", "Workflow commands for failed rows"),
    "html": _html("suite_formats.render_html", "A page with the failed rows and their reasons"),
}

# The formats of `lint` by name; each writes findings.
LINT_FORMATS: Mapping[str, OutputFormat] = {
    "text": _text("lint.render_text", "Findings with source lines, and a count per code"),
    "json": _json("lint.render_json", "The findings as one JSON document"),
    "github": _github(
        "finding_formats.render_lint_github",
        "Workflow commands, which GitHub shows as annotations",
    ),
    "gitlab": _json("finding_formats.render_lint_gitlab", "A GitLab code quality report"),
    "sarif": _sarif(
        "finding_formats.render_lint_sarif",
        "SARIF 2.1.0, for code scanning services",
        whole=True,
    ),
}

# The formats of `diff` by name; each writes a comparison.
DIFF_FORMATS: Mapping[str, OutputFormat] = {
    "text": _text("diff.render_text", "The differences by resource and rule"),
    "json": _json("diff.render_json", "The comparison as one JSON document"),
    "markdown": _markdown(
        "diff.render_markdown", "The differences as Markdown, for comments on pull requests"
    ),
    "html": _html("diff.render_html", "A page with the differences by resource"),
}

# The formats of `explain` by name; each writes explained objects according to `StepPage`.
EXPLAIN_FORMATS: Mapping[str, OutputFormat] = {
    "text": _text(
        "explain.render_text",
        "Each rule with the deciding step and the tree of evaluated steps",
    ),
    "json": _json("explain.render_json", "The explanations as one JSON document"),
    "html": _html(
        "explain.render_html", "A page with the tree of steps; steps that decided are expanded"
    ),
}

# The formats of `simulate` by name. Each writes a simulation according to `TimelineOptions`.
TIMELINE_FORMATS: Mapping[str, OutputFormat] = {
    "text": _text(
        "timeline_formats.render_text", "The events in order, then expectations and hazards"
    ),
    "json": _json("timeline_formats.render_json", "The simulation as one JSON document"),
    "html": _html(
        "timeline_formats.render_html",
        "A page with a time axis, a lane for each actor, hazards and object versions",
    ),
    "mermaid": OutputFormat(
        "timeline_formats.render_mermaid",
        "A Mermaid sequence diagram of actors and objects",
        "text/plain",
        ".mmd",
    ),
}

# The formats of `equal` by name; each writes the evidence.
EQUAL_FORMATS: Mapping[str, OutputFormat] = {
    "text": _text(
        "equal.render_text",
        "The answer, the smallest objects that show a difference and what is not covered",
    ),
    "html": _html("equal.render_html", "The evidence as a page"),
    "json": _json("equal.render_json", "The evidence as one JSON document"),
}

# The formats of `migrate` by name; each writes the conversions of policies.
MIGRATE_FORMATS: Mapping[str, OutputFormat] = {
    "text": _text(
        "migrate.render_text", "A line for each rule, with the conditions of its conversion"
    ),
    "html": _html("migrate.render_html", "A page with the converted policies and the evidence"),
    "json": _json("migrate.render_json", "The conversions as one JSON document"),
}

# The formats of `upgrade` by name; each writes the changes of an upgrade.
UPGRADE_FORMATS: Mapping[str, OutputFormat] = {
    "text": _text(
        "upgrade.render_text", "What changes, with causes and next steps, and what is removed"
    ),
    "json": _json("upgrade.render_json", "Every change and the inventory as one JSON document"),
    "markdown": _markdown(
        "upgrade.render_markdown", "The same as `text` in Markdown, for comments on pull requests"
    ),
    "html": _html("upgrade.render_html", "The same as `text` as a page"),
}

# The formats of `chainsaw` by name. Each writes a test report according to `SuiteOptions`.
CHAINSAW_FORMATS: Mapping[str, OutputFormat] = {
    "text": _text(
        "chainsaw.render_text", "A line for each test, with the reason why it did not pass"
    ),
    "json": _json("chainsaw.render_json", "The result as one JSON document"),
    "junit": _xml("chainsaw.render_junit", "JUnit XML: one suite, a case for each test"),
}

# The formats of `test --coverage` by name; each writes a coverage.
COVERAGE_FORMATS: Mapping[str, OutputFormat] = {
    "text": _text("coverage.render_text", "Coverage by policy, with what no row reached"),
    "json": _json("coverage.render_json", "The coverage as one JSON document"),
    "lcov": OutputFormat(
        "coverage.render_lcov", "LCOV, for editors and coverage services", "text/plain", ".info"
    ),
    "html": _html("coverage.render_html", "A page with what was reached and what was not"),
}

FORMATS_OF: Mapping[str, Mapping[str, OutputFormat]] = {
    "apply": RUN_FORMATS,
    "test": SUITE_FORMATS,
    "test --coverage": COVERAGE_FORMATS,
    "lint": LINT_FORMATS,
    "diff": DIFF_FORMATS,
    "explain": EXPLAIN_FORMATS,
    "simulate": TIMELINE_FORMATS,
    "equal": EQUAL_FORMATS,
    "migrate": MIGRATE_FORMATS,
    "upgrade": UPGRADE_FORMATS,
    "chainsaw": CHAINSAW_FORMATS,
}
"""The format tables by command."""


# Escaping of commands that CI systems read in a log, for all output of the program.
# A runner reads the output of a step, and executes commands in it: GitHub, Gitea and Forgejo
# `::name::` at the beginning of a line and `##[name]` anywhere, Azure Pipelines `##vso[…]` and
# `##[…]`, TeamCity `##teamcity[…]`, GitLab and Travis `section_start:TIME:NAME` and `travis_fold:`.
# Such text in a policy, a manifest, a file name or an argument is data, so one of its characters is
# written as an escape: visible in text, and the same character in JSON and XML.
# The functions are called where output is written (`kyvsim/cli/streams.py`, `output_files.py`), not
# by the formats, so that no format can forget them. YAML needs more, since an escape needs a quoted
# scalar: `object_text.py` quotes these.
# Sources of the syntax: actions/runner (ActionCommand.cs), microsoft/azure-pipelines-agent
# (Command.cs), the pages "Service Messages" of TeamCity and "Job logs" of GitLab.

_LONGEST_LINE = 1 << 20
"""Maximum characters of an incomplete line that are stored."""
_LONGEST_COMMAND = 64
"""Number of characters of such a line that are kept, so that no command is split."""

# .NET's culture-sensitive comparison ignores these characters: `##<soft hyphen>vso[`.
_IGNORED_CHARACTERS = frozenset(
    "\xad\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u200b\u200c\u200d\ufeff"
).union(map(chr, range(0x2060, 0x2070)), map(chr, range(0xFE00, 0xFE10)))
_IGNORED = "".join(sorted(_IGNORED_CHARACTERS))
_COLOUR = r"\x1b(?:\[[0-9;]*m|\]8;;(?:file://[!-~]*)?\x1b\\)"
"""Colours, and the links of `TextLayout.linked`."""
_COMMAND = (
    rf"(?m)(?P<lead>^(?:[^\S\n]|[{_IGNORED}]|{_COLOUR})*)(?P<first>:)(?=[{_IGNORED}]*:)"
    rf"|#(?=[{_IGNORED}]*#[A-Za-z{_IGNORED}]*\[)"
    rf"|:(?=[{_IGNORED}]*:[A-Za-z_][\w-]*(?: [^\n]*?)?::)"
    r"|s(?=ection_(?:start|end):[0-9]+:)"
    r"|t(?=ravis_(?:fold|time):)"
)
"""Compiled only for texts with one of the hints below, which are rare."""
_HINTS = ("::", "##", "section_", "travis_")
"""ASCII text without these has no commands."""
_OWN = r"::((?:error|warning|notice) [^\n:]*)::"
_CONTROL = f"({_COLOUR})|[{re.escape(''.join(map(chr, CONTROLS)))}]"
_ESCAPES: Mapping[str, str] = {
    "application/json": "\\u{:04x}",
    "application/sarif+json": "\\u{:04x}",
    "application/xml": "&#{};",
}
_VISIBLE = "\\x{:02x}"


def has_log_command(text: str) -> bool:
    """Return whether a CI system would execute a command in `text` if it were printed."""
    return _may_have_command(text) and re.search(_COMMAND, text) is not None


def log_safe(text: str, media: str = TEXT, *, colours: bool = False) -> str:
    """Return complete lines of a media type with escaped commands of CI systems.

    In text for people, control characters are escaped as well, except for allowed colours. HTML is
    returned unchanged: its templates call this for each value.
    """
    if media == "text/html":
        return text
    if media == ANNOTATIONS:
        lines = text.split("\n")
        for number, line in enumerate(lines):
            own = re.match(_OWN, line)
            start = f"::{log_safe(own[1])}::" if own else ""
            lines[number] = start + log_safe(line[own.end() :] if own else line)
        return "\n".join(lines)
    if media.startswith("text/") and not text.replace("\n", "").replace("\t", "").isprintable():
        text = re.sub(
            _CONTROL,
            lambda match: match[0] if colours and match[1] else match[0].translate(CONTROLS),
            text,
        )
    if not _may_have_command(text):
        return text
    # Escape the first character of a command after any blanks.
    form = _ESCAPES.get(media, _VISIBLE)
    return re.sub(
        _COMMAND, lambda match: (match["lead"] or "") + form.format(ord(match[0][-1])), text
    )


def log_safe_pieces(
    pieces: Iterable[str], media: str = TEXT, *, colours: bool = False
) -> Iterator[str]:
    """Yield the same for a text in pieces, which need not end at line ends."""
    waiting = LogFilter(media, colours=colours)
    for piece in pieces:
        yield waiting.feed(piece)
    yield waiting.rest()


class LogFilter:
    """Escapes a text that is read in pieces; it stores the incomplete line."""

    def __init__(self, media: str = TEXT, *, colours: bool = False) -> None:
        """Begin a text of a media type; `colours` allows colours in it."""
        self._media = media
        self._colours = colours
        self._begun: list[str] = []
        self._length = 0

    def feed(self, text: str) -> str:
        """Add a piece and return the complete lines."""
        end = text.rfind("\n") + 1
        if not end and self._length + len(text) > _LONGEST_LINE:
            end = max(len(text) - _LONGEST_COMMAND, 0)
        if not end:
            self._begun.append(text)
            self._length += len(text)
            return ""
        complete = "".join((*self._begun, text[:end]))
        self._begun, self._length = [text[end:]], len(text) - end
        return log_safe(complete, self._media, colours=self._colours)

    def rest(self) -> str:
        """Return the rest after the last piece."""
        left = "".join(self._begun)
        self._begun, self._length = [], 0
        return log_safe(left, self._media, colours=self._colours)


def _may_have_command(text: str) -> bool:
    if any(map(text.__contains__, _HINTS)):
        return True
    return not text.isascii() and not _IGNORED_CHARACTERS.isdisjoint(text)
