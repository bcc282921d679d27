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
        "text": OutputFormat("text", "begin_text", *_TEXT, for_people=True, parted=True),
        "table": OutputFormat(
            "tables", "begin_table", *_TEXT, for_people=True, whole=True, parted=True
        ),
        "json": OutputFormat("documents", "begin_json", *_JSON, parted=True),
        "yaml": OutputFormat("documents", "begin_yaml", *_YAML, parted=True),
        "manifests": OutputFormat("documents", "begin_manifests", *_YAML),
        "policy-report": OutputFormat("policy_report", "begin_yaml", *_YAML, parted=True),
        "policy-report-json": OutputFormat("policy_report", "begin_json", *_JSON, parted=True),
        "open-report": OutputFormat("policy_report", "begin_open_yaml", *_YAML, parted=True),
        "open-report-json": OutputFormat("policy_report", "begin_open_json", *_JSON, parted=True),
        "exceptions": OutputFormat("policy_exceptions", "begin_yaml", *_YAML, parted=True),
        "exceptions-json": OutputFormat("policy_exceptions", "begin_json", *_JSON, parted=True),
        "junit": OutputFormat("junit", "begin", *_XML, parted=True),
        "sarif": OutputFormat("sarif", "begin_sarif", *_SARIF),
        "github": OutputFormat("annotations", "begin_github", ANNOTATIONS, ".txt", parted=True),
        "gitlab": OutputFormat("annotations", "begin_gitlab", *_JSON),
        "markdown": OutputFormat("tables", "begin_markdown", *_MARKDOWN, parted=True),
        "csv": OutputFormat("tables", "begin_csv", "text/csv", ".csv", parted=True),
        "html": OutputFormat("run_html", "begin", *_HTML, whole=True, parted=True, explains=True),
    }
)

# The formats of `test`, by the name that chooses them. Each writes an outcome of tests as a
# `SuiteOptions` shows it.
SUITE_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat("suite_text", "render_text", *_TEXT, for_people=True),
        "table": OutputFormat("suite_text", "render_table", *_TEXT, for_people=True, whole=True),
        "json": OutputFormat("suite_formats", "render_json", *_JSON),
        "yaml": OutputFormat("suite_formats", "render_yaml", *_YAML),
        "markdown": OutputFormat("suite_formats", "render_markdown", *_MARKDOWN),
        "junit": OutputFormat("suite_formats", "render_junit", *_XML),
        "tap": OutputFormat("suite_formats", "render_tap", "text/x-tap", ".tap"),
        "github": OutputFormat("suite_formats", "render_github", ANNOTATIONS, ".txt"),
        "html": OutputFormat("suite_formats", "render_html", *_HTML),
    }
)

# The formats of `lint`, by the name that chooses them; each writes findings.
LINT_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat("lint", "render_text", *_TEXT, for_people=True),
        "json": OutputFormat("lint", "render_json", *_JSON),
        "github": OutputFormat("annotations", "render_lint_github", ANNOTATIONS, ".txt"),
        "gitlab": OutputFormat("annotations", "render_lint_gitlab", *_JSON),
        "sarif": OutputFormat("sarif", "render_lint_sarif", *_SARIF, whole=True),
    }
)

# The formats of `diff`, by the name that chooses them; each writes a comparison.
DIFF_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat("diff", "render_text", *_TEXT, for_people=True),
        "json": OutputFormat("diff", "render_json", *_JSON),
        "markdown": OutputFormat("diff", "render_markdown", *_MARKDOWN),
    }
)

# The formats of `kyvsim explain`, by the name that chooses them; each writes objects on a page.
EXPLAIN_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat("explain", "render_text", *_TEXT, for_people=True),
        "json": OutputFormat("explain", "render_json", *_JSON),
        "html": OutputFormat("explain", "render_html", *_HTML),
    }
)

# The formats of `simulate`, by the name that chooses them. Each writes a simulation as a
# `TimelineOptions` shows it.
TIMELINE_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat("timeline_text", "render_text", *_TEXT, for_people=True),
        "json": OutputFormat("timeline_json", "render", *_JSON),
        "html": OutputFormat("timeline_html", "render", *_HTML),
        "mermaid": OutputFormat("timeline_text", "render_mermaid", "text/plain", ".mmd"),
    }
)

# The formats of `equal`, by the name that chooses them; each writes what was found.
EQUAL_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat("equal", "render_text", *_TEXT, for_people=True),
        "html": OutputFormat("equal", "render_html", *_HTML),
        "json": OutputFormat("equal", "render_json", *_JSON),
    }
)

# The formats of `migrate`, by the name that chooses them; each writes what became of policies.
MIGRATE_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat("migrate", "render_text", *_TEXT, for_people=True),
        "html": OutputFormat("migrate", "render_html", *_HTML),
        "json": OutputFormat("migrate", "render_json", *_JSON),
    }
)

# The formats of `chainsaw`, by the name that chooses them. Each writes a report of tests as a
# `SuiteOptions` shows it.
CHAINSAW_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat("chainsaw", "render_text", *_TEXT, for_people=True),
        "json": OutputFormat("chainsaw", "render_json", *_JSON),
        "junit": OutputFormat("chainsaw", "render_junit", *_XML),
    }
)

# The formats of `test --coverage`, by the name that chooses them; each writes a coverage.
COVERAGE_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat("coverage", "render_text", *_TEXT, for_people=True),
        "json": OutputFormat("coverage", "render_json", *_JSON),
        "lcov": OutputFormat("coverage", "render_lcov", "text/plain", ".info"),
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
