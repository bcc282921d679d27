"""Test manifests case by case, for programs that choose themselves which rows to check, and when.

A case is an expected row for one of the resources that it names; rows are read strictly.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kyvsim.api.suite import bench_of, no_rows, placed
from kyvsim.api.suite_inputs import read_test
from kyvsim.api.suite_reasons import compile_suite_reasons
from kyvsim.load.suite_manifest import read_manifests
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.suite import ExpectedRow, Manifest, RowOutcome
from kyvsim.suite.check import check_rows

_ALL = "*"


class Case(NamedTuple):
    """What one row expects of one resource; of all that it means where they can't be told apart."""

    name: str
    """`policy/rule/resource`, `*` for what the row leaves open."""
    row: ExpectedRow


class CaseFile(NamedTuple):
    """What a file of tests holds: manifests, each with its cases."""

    manifests: tuple[tuple[Manifest, tuple[Case, ...]], ...]
    diagnostics: tuple[Diagnostic, ...]


class OpenManifest(NamedTuple):
    """A manifest whose inputs are read and whose policies have been evaluated."""

    diagnostics: tuple[Diagnostic, ...]
    check: Callable[[ExpectedRow], tuple[RowOutcome, ...]] | None
    """Returns what came of a row, at least one outcome; None where inputs could not be used."""


def read_cases(file: str) -> CaseFile:
    """Return the cases of a file; only the file itself is read."""
    manifests, problems = read_manifests(file)
    empty = tuple(no_rows(one) for one in manifests if not one.rows)
    found = tuple((one, tuple(_cases(one))) for one in manifests)
    return CaseFile(found, (*problems, *empty))


def open_manifest(manifest: Manifest) -> OpenManifest:
    """Return a manifest ready to be checked, case by case, in any order."""
    inputs = read_test(manifest, manifest.rows)
    if inputs.unusable:
        return OpenManifest(inputs.diagnostics, None)
    bench = bench_of(manifest, inputs)._replace(reasons=compile_suite_reasons(inputs))

    def check(row: ExpectedRow) -> tuple[RowOutcome, ...]:
        found = check_rows((row,), inputs.suite, bench, lenient=False)
        return tuple(placed(manifest, row, one, keep_goldens=False) for _, one in found)

    return OpenManifest(inputs.diagnostics, check)


def _cases(manifest: Manifest) -> Iterator[Case]:
    for row in manifest.rows:
        for one in _one_by_one(row):
            names = [*(one.resources or ()), *("/".join(filter(None, spec)) for spec in one.specs)]
            parts = (one.policy, one.rule or _ALL, ",".join(names) or _ALL)
            yield Case("/".join(parts), one)


def _one_by_one(row: ExpectedRow) -> Iterator[ExpectedRow]:
    """Yield the row for each resource that it names.

    Where several files are expected, any of the resources may be the one that brings each about:
    such a row stays whole.
    """
    names = row.resources or ()
    if len(row.generated) > 1 or len(names) + len(row.specs) < 2:
        yield row
        return
    for name in names:
        yield row._replace(resources=(name,), specs=())
    for spec in row.specs:
        yield row._replace(resources=(), specs=(spec,))
