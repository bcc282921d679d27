"""`kyvsim explain`: how policies come to what they say of resources."""

from collections.abc import Mapping
from typing import Any

from kyvsim.api.explain import Asked, NotFoundError
from kyvsim.api.inputs import ApplyInputs
from kyvsim.cli import declared
from kyvsim.cli.apply import command as apply
from kyvsim.cli.apply import inputs_of, stdin_for
from kyvsim.cli.exit_status import OK, UNUSABLE
from kyvsim.cli.explain_run import opened, remark, show
from kyvsim.cli.options import refuse_urls
from kyvsim.cli.walking import walking_of
from kyvsim.model.diagnostic import Severity
from kyvsim.report.explain_formats import FORMATS

_HELP = """Show how policies come to what they say of resources, step by step.

POLICY is a file, a folder or - for standard input.

\b
    kyvsim explain policies/ --resource pods.yaml
    kyvsim explain policies/ -r pods.yaml --rule check-image --object Pod/web
    kyvsim explain policies/ -r pods.yaml --output-format html > why.html
"""

_NOT_SHARED = frozenset(
    {
        "output",
        "output_format",
        "policy_report",
        "table",
        "detailed_results",
        "diff",
        "stdin",
        "check_idempotent",
        "strict",
        "jobs",
        "audit_warn",
        "warn_exit_code",
        "warn_no_pass",
        "explain",
    }
)
"""Options of `apply` that say how results are shown and counted; all others say what is read."""


@declared.command(
    spelled_as_in_go=True,
    help=_HELP,
    epilog="Exit status: 0 it is explained, 2 some input could not be used.",
)
@declared.option("--rule", default="", help="Only this rule: its name, POLICY/RULE, or a policy.")
@declared.option(
    "--object", default="", help="Only this object: NAME, KIND/NAME, NAMESPACE/KIND/NAME."
)
@declared.option(
    "--output-format",
    type=declared.Choice(tuple(FORMATS), case_sensitive=False),
    default="text",
    show_default=True,
    help="How it is shown.",
)
@declared.pass_call
def _own(call: declared.Call, /, **options: Any) -> int:
    """Run `kyvsim explain` and return its exit status."""
    if not options["policies"]:
        raise declared.UsageError("no policy given: pass files or folders of policies", call)
    inputs = _inputs(options)._replace(walking=walking_of(options, call))
    if not (inputs.resources or inputs.payloads):
        text = "no resource given: pass manifests with --resource PATH (- for standard input)"
        raise declared.UsageError(text, call)
    refuse_urls((*options["policies"], *options["resource"]), call)
    stdin = stdin_for(options, call)
    asked = Asked(options["rule"], options["object"])
    try:
        found = opened(inputs, asked, stdin)
    except NotFoundError as error:
        remark(error.diagnostics)
        raise declared.UsageError(str(error), call) from None
    show(found, options["output_format"], options)
    is_broken = any(one.severity is Severity.ERROR for one in found.run.diagnostics)
    return UNUSABLE if is_broken else OK


_SHARED = tuple(one for one in apply.parameters if one.name not in _NOT_SHARED)

command = _own._replace(parameters=(*_SHARED, *_own.parameters))
"""`kyvsim explain`: all that `apply` reads, and what it has besides."""


def _inputs(options: Mapping[str, Any]) -> ApplyInputs:
    others = {"audit_warn": False, "check_idempotent": False}
    return inputs_of({**others, **options})
