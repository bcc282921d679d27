"""The formats of each command, by the names that choose them."""

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

# What is to be known of a format before it is chosen: a line in the table of each command.


ANNOTATIONS = "text/x-github-annotations"
"""The media type of lines that GitHub acts on: only the texts in the commands are the user's."""


class OutputFormat(NamedTuple):
    """A format, by its traits. Its module is loaded when it is chosen."""

    module: str
    """The module of `kyvsim.report` that writes it."""
    media: str
    """Its media type."""
    extension: str
    """How files in it are usually called, with the dot."""
    name: str = "begin"
    """The function of the module that writes it."""
    for_people: bool = False
    """Whether it is a view for people, which tells how the run ended; else it is for programs."""
    whole: bool = False
    """Whether it has to see everything before it can write anything; else it streams."""
    parted: bool = False
    """Whether parts of a run can be told apart, by several processes."""
    explains: bool = False
    """Whether it shows how rules came to their verdicts, where that is known."""

    @property
    def write(self) -> Callable[..., Any]:
        """The function that writes it; what it takes and gives is said at each table."""
        module = import_module(f"kyvsim.report.{self.module}")
        found: Callable[..., Any] = getattr(module, self.name)
        return found


# The formats of `apply`, by the name that chooses them; each begins a `StreamingDocument`.


RUN_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat(
            "text", "text/plain", ".txt", "begin_text", for_people=True, parted=True
        ),
        "table": OutputFormat(
            "tables", "text/plain", ".txt", "begin_table", for_people=True, whole=True, parted=True
        ),
        "json": OutputFormat("documents", "application/json", ".json", "begin_json", parted=True),
        "yaml": OutputFormat("documents", "application/yaml", ".yaml", "begin_yaml", parted=True),
        "manifests": OutputFormat("documents", "application/yaml", ".yaml", "begin_manifests"),
        "policy-report": OutputFormat(
            "policy_report", "application/yaml", ".yaml", "begin_yaml", parted=True
        ),
        "policy-report-json": OutputFormat(
            "policy_report", "application/json", ".json", "begin_json", parted=True
        ),
        "open-report": OutputFormat(
            "policy_report", "application/yaml", ".yaml", "begin_open_yaml", parted=True
        ),
        "open-report-json": OutputFormat(
            "policy_report", "application/json", ".json", "begin_open_json", parted=True
        ),
        "exceptions": OutputFormat(
            "policy_exceptions", "application/yaml", ".yaml", "begin_yaml", parted=True
        ),
        "exceptions-json": OutputFormat(
            "policy_exceptions", "application/json", ".json", "begin_json", parted=True
        ),
        "junit": OutputFormat("junit", "application/xml", ".xml", parted=True),
        "sarif": OutputFormat("sarif", "application/sarif+json", ".sarif", "begin_sarif"),
        "github": OutputFormat("annotations", ANNOTATIONS, ".txt", "begin_github", parted=True),
        "gitlab": OutputFormat("annotations", "application/json", ".json", "begin_gitlab"),
        "markdown": OutputFormat("tables", "text/markdown", ".md", "begin_markdown", parted=True),
        "csv": OutputFormat("tables", "text/csv", ".csv", "begin_csv", parted=True),
        "html": OutputFormat(
            "run_html", "text/html", ".html", whole=True, parted=True, explains=True
        ),
    }
)


# The formats of `test`, by the name that chooses them.
#
# Each writes an outcome of tests as a `Sight` shows it.


SUITE_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat("suite_text", "text/plain", ".txt", "render_text", for_people=True),
        "table": OutputFormat(
            "suite_text", "text/plain", ".txt", "render_table", for_people=True, whole=True
        ),
        "json": OutputFormat("suite_formats", "application/json", ".json", "render_json"),
        "yaml": OutputFormat("suite_formats", "application/yaml", ".yaml", "render_yaml"),
        "markdown": OutputFormat("suite_formats", "text/markdown", ".md", "render_markdown"),
        "junit": OutputFormat("suite_formats", "application/xml", ".xml", "render_junit"),
        "tap": OutputFormat("suite_formats", "text/x-tap", ".tap", "render_tap"),
        "github": OutputFormat("suite_formats", ANNOTATIONS, ".txt", "render_github"),
        "html": OutputFormat("suite_formats", "text/html", ".html", "render_html"),
    }
)


# The formats of `lint`, by the name that chooses them; each writes findings.


LINT_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat("lint", "text/plain", ".txt", "render_text", for_people=True),
        "json": OutputFormat("lint", "application/json", ".json", "render_json"),
        "github": OutputFormat("annotations", ANNOTATIONS, ".txt", "render_lint_github"),
        "gitlab": OutputFormat("annotations", "application/json", ".json", "render_lint_gitlab"),
        "sarif": OutputFormat(
            "sarif", "application/sarif+json", ".sarif", "render_lint_sarif", whole=True
        ),
    }
)


# The formats of `diff`, by the name that chooses them; each writes a comparison.


DIFF_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat("diff", "text/plain", ".txt", "render_text", for_people=True),
        "json": OutputFormat("diff", "application/json", ".json", "render_json"),
        "markdown": OutputFormat("diff", "text/markdown", ".md", "render_markdown"),
    }
)


# The formats of `kyvsim explain`, by the name that chooses them; each writes objects on a page.


EXPLAIN_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat("explain", "text/plain", ".txt", "render_text", for_people=True),
        "json": OutputFormat("explain", "application/json", ".json", "render_json"),
        "html": OutputFormat("explain", "text/html", ".html", "render_html"),
    }
)


# The formats of `simulate`, by the name that chooses them.
#
# Each writes a simulation as a `TimelineLook` shows it.


TIMELINE_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat("timeline_text", "text/plain", ".txt", "render_text", for_people=True),
        "json": OutputFormat("timeline_json", "application/json", ".json", "render"),
        "html": OutputFormat("timeline_html", "text/html", ".html", "render"),
        "mermaid": OutputFormat("timeline_text", "text/plain", ".mmd", "render_mermaid"),
    }
)


# The formats of `equal`, by the name that chooses them; each writes what was found.


EQUAL_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat("equal", "text/plain", ".txt", "render_text", for_people=True),
        "html": OutputFormat("equal", "text/html", ".html", "render_html"),
        "json": OutputFormat("equal", "application/json", ".json", "render_json"),
    }
)


# The formats of `migrate`, by the name that chooses them; each writes what became of policies.


MIGRATE_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat("migrate", "text/plain", ".txt", "render_text", for_people=True),
        "html": OutputFormat("migrate", "text/html", ".html", "render_html"),
        "json": OutputFormat("migrate", "application/json", ".json", "render_json"),
    }
)


# The formats of `chainsaw`, by the name that chooses them.
#
# Each writes a report of tests as a `Sight` shows it.


CHAINSAW_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat("chainsaw", "text/plain", ".txt", "render_text", for_people=True),
        "json": OutputFormat("chainsaw", "application/json", ".json", "render_json"),
        "junit": OutputFormat("chainsaw", "application/xml", ".xml", "render_junit"),
    }
)


# The formats of `test --coverage`, by the name that chooses them; each writes a coverage.


COVERAGE_FORMATS: Mapping[str, OutputFormat] = MappingProxyType(
    {
        "text": OutputFormat("coverage", "text/plain", ".txt", "render_text", for_people=True),
        "json": OutputFormat("coverage", "application/json", ".json", "render_json"),
        "lcov": OutputFormat("coverage", "text/plain", ".info", "render_lcov"),
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
