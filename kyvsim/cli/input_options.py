"""What commands that evaluate policies over resources read: its options, and their meaning."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from kyvsim.api import ApplyInputs
from kyvsim.cli import declared
from kyvsim.cli.changed import changed_option, unchanged_of
from kyvsim.cli.options import budget_of, budget_option, list_option, refuse_urls, time_option
from kyvsim.cli.rendering import is_rendered, rendered, rendering_options
from kyvsim.cli.stdin import stdin_of
from kyvsim.cli.walking import walking_of, walking_options
from kyvsim.cli.what_if import what_if_of, what_if_options
from kyvsim.model.request import PayloadMode

_MODELS = ("kyverno-1.19", "background-gates-generate")
_FILES = (
    "policies",
    "resource",
    "target_resource",
    "parameter_resource",
    "exception",
    "crd_paths",
    "values_file",
    "userinfo",
    "context_file",
    "old_resource",
)
_EVERY = (*_FILES, "json_files", "http_payload", "envoy_payload")
_OPTIONS = declared.options(
    list_option(
        "-r",
        "--resource",
        "--resources",
        help="Resource files, folders or - for stdin.",
        paths=True,
    ),
    list_option(
        "--target-resource",
        "--target-resources",
        help="Existing objects that mutate rules may change on behalf of a resource.",
        paths=True,
    ),
    list_option(
        "--parameter-resource",
        "--parameter-resources",
        help="Parameters of Kubernetes' admission policies.",
        paths=True,
    ),
    list_option("-e", "--exception", "--exceptions", help="Policy exceptions.", paths=True),
    declared.option(
        "-f",
        "--values-file",
        default="",
        type=declared.PathText(),
        help="Values for the policies' variables.",
    ),
    list_option("-s", "--set", "set_values", help="Values as name=value."),
    declared.option(
        "-u",
        "--userinfo",
        default="",
        type=declared.PathText(),
        help="File that says who sends the requests.",
    ),
    declared.option(
        "--context-file",
        default="",
        type=declared.PathText(),
        help="Context data for CEL policies.",
    ),
    list_option(
        "--json",
        "json_files",
        help="JSON or YAML files that policies of mode JSON judge.",
        paths=True,
    ),
    list_option(
        "--http-payload",
        help="JSON files with requests that policies of mode HTTP judge.",
        paths=True,
    ),
    list_option(
        "--envoy-payload",
        help="JSON files with requests that policies of mode Envoy judge.",
        paths=True,
    ),
    list_option("--crd-paths", "--crd-path", help="Definitions of custom resources.", paths=True),
    declared.option(
        "--exceptions-with-resources",
        "--exceptions-within-resources",
        is_flag=True,
        help="Take policy exceptions out of the resource files too.",
    ),
    declared.option(
        "--exceptions-within-policies",
        is_flag=True,
        help="Take policy exceptions out of the policy files too.",
    ),
    declared.option(
        "--model",
        type=declared.Choice(_MODELS),
        default=_MODELS[0],
        show_default=True,
        help="Whose reading of the policies to follow.",
    ),
    budget_option,
    declared.option(
        "--now",
        callback=time_option,
        help="The current time (RFC 3339) for policies and schedules; the machine's by default.",
    ),
)


def input_options_of(metavar: str) -> declared.Decorator:
    """Return what adds the options that say what is read and supposed, for policies called so.

    Those on walking folders come last.
    """
    policies = declared.argument(
        "policies", nargs=-1, metavar=metavar, type=declared.PathText(), key="policies"
    )
    return declared.options(
        declared.shared(declared.options(policies, _OPTIONS)),
        rendering_options,
        changed_option,
        what_if_options,
        walking_options,
    )


_POLICY = list_option(
    "--policy",
    help="Policies; the arguments are manifests then, as hooks hand them over.",
    paths=True,
)
_SKIP_OTHERS = declared.option(
    "--skip-others",
    is_flag=True,
    help="Leave out files that hold no manifest, also where they are named, as a hook names them.",
)


input_options = declared.options(input_options_of("POLICY..."), _POLICY, _SKIP_OTHERS)
"""Adds the options for commands that take one set of policies."""


def with_manifests_named(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options where arguments are manifests, since policies are an option, as usual."""
    if not options["policy"]:
        return dict(options)
    manifests = (*options["resource"], *options["policies"])
    return {**options, "policies": options["policy"], "resource": manifests}


def check_inputs(call: declared.Call, options: Mapping[str, Any]) -> None:
    """Raise UsageError where nothing is given to evaluate, or options do not go together.

    upstream: cmd/cli/kubectl-kyverno/commands/apply/command.go
    """
    policies, resources = options["policies"], options["resource"]
    if options["values_file"] and options["set_values"]:
        raise declared.UsageError("pass values with either --set or --values-file, not both", call)
    if not policies:
        raise declared.UsageError("no policy given: pass files or folders of policies", call)
    given = bool(resources) or is_rendered(options)
    if given and options["json_files"]:
        text = "pass either resources or payloads (--json), not both: run kyvsim once for each"
        raise declared.UsageError(text, call)
    if not given and not _payloads(options):
        raise declared.UsageError(
            "no resource given: pass manifests with --resource PATH (- for standard input)", call
        )
    refuse_urls(
        (*policies, *resources, *options["target_resource"], *options["parameter_resource"]), call
    )
    for pair in options["set_values"]:
        name, _, value = pair.partition("=")
        if not name or not value or "=" in value:
            raise call.wrong("--set", f"{pair}: not of the form name=value")


def _decider(options: Mapping[str, Any]) -> Callable[[str], bool]:
    """Return what tells whether a file, which may be gone, decides on more than its own objects."""
    from kyvsim.cli.overwriting import is_among, paths_of, read_path  # noqa: PLC0415 — for changes only

    apart = () if options["exceptions_with_resources"] else ("resource",)
    names = (*(one for one in _EVERY if one not in apart), "baseline")
    named = [read_path(path) for name in names for path in paths_of(options, name)]

    def decides(place: str) -> bool:
        if is_among(place, named):
            return True
        values = options["values_file"]
        if values in {"", "-"}:
            return False
        from kyvsim.load.values import files_of_values  # noqa: PLC0415 — where there are some

        return place in map(os.path.realpath, files_of_values(values))

    return decides


def stdin_for(options: Mapping[str, Any], call: declared.Call) -> bytes | None:
    """Return standard input, if one of the paths asks for it."""
    return stdin_of({name: options[name] for name in _FILES}, call)


def inputs_of(options: Mapping[str, Any], call: declared.Call) -> ApplyInputs:
    """Return what the options say is to be read and supposed; raises UsageError.

    That is for a pattern of --exclude, and for suppositions that contradict each other.
    """
    return ApplyInputs(
        policies=options["policies"],
        resources=(*options["resource"], *rendered(options, call)),
        targets=options["target_resource"],
        parameters=options["parameter_resource"],
        exceptions=options["exception"],
        values_file=options["values_file"],
        set_values=options["set_values"],
        userinfo=options["userinfo"],
        context_file=options["context_file"],
        crd_paths=options["crd_paths"],
        model=options["model"],
        exceptions_with_resources=options["exceptions_with_resources"],
        exceptions_within_policies=options["exceptions_within_policies"],
        payloads=_payloads(options),
        now=options["now"],
        walking=walking_of(options, call)._replace(as_found=bool(options.get("skip_others"))),
        what_if=what_if_of(options, call),
        unchanged=unchanged_of(options, call, lambda: _decider(options)),
        budget=budget_of(options["budget"], call),
    )


def _payloads(options: Mapping[str, Any]) -> tuple[tuple[PayloadMode, str], ...]:
    sorts = (
        (PayloadMode.JSON, "json_files"),
        (PayloadMode.HTTP, "http_payload"),
        (PayloadMode.ENVOY, "envoy_payload"),
    )
    return tuple((mode, path) for mode, name in sorts for path in options[name])
