"""Annotations of policies whose values mean nothing, so that they have no effect.

upstream: pkg/utils/report/results.go `SeverityFromString`, pkg/autogen/v1
"""

from collections.abc import Iterator

from kyvsim.compile.remark import warn
from kyvsim.languages.classic.autogen import ANNOTATION, POD_CONTROLLERS
from kyvsim.model.diagnostic import Diagnostic, Fix, Way, change
from kyvsim.model.policy import SEVERITIES, Policy

SEVERITY = "policies.kyverno.io/severity"


def meaningless_severity(policy: Policy) -> Iterator[Diagnostic]:
    """KV217: a severity that no report shows."""
    value = policy.annotations.get(SEVERITY)
    if value is not None and value not in SEVERITIES:
        text = f"`{value}` is no severity, reports leave it out: use {_listed(SEVERITIES)}"
        path = ("metadata", "annotations", SEVERITY)
        meant = str(value).strip().lower()
        fix = Fix(f"use {meant}", (change(policy.document, Way.VALUE, path, meant),))
        yield warn(policy.document, "KV217", text, path, fix=fix if meant in SEVERITIES else None)


def meaningless_controllers(policy: Policy) -> Iterator[Diagnostic]:
    """KV218: a name in the autogen annotation that is not a pod controller."""
    value = policy.annotations.get(ANNOTATION)
    if value in {None, "", "none", "all"}:
        return
    for name in str(value).split(","):
        if name not in POD_CONTROLLERS:
            text = (
                f"`{name}` is not a pod controller: use `none`, or "
                f"{_listed(sorted(POD_CONTROLLERS))} with commas and no spaces between them"
            )
            yield warn(policy.document, "KV218", text, ("metadata", "annotations", ANNOTATION))


def _listed(names: tuple[str, ...] | list[str]) -> str:
    *first, last = (f"`{name}`" for name in names)
    return f"{', '.join(first)} or {last}"
