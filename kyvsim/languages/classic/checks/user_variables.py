"""In background mode rules may not read who sends a request.

upstream: pkg/validation/policy/background.go
"""

import re
from collections.abc import Iterator

from kyvsim.expr.variables import VARIABLE
from kyvsim.kube.objects import Json, contains_text
from kyvsim.languages.classic.checks.refusal import marked_texts, refuse, rules_under_check
from kyvsim.match.criteria import filters
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy
from kyvsim.model.source import Path

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_BACKGROUND = (
    "only select variables are allowed in background mode. Set spec.background=false to disable"
    " background mode for this policy rule: "
)


_ABOUT_USERS = (
    "serviceAccountName",
    "serviceAccountNamespace",
    "request.userInfo",
    "request.roles",
    "request.clusterRoles",
)
"""As upstream writes them: a dot stands for any character."""
_FORBIDDEN = re.compile(rf"[^.]({'|'.join(_ABOUT_USERS)})\b", re.ASCII)
_LAST_WORDS = tuple(one.rpartition(".")[2] for one in _ABOUT_USERS)


def check_user_variables(policy: Policy) -> Iterator[Diagnostic]:
    """Nothing in a background policy depends on the user."""
    if policy.background:
        for text, path in user_dependencies(policy):
            yield refuse(policy, "KV110", f"{_BACKGROUND}{text} ", path)


def user_dependencies(policy: Policy) -> Iterator[tuple[str, Path]]:
    """Yield why a policy depends on the user, and where it does.

    Variables are free where some rule mutates existing resources, match blocks never are.
    """
    for subject in rules_under_check(policy):
        for entry in (*filters(subject.data, "match"), *filters(subject.data, "exclude")):
            field = _user_field(entry.data)
            if field:
                place = f"{subject.text_path}.{entry.text_path}.{field}".replace(".", "/")
                text = f"invalid variable used at path: {place}"
                yield text, (*subject.rule.path, *entry.path, field)
    rules = policy.spec.get("rules", ())
    if any(rule.get("mutate", {}).get("targets") is not None for rule in rules):
        return
    if not any(contains_text(data, *_LAST_WORDS) for data in (policy.annotations, policy.spec)):
        return
    for path, variable in variables_of(policy):
        if any(one in variable for one in _LAST_WORDS) and _FORBIDDEN.search(variable):
            yield f"variable {variable} is not allowed", path


def _user_field(data: Json) -> str:
    return next((name for name in ("roles", "clusterRoles", "subjects") if data.get(name)), "")


def variables_of(policy: Policy) -> Iterator[tuple[Path, str]]:
    """Yield path and text of every variable in a policy, but for what was last applied."""
    for path, text in (
        *marked_texts(policy.annotations, ("metadata", "annotations")),
        *marked_texts(policy.spec, ("spec",)),
    ):
        if "{{" in text and path[-1] != _LAST_APPLIED:
            for found in VARIABLE.finditer(text):
                yield path, found[2]
