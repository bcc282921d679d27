"""Options for the inputs of commands that evaluate policies on resources."""

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import click

from kyvsim.api import ApplyInputs
from kyvsim.api.inputs import AS_GIVEN, WhatIf
from kyvsim.cli.command import configuration_files
from kyvsim.cli.options import (
    budget_of,
    budget_option,
    crd_option,
    exception_option,
    file_option,
    list_option,
    model_option,
    paths_option,
    refuse_urls,
    release_option,
    resource_option,
    time_option,
    walking_of,
    walking_options,
)
from kyvsim.cli.output_files import is_among, paths_of, read_path
from kyvsim.cli.parameters import (
    EVALUATION,
    INPUT,
    REQUEST,
    Decorator,
    Effect,
    Options,
    PathType,
    argument,
    bad_value,
    combined,
    flag_option,
    option,
    safe_option,
)
from kyvsim.cli.streams import print_stderr, stdin_of
from kyvsim.load.files import Source
from kyvsim.load.folders import IGNORE_FILE
from kyvsim.load.programs import (
    ChangesError,
    RenderError,
    changes_since,
    rendered_chart,
    rendered_kustomization,
)
from kyvsim.load.values import files_of_values, named_user
from kyvsim.model.request import Operation, PayloadMode
from kyvsim.report.style import safe_line

changed_option = option(
    "--changed",
    effect=Effect.RUNS,
    is_flag=False,
    flag_value="HEAD",
    metavar="[REF]",
    group=INPUT,
    help="Evaluate only files changed since the merge base with REF [default: HEAD]; other "
    "files are used for lookups only.",
)


def _labels(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> Any:
    """Return labels as (namespace, key, value); raises UsageError."""
    labels: list[tuple[str, str, str]] = []
    for value in values:
        namespace, colon, texts = value.partition(":")
        pairs = [pair.partition("=") for pair in texts.split(",")]
        if not (namespace and colon and all(key and equals for key, equals, _ in pairs)):
            text = f"{value}: not of the form NAMESPACE:KEY=VALUE[,KEY=VALUE]"
            raise bad_value(ctx, param.opts[-1], text)
        labels += [(namespace, key, label) for key, _, label in pairs]
    return tuple(labels)


what_if_options = combined(
    safe_option(
        "--as",
        "as_user",
        default="",
        metavar="USER",
        group=REQUEST,
        help="User that sends the requests.",
    ),
    safe_option(
        "--as-group",
        multiple=True,
        metavar="GROUP",
        group=REQUEST,
        help="Group of the --as user. Repeatable.",
    ),
    safe_option(
        "--operation",
        type=click.Choice(tuple(operation.value for operation in Operation)),
        group=REQUEST,
        help="Operation of the requests [default: CREATE, or UPDATE with --old-resource].",
    ),
    paths_option(
        "--old-resource",
        "--old-resources",
        group=REQUEST,
        help="Resources before an update; resources of the same name are evaluated as UPDATE"
        " requests. Repeatable.",
    ),
    safe_option(
        "--namespace-labels",
        multiple=True,
        callback=_labels,
        metavar="NAMESPACE:KEY=VALUE",
        group=REQUEST,
        help="Labels to assume for a namespace; overrides every other source. Repeatable.",
    ),
    list_option(
        "--without-exception",
        "--without-exceptions",
        metavar="[NAMESPACE/]NAME",
        group=REQUEST,
        help="Ignore this PolicyException (* for all). Repeatable.",
    ),
)


rendering_options = combined(
    paths_option(
        "--helm",
        effect=Effect.RUNS,
        help="Render this Helm chart with `helm template` and evaluate the output. Repeatable.",
    ),
    paths_option("--helm-values", help="Values file for --helm. Repeatable."),
    paths_option(
        "--kustomize",
        effect=Effect.RUNS,
        help="Render this kustomization with `kustomize build` or `kubectl kustomize` and "
        "evaluate the output. Repeatable.",
    ),
)


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
_OPTIONS = combined(
    resource_option(
        "Resources to evaluate: files, folders or - for standard input. Repeatable.", shared=True
    ),
    paths_option(
        "--target-resource",
        "--target-resources",
        shared=True,
        help="Existing objects that mutate-existing rules may change. Repeatable.",
    ),
    paths_option(
        "--parameter-resource",
        "--parameter-resources",
        shared=True,
        help="Parameter objects that admission policy bindings refer to. Repeatable.",
    ),
    exception_option(shared=True),
    file_option("-f", "--values-file", shared=True, help="Values file for variables in policies."),
    list_option(
        "-s",
        "--set",
        "set_values",
        shared=True,
        metavar="NAME=VALUE",
        group=INPUT,
        help="Value of a variable. Repeatable.",
    ),
    file_option(
        "-u",
        "--userinfo",
        shared=True,
        group=REQUEST,
        help="File with the requesting user's identity.",
    ),
    file_option("--context-file", shared=True, help="Data for context lookups of CEL policies."),
    paths_option(
        "--json",
        "json_files",
        shared=True,
        help="JSON/YAML payloads for policies in JSON mode. Repeatable.",
    ),
    paths_option(
        "--http-payload",
        shared=True,
        help="JSON files with requests for policies in HTTP mode. Repeatable.",
    ),
    paths_option(
        "--envoy-payload",
        shared=True,
        help="JSON files with requests for policies in Envoy mode. Repeatable.",
    ),
    crd_option("--crd-paths", "--crd-path", shared=True),
    flag_option(
        "--exceptions-with-resources",
        "--exceptions-within-resources",
        shared=True,
        group=INPUT,
        help="Also read PolicyExceptions found in the resource files.",
    ),
    flag_option(
        "--exceptions-within-policies",
        shared=True,
        group=INPUT,
        help="Also read PolicyExceptions found in the policy files.",
    ),
    release_option(),
    model_option(shared=True, default="kyverno-1.19", show_default=True),
    budget_option,
    safe_option(
        "--now",
        shared=True,
        callback=time_option,
        metavar="TIME",
        group=EVALUATION,
        help="Current time for policies and schedules, in RFC 3339 format [default: system time].",
    ),
)


def input_options_of(metavar: str) -> Decorator:
    """Return a decorator that adds the input options, with the metavar of the policies."""
    path = PathType()
    return combined(
        argument("policies", shared=True, nargs=-1, metavar=metavar, type=path, key="policies"),
        _OPTIONS,
        rendering_options,
        changed_option,
        what_if_options,
        walking_options,
    )


input_options = combined(
    input_options_of("POLICY..."),
    paths_option(
        "--policy",
        help="Policy file or folder; positional arguments are then read as resources. Repeatable.",
    ),
    flag_option(
        "--skip-others",
        group=INPUT,
        help="Ignore files without manifests even when named explicitly (for pre-commit).",
    ),
)


def with_manifests_named(options: Options) -> dict[str, Any]:
    """Return the options; if --policy is set, positional arguments are resources."""
    if not options["policy"]:
        return dict(options)
    manifests = (*options["resource"], *options["policies"])
    return {**options, "policies": options["policy"], "resource": manifests}


def check_inputs(ctx: click.Context, options: Options) -> None:
    """Raise UsageError if there is nothing to evaluate, or options contradict each other.

    upstream: cmd/cli/kubectl-kyverno/commands/apply/command.go
    """
    policies, resources = options["policies"], options["resource"]
    if options["values_file"] and options["set_values"]:
        raise click.UsageError("pass values with either --set or --values-file, not both", ctx)
    if not policies:
        raise click.UsageError("no policy given: pass files or folders of policies", ctx)
    given = bool(resources) or is_rendered(options)
    if given and options["json_files"]:
        text = "pass either resources or payloads (--json), not both: run kyvsim once for each"
        raise click.UsageError(text, ctx)
    if not given and not _payloads(options):
        raise click.UsageError(
            "no resource given: pass manifests with --resource PATH (- for standard input)", ctx
        )
    refuse_urls(
        (*policies, *resources, *options["target_resource"], *options["parameter_resource"]), ctx
    )
    for pair in options["set_values"]:
        name, _, value = pair.partition("=")
        if not name or not value or "=" in value:
            raise bad_value(ctx, "--set", f"{pair}: not of the form name=value")


def _decider(options: Options) -> Callable[[str], bool]:
    """Return a function that returns whether a changed or deleted file affects other resources."""
    apart = () if options["exceptions_with_resources"] else ("resource",)
    names = (*(name for name in _EVERY if name not in apart), "baseline")
    named = [read_path(path) for name in names for path in paths_of(options, name)]

    def decides(place: str) -> bool:
        if is_among(place, named):
            return True
        values = options["values_file"]
        if values in {"", "-"}:
            return False
        return place in map(os.path.realpath, files_of_values(values))

    return decides


def stdin_for(options: Options, ctx: click.Context) -> bytes | None:
    """Return standard input if it is one of the inputs."""
    return stdin_of({name: options[name] for name in _FILES}, ctx)


def inputs_of(options: Options, ctx: click.Context) -> ApplyInputs:
    """Return the inputs of the options; raises UsageError."""
    same = (
        *(
            "policies",
            "values_file",
            "set_values",
            "userinfo",
            "context_file",
            "crd_paths",
            "model",
            "release",
        ),
        *("exceptions_with_resources", "exceptions_within_policies", "now"),
    )
    return ApplyInputs(
        **{name: options[name] for name in same},
        resources=(*options["resource"], *rendered(options, ctx)),
        targets=options["target_resource"],
        parameters=options["parameter_resource"],
        exceptions=options["exception"],
        payloads=_payloads(options),
        walking=walking_of(options, ctx)._replace(as_found=bool(options.get("skip_others"))),
        what_if=what_if_of(options, ctx),
        unchanged=unchanged_of(options, ctx, lambda: _decider(options)),
        budget=budget_of(options["budget"], ctx),
    )


def _payloads(options: Options) -> tuple[tuple[PayloadMode, str], ...]:
    sorts = (
        (PayloadMode.JSON, "json_files"),
        (PayloadMode.HTTP, "http_payload"),
        (PayloadMode.ENVOY, "envoy_payload"),
    )
    return tuple((mode, path) for mode, name in sorts for path in options[name])


def unchanged_of(
    options: Options, ctx: click.Context, decider: Callable[[], Callable[[str], bool]]
) -> frozenset[str] | None:
    """Return the real paths of unchanged files, or None to evaluate all; raises UsageError.

    All are evaluated if a changed file affects all, such as the configuration or a policy:
    `decider` returns a function that detects these.
    """
    ref = options["changed"]
    if ref is None:
        return None
    try:
        changes = changes_since(ref)
    except ChangesError as error:
        raise bad_value(ctx, "--changed", f"{ref}: {error}") from None
    decides = decider()
    own = {os.path.realpath(file) for file in configuration_files(ctx).paths}
    for file in sorted(changes.changed):
        if decides(file) or file in own or os.path.basename(file) == IGNORE_FILE:
            print_stderr(safe_line(f"{os.path.relpath(file)} has changed: all files are evaluated"))
            return None
    return changes.unchanged


def what_if_of(options: Options, ctx: click.Context) -> WhatIf:
    """Return the assumptions of the options; raises UsageError."""
    user, groups = options["as_user"], options["as_group"]
    operation = options["operation"]
    if groups and not user:
        raise click.UsageError("--as-group needs a user: add --as USER", ctx)
    if options["old_resource"] and operation not in {None, Operation.UPDATE.value}:
        text = f"--old-resource requires UPDATE: it cannot be combined with --operation {operation}"
        raise click.UsageError(text, ctx)
    if operation and any(one.startswith("request.operation=") for one in options["set_values"]):
        text = "set the operation with either --operation or --set request.operation, not both"
        raise click.UsageError(text, ctx)
    return AS_GIVEN._replace(
        user=named_user(user, groups) if user else None,
        operation=Operation(operation) if operation else None,
        old_resources=options["old_resource"],
        namespace_labels=options["namespace_labels"],
        without_exceptions=options["without_exception"],
    )


def is_rendered(options: Mapping[str, object]) -> bool:
    """Return whether manifests are to be rendered."""
    return bool(options["helm"] or options["kustomize"])


def rendered(options: Options, ctx: click.Context) -> tuple[Source, ...]:
    """Return the rendered manifests; raises ClickException."""
    if options["helm_values"] and not options["helm"]:
        raise click.UsageError("--helm-values requires --helm", ctx)
    if not is_rendered(options):
        return ()
    try:
        charts = [rendered_chart(chart, options["helm_values"]) for chart in options["helm"]]
        folders = [rendered_kustomization(folder) for folder in options["kustomize"]]
        return tuple(chain(*charts, *folders))
    except RenderError as error:
        raise click.ClickException(str(error)) from None
