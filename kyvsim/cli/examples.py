"""`kyvsim examples`: manifests that pass and fail each rule."""

import os
import sys
from typing import Any

import click

from kyvsim.api.equal import make_examples
from kyvsim.api.inputs import ApplyInputs
from kyvsim.api.suite_files import Creation, create_test
from kyvsim.cli.command import Command
from kyvsim.cli.golden_files import check_folder, write_in
from kyvsim.cli.options import (
    case_limits,
    crd_option,
    force_option,
    refuse_urls,
    resource_option,
)
from kyvsim.cli.output_files import reader_of
from kyvsim.cli.parameters import OUTPUT, Effect, PathType, argument, option
from kyvsim.cli.streams import (
    close,
    is_terminal,
    print_diagnostics,
    print_stderr,
    stdin_of,
    waiting,
    write_out,
)
from kyvsim.kubernetes.objects import object_key
from kyvsim.model.comparison import Examples, SearchBudget
from kyvsim.report.equal import examples_ending, missing_example_text, stream, targets_stream
from kyvsim.report.formats import YAML
from kyvsim.report.style import safe_line

_HELP = """For each rule, generate small manifests that pass and that fail.

POLICY is a file, a folder or - for standard input. The manifests are derived from the fields that
the policies read; a comment above each manifest shows the results of the rules. With --output, the
manifests are written to a folder, together with a kyverno-test.yaml.

\b
    kyvsim examples require-labels.yaml
    kyvsim examples require-labels.yaml --output tests/require-labels
"""
_MANIFEST = "kyverno-test.yaml"


@click.command(
    "examples",
    cls=Command,
    help=_HELP,
    epilog="Exit status: 0 if there is an example for every outcome of every rule, 1 if one is "
    "missing, 2 if some input could not be used.",
)
@argument("paths", nargs=-1, metavar="POLICY...", type=PathType(), key="policies")
@option(
    "-o",
    "--output",
    # In other commands, `-o` is `--output-format`.
    old_names=("-o",),
    effect=Effect.WRITES_NEW,
    metavar="DIR",
    type=PathType(is_written=True),
    group=OUTPUT,
    help="Write the manifests and a test to this folder instead of printing them.",
)
@resource_option("Manifests to derive the examples from. Repeatable.")
@crd_option("--crd-paths", "--crd-path")
@case_limits(" per policy")
@force_option("Write into a folder that is not empty.")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Run `kyvsim examples` and return its exit status."""
    paths, folder = options["paths"], options["output"]
    if not paths:
        raise click.UsageError("no policy given: pass files or folders of policies", ctx)
    refuse_urls((*paths, *options["resource"]), ctx)
    if folder and "-" in paths:
        raise click.UsageError(
            "--output needs policy files: a test cannot refer to standard input (-)", ctx
        )
    if folder:
        check_folder(folder, reader_of(options, ctx), force=options["force"])
    given = ("paths", "resource", "crd_paths")
    stdin = stdin_of({name: options[name] for name in given}, ctx)
    inputs = ApplyInputs(
        policies=paths, resources=options["resource"], crd_paths=options["crd_paths"]
    )
    with waiting("generating examples", shown=is_terminal(sys.stderr)):
        examples = make_examples(
            inputs, SearchBudget(options["max_cases"], options["seconds"]), stdin
        )
    print_diagnostics(examples.diagnostics)
    for example in examples.missing:
        print_stderr(safe_line(f"warning: {missing_example_text(example)}"))
    if not folder:
        write_out(stream(examples), YAML)
        if examples.found and examples.targets:
            write_out(["---\n", *targets_stream(examples)], YAML)
    elif examples.found:
        _write(folder, examples, paths)
    ending = examples_ending(examples)
    close(ending, on_stdout=False)
    return ending.status


def _write(folder: str, examples: Examples, policies: tuple[str, ...]) -> None:
    """Write the objects, and a test with their current results.

    Each example with objects that policies look up is in a file of its own: other examples may
    require that these do not exist.
    """
    for number, example in enumerate(examples.found, 1):
        if example.lookups:
            name = f"lookups-{number}-{object_key(example.object).name}.yaml"
            path = os.path.join(folder, name)
            write_in(folder, path, "".join(stream(examples._replace(found=(example,), missing=()))))
            print_stderr(safe_line(f"wrote {path}, for `kyvsim apply --resource`"))
    alone = tuple(example for example in examples.found if not example.lookups)
    if not alone:
        return
    resources = os.path.join(folder, "resources.yaml")
    write_in(folder, resources, "".join(stream(examples._replace(found=alone))))
    targets = (os.path.join(folder, "targets.yaml"),) if examples.targets else ()
    for path in targets:
        write_in(folder, path, "".join(targets_stream(examples)))
    created = create_test(Creation(policies, (resources,), folder, _MANIFEST, targets))
    for text in created.remarks:
        print_stderr(safe_line(f"warning: {text}"))
    for file in created.files:
        write_in(folder, file.path, file.text)
    print_stderr(safe_line(f"wrote {resources} and {os.path.join(folder, _MANIFEST)}"))
