"""The formats of `apply`, by the name that chooses them; each begins a `Writing`."""

from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.report.format import ANNOTATIONS, Format

FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "text": Format("view", "text/plain", ".txt", for_people=True, parted=True),
        "table": Format("table", "text/plain", ".txt", for_people=True, whole=True, parted=True),
        "json": Format("json_document", "application/json", ".json", parted=True),
        "yaml": Format("yaml_document", "application/yaml", ".yaml", parted=True),
        "manifests": Format("manifests", "application/yaml", ".yaml"),
        "policy-report": Format(
            "policy_report", "application/yaml", ".yaml", "begin_yaml", parted=True
        ),
        "policy-report-json": Format(
            "policy_report", "application/json", ".json", "begin_json", parted=True
        ),
        "open-report": Format(
            "policy_report", "application/yaml", ".yaml", "begin_open_yaml", parted=True
        ),
        "open-report-json": Format(
            "policy_report", "application/json", ".json", "begin_open_json", parted=True
        ),
        "exceptions": Format(
            "policy_exceptions", "application/yaml", ".yaml", "begin_yaml", parted=True
        ),
        "exceptions-json": Format(
            "policy_exceptions", "application/json", ".json", "begin_json", parted=True
        ),
        "junit": Format("run_junit", "application/xml", ".xml", parted=True),
        "sarif": Format("run_sarif", "application/sarif+json", ".sarif"),
        "github": Format("run_github", ANNOTATIONS, ".txt", parted=True),
        "gitlab": Format("run_gitlab", "application/json", ".json"),
        "markdown": Format("run_markdown", "text/markdown", ".md", parted=True),
        "csv": Format("run_csv", "text/csv", ".csv", parted=True),
        "html": Format("run_html", "text/html", ".html", whole=True, parted=True, explains=True),
    }
)
