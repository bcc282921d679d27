"""Exclusions of a podSecurity rule name controls of its level, and images where they need them.

upstream: api/kyverno/v1/{rule,common}_types.go, pkg/pss/utils/mapping.go
"""

from collections.abc import Iterator

from kyvsim.kube.go_text import quote
from kyvsim.kube.objects import Json
from kyvsim.languages.classic.checks.refusal import RuleUnderCheck
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.source import Path

_RESTRICTED = (
    "Volume Types",
    "Privilege Escalation",
    "Running as Non-root",
    "Running as Non-root user",
)
"""Controls of the restricted level that the baseline level does not have."""
_OF_PODS = ("Host Namespaces", "HostPath Volumes", "Sysctls", "Volume Types")
_OF_CONTAINERS = (
    "Capabilities",
    "Privileged Containers",
    "Host Ports",
    "/proc Mount Type",
    "Privilege Escalation",
)


def check_pod_security(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Every exclusion of a podSecurity rule is complete and of the rule's level."""
    rule = subject.data.get("validate", {}).get("podSecurity", {})
    for index, entry in enumerate(rule.get("exclude", ())):
        place = f"{subject.text_path}.podSecurity.exclude[{index}]"
        path: Path = ("validate", "podSecurity", "exclude", index)
        control = entry.get("controlName", "")
        for text in exclusion_problems(entry):
            yield subject.refuse("KV128", f"{place}.{text}", path)
        if rule.get("level") == "baseline" and control in _RESTRICTED:
            text = (
                f"{place}.controlName: Invalid value: {quote(control)}: Invalid control name"
                " defined at the given level"
            )
            yield subject.refuse("KV128", text, path)


def exclusion_problems(entry: Json) -> Iterator[str]:
    """Yield what is wrong with an exclusion of controls, beginning with the field."""
    control = entry.get("controlName", "")
    images = entry.get("images")
    if control in _OF_CONTAINERS and not images:
        yield (
            f"controlName: Invalid value: {quote(control)}: exclude.images must be specified for"
            " the container level control"
        )
    elif control in _OF_PODS and images:
        yield (
            f"controlName: Invalid value: {quote(control)}: exclude.images must not be specified"
            " for the pod level control"
        )
    if entry.get("restrictedField") and not entry.get("values"):
        yield "values: Forbidden: values is required"
    if entry.get("values") and not entry.get("restrictedField"):
        yield "restrictedField: Forbidden: restrictedField is required"
