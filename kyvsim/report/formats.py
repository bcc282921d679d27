"""The formats of each command, by the names that choose them."""

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

# A format is one line in the table of its command. The tables name functions instead of importing
# them, so that a run loads only the formats that are chosen.

_TEXT = ("text/plain", ".txt")
_JSON = ("application/json", ".json")
_YAML = ("application/yaml", ".yaml")
_XML = ("application/xml", ".xml")
_SARIF = ("application/sarif+json", ".sarif")
_MARKDOWN = ("text/markdown", ".md")
_HTML = ("text/html", ".html")
ANNOTATIONS = "text/x-github-annotations"
"""The media type of lines that GitHub acts on: only the texts in the commands are the user's."""


class OutputFormat(NamedTuple):
    """A format, by its traits. Its module is loaded when it is chosen."""

    module: str
    """The module of `kyvsim.report` that writes it."""
    name: str
    """The function of that module that writes it."""
    media: str
    """Its media type."""
    extension: str
    """The usual extension of its files, with the dot."""
    about: str
    """What it contains, for the documentation."""
    for_people: bool = False
    """Whether people read it, so that it ends with how the run ended; programs read the others."""
    whole: bool = False
    """Whether it needs all results before it can write anything; the others stream."""
    parted: bool = False
    """Whether several processes can render parts of a run."""
    explains: bool = False
    """Whether it shows how rules came to their results, where that is known."""

    @property
    def write(self) -> Callable[..., Any]:
        """The function that writes it; its arguments are described at each table."""
        module = import_module(f"kyvsim.report.{self.module}")
        found: Callable[..., Any] = getattr(module, self.name)
        return found


# The formats of `apply`, by the name that chooses them; each begins a `StreamingDocument`.
RUN_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat(
            "text",
            "begin_text",
            *_TEXT,
            for_people=True,
            parted=True,
            about="Findings with reasons and positions, changed objects and a summary, for people",
        ),
        "table": OutputFormat(
            "tables",
            "begin_table",
            *_TEXT,
            for_people=True,
            whole=True,
            parted=True,
            about="A table with a row for each policy, rule and resource",
        ),
        "json": OutputFormat(
            "documents", "begin_json", *_JSON, parted=True, about="The run as one JSON document"
        ),
        "yaml": OutputFormat(
            "documents",
            "begin_yaml",
            *_YAML,
            parted=True,
            about="The run as one YAML document, results first",
        ),
        "manifests": OutputFormat(
            "documents",
            "begin_manifests",
            *_YAML,
            about="The resources after mutation, as a stream of manifests",
        ),
        "policy-report": OutputFormat(
            "policy_report",
            "begin_yaml",
            *_YAML,
            parted=True,
            about="A PolicyReport (wgpolicyk8s.io) in YAML",
        ),
        "policy-report-json": OutputFormat(
            "policy_report",
            "begin_json",
            *_JSON,
            parted=True,
            about="A PolicyReport (wgpolicyk8s.io) in JSON",
        ),
        "open-report": OutputFormat(
            "policy_report",
            "begin_open_yaml",
            *_YAML,
            parted=True,
            about="A Report (openreports.io) in YAML",
        ),
        "open-report-json": OutputFormat(
            "policy_report",
            "begin_open_json",
            *_JSON,
            parted=True,
            about="A Report (openreports.io) in JSON",
        ),
        "exceptions": OutputFormat(
            "policy_exceptions",
            "begin_yaml",
            *_YAML,
            parted=True,
            about="PolicyExceptions that exempt every failure, in YAML",
        ),
        "exceptions-json": OutputFormat(
            "policy_exceptions",
            "begin_json",
            *_JSON,
            parted=True,
            about="PolicyExceptions that exempt every failure, in JSON",
        ),
        "junit": OutputFormat(
            "junit",
            "begin",
            *_XML,
            parted=True,
            about="JUnit XML: a suite for each object, a case for each rule",
        ),
        "sarif": OutputFormat(
            "sarif", "begin_sarif", *_SARIF, about="SARIF 2.1.0, for code scanning services"
        ),
        "github": OutputFormat(
            "annotations",
            "begin_github",
            ANNOTATIONS,
            ".txt",
            parted=True,
            about="Workflow commands, which GitHub shows as annotations",
        ),
        "gitlab": OutputFormat(
            "annotations", "begin_gitlab", *_JSON, about="A GitLab code quality report"
        ),
        "markdown": OutputFormat(
            "tables",
            "begin_markdown",
            *_MARKDOWN,
            parted=True,
            about="A Markdown table, for comments and summary pages",
        ),
        "csv": OutputFormat(
            "tables",
            "begin_csv",
            "text/csv",
            ".csv",
            parted=True,
            about="Comma-separated values (RFC 4180 with LF line ends)",
        ),
        "html": OutputFormat(
            "run_html",
            "begin",
            *_HTML,
            whole=True,
            parted=True,
            explains=True,
            about="A page with the findings, their reasons and the changed objects",
        ),
    }
)

# The formats of `test`, by the name that chooses them. Each writes an outcome of tests as a
# `SuiteOptions` shows it.
SUITE_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat(
            "suite_text",
            "render_text",
            *_TEXT,
            for_people=True,
            about="A line for each test file, with the failed rows and their reasons",
        ),
        "table": OutputFormat(
            "suite_text",
            "render_table",
            *_TEXT,
            for_people=True,
            whole=True,
            about="A table of rows for each test file",
        ),
        "json": OutputFormat(
            "suite_formats", "render_json", *_JSON, about="The result as one JSON document"
        ),
        "yaml": OutputFormat(
            "suite_formats", "render_yaml", *_YAML, about="The result as one YAML document"
        ),
        "markdown": OutputFormat(
            "suite_formats", "render_markdown", *_MARKDOWN, about="The rows as a Markdown table"
        ),
        "junit": OutputFormat(
            "suite_formats",
            "render_junit",
            *_XML,
            about="JUnit XML: a suite for each test file, a case for each row",
        ),
        "tap": OutputFormat(
            "suite_formats",
            "render_tap",
            "text/x-tap",
            ".tap",
            about="TAP 13: a test point for each row",
        ),
        "github": OutputFormat(
            "suite_formats",
            "render_github",
            ANNOTATIONS,
            ".txt",
            about="Workflow commands for failed rows",
        ),
        "html": OutputFormat(
            "suite_formats",
            "render_html",
            *_HTML,
            about="A page with the failed rows and their reasons",
        ),
    }
)

# The formats of `lint`, by the name that chooses them; each writes findings.
LINT_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat(
            "lint",
            "render_text",
            *_TEXT,
            for_people=True,
            about="Findings with source lines, and a count per code",
        ),
        "json": OutputFormat(
            "lint", "render_json", *_JSON, about="The findings as one JSON document"
        ),
        "github": OutputFormat(
            "annotations",
            "render_lint_github",
            ANNOTATIONS,
            ".txt",
            about="Workflow commands, which GitHub shows as annotations",
        ),
        "gitlab": OutputFormat(
            "annotations", "render_lint_gitlab", *_JSON, about="A GitLab code quality report"
        ),
        "sarif": OutputFormat(
            "sarif",
            "render_lint_sarif",
            *_SARIF,
            whole=True,
            about="SARIF 2.1.0, for code scanning services",
        ),
    }
)

# The formats of `diff`, by the name that chooses them; each writes a comparison.
DIFF_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat(
            "diff",
            "render_text",
            *_TEXT,
            for_people=True,
            about="The differences by resource and rule",
        ),
        "json": OutputFormat(
            "diff", "render_json", *_JSON, about="The comparison as one JSON document"
        ),
        "markdown": OutputFormat(
            "diff",
            "render_markdown",
            *_MARKDOWN,
            about="The differences as Markdown, for comments on pull requests",
        ),
    }
)

# The formats of `kyvsim explain`, by the name that chooses them; each writes objects on a page.
EXPLAIN_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat(
            "explain",
            "render_text",
            *_TEXT,
            for_people=True,
            about="Each rule with the deciding step and the tree of evaluated steps",
        ),
        "json": OutputFormat(
            "explain", "render_json", *_JSON, about="The explanations as one JSON document"
        ),
        "html": OutputFormat(
            "explain",
            "render_html",
            *_HTML,
            about="A page with the tree of steps; steps that decided are expanded",
        ),
    }
)

# The formats of `simulate`, by the name that chooses them. Each writes a simulation as a
# `TimelineOptions` shows it.
TIMELINE_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat(
            "timeline_text",
            "render_text",
            *_TEXT,
            for_people=True,
            about="The events in order, then expectations and hazards",
        ),
        "json": OutputFormat(
            "timeline_json", "render", *_JSON, about="The simulation as one JSON document"
        ),
        "html": OutputFormat(
            "timeline_html",
            "render",
            *_HTML,
            about="A page with a time axis, a lane for each actor, hazards and object versions",
        ),
        "mermaid": OutputFormat(
            "timeline_text",
            "render_mermaid",
            "text/plain",
            ".mmd",
            about="A Mermaid sequence diagram of actors and objects",
        ),
    }
)

# The formats of `equal`, by the name that chooses them; each writes what was found.
EQUAL_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat(
            "equal",
            "render_text",
            *_TEXT,
            for_people=True,
            about="The answer, the smallest objects that show a difference and what is not covered",
        ),
        "html": OutputFormat("equal", "render_html", *_HTML, about="The evidence as a page"),
        "json": OutputFormat(
            "equal", "render_json", *_JSON, about="The evidence as one JSON document"
        ),
    }
)

# The formats of `migrate`, by the name that chooses them; each writes what became of policies.
MIGRATE_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat(
            "migrate",
            "render_text",
            *_TEXT,
            for_people=True,
            about="A line for each rule, with the conditions of its conversion",
        ),
        "html": OutputFormat(
            "migrate",
            "render_html",
            *_HTML,
            about="A page with the converted policies and the evidence",
        ),
        "json": OutputFormat(
            "migrate", "render_json", *_JSON, about="The conversions as one JSON document"
        ),
    }
)

# The formats of `chainsaw`, by the name that chooses them. Each writes a report of tests as a
# `SuiteOptions` shows it.
CHAINSAW_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat(
            "chainsaw",
            "render_text",
            *_TEXT,
            for_people=True,
            about="A line for each test, with the reason why it did not pass",
        ),
        "json": OutputFormat(
            "chainsaw", "render_json", *_JSON, about="The result as one JSON document"
        ),
        "junit": OutputFormat(
            "chainsaw", "render_junit", *_XML, about="JUnit XML: one suite, a case for each test"
        ),
    }
)

# The formats of `test --coverage`, by the name that chooses them; each writes a coverage.
COVERAGE_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat(
            "coverage",
            "render_text",
            *_TEXT,
            for_people=True,
            about="Coverage by policy, with what no row reached",
        ),
        "json": OutputFormat(
            "coverage", "render_json", *_JSON, about="The coverage as one JSON document"
        ),
        "lcov": OutputFormat(
            "coverage",
            "render_lcov",
            "text/plain",
            ".info",
            about="LCOV, for editors and coverage services",
        ),
    }
)

FORMATS_OF: Mapping[str, Mapping[str, OutputFormat]] = MappingProxyType(
    {
        "apply": RUN_FORMATS,
        "test": SUITE_FORMATS,
        "test --coverage": COVERAGE_FORMATS,
        "lint": LINT_FORMATS,
        "diff": DIFF_FORMATS,
        "explain": EXPLAIN_FORMATS,
        "simulate": TIMELINE_FORMATS,
        "equal": EQUAL_FORMATS,
        "migrate": MIGRATE_FORMATS,
        "chainsaw": CHAINSAW_FORMATS,
    }
)
"""The tables by the command that has them."""
