"""`kyvsim test --create`: a manifest with its files of expected objects, for what happens now."""

import os
from collections.abc import Mapping
from typing import Any

import click

from kyvsim.api.suite_create import Created, Creation, create_test
from kyvsim.cli.exit_status import OK, UNUSABLE
from kyvsim.cli.golden_files import check_place, write_file
from kyvsim.cli.overwriting import reader_of, refuse_existing, refuse_read
from kyvsim.cli.streams import OutputError, print_stderr
from kyvsim.cli.suite_options import wants_coverage, wants_mutants
from kyvsim.report.style import counted, safe_line


def create(options: Mapping[str, Any], ctx: click.Context) -> int:
    """Write a manifest for policies and resources; return the exit status."""
    creation = _creation(options, ctx)
    created = create_test(creation)
    for one in created.diagnostics:
        print_stderr(safe_line(str(one)))
    for text in created.remarks:
        print_stderr(safe_line(f"warning: {text}"))
    if not created.files:
        reason = "there is nothing that a row could expect"
        print_stderr(f"error: nothing written: {'see above' if created.unusable else reason}")
        return UNUSABLE
    refuse_read((file.path for file in created.files), reader_of(options, ctx))
    _write(created, creation, force=options["force"])
    return OK


def _creation(options: Mapping[str, Any], ctx: click.Context) -> Creation:
    folders = options["output_format"]
    policies, resources = options["paths"], options["resource"]
    if not policies or not resources:
        text = "--create needs policies and resources: kyvsim test --create POLICY -r RESOURCE"
        raise click.UsageError(text, ctx)
    if options["update"] or options["lenient"]:
        raise click.UsageError("--create goes with neither --update nor --lenient", ctx)
    if options["watch"]:
        raise click.UsageError("--create does not go with --watch: it runs no tests", ctx)
    if wants_coverage(options):
        raise click.UsageError("--create runs no rows: there is no coverage to show", ctx)
    if wants_mutants(options):
        raise click.UsageError("--create runs no rows: they notice no mutants", ctx)
    if len(folders) > 1:
        raise click.UsageError("with --create, -o is one folder", ctx)
    for path in (*policies, *resources):
        if path == "-" or "://" in path:
            text = f"--create needs files that the manifest can name, not {path}"
            raise click.UsageError(text, ctx)
    name = options["file_name"]
    if os.path.basename(name) != name:
        raise click.UsageError(f"--file-name {name}: with --create it is a name, no path", ctx)
    return Creation(policies, resources, folders[0] if folders else ".", name)


def _write(created: Created, creation: Creation, *, force: bool) -> None:
    """Write all files, or none where one of them is there and `force` is not given."""
    if not force:
        refuse_existing(file.path for file in created.files)
    try:
        os.makedirs(creation.folder or ".", exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write to {creation.folder}: {error.strerror}") from None
    for file in created.files:
        check_place(file)
    for file in created.files:
        write_file(file)
        print_stderr(safe_line(f"wrote {os.path.normpath(file.path)}"))
    print_stderr(
        safe_line(
            f"{counted(created.row_count, 'row')}; run them with: kyvsim test {creation.folder}"
        )
    )
