"""Rows of test manifests as pytest items, each checked as by `kyvsim test`."""

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from kyvsim.api.suite import Case, OpenManifest, open_manifest, read_cases
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Location
from kyvsim.model.suite import Manifest, RowOutcome
from kyvsim.report.formats import log_safe
from kyvsim.report.style import safe_line
from kyvsim.report.suite_text import diff_text


class ManifestFile(pytest.File):
    """A file of test manifests; collecting it only reads this file."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield an item for each case; an invalid manifest is an error."""
        found = read_cases(str(self.path))
        self.warn_of(found.diagnostics)
        wrong = self.errors_of(found.diagnostics)
        if wrong:
            raise self.CollectError(wrong)
        taken: set[str] = set()
        for manifest, cases in found.manifests:
            # The manifest is opened and evaluated for its first row.
            opened = cache(partial(self._open, manifest))
            for case in cases:
                name = _unused(log_safe(safe_line(case.name)), taken)
                taken.add(name)
                yield ManifestRow.from_parent(self, name=name, case=case, opened=opened)

    def near(self, place: Location) -> Location:
        """Return a location relative to the folder in which pytest was started, if it is inside.

        Files are read by absolute path: a test may have changed the folder.
        """
        folder, path = self.config.invocation_params.dir, Path(place.file)
        if not path.is_relative_to(folder):
            return place
        return place._replace(file=str(path.relative_to(folder)))

    def errors_of(self, diagnostics: Iterable[Diagnostic]) -> str:
        """Return the errors of inputs, one on each line."""
        errors = (one for one in diagnostics if one.severity is Severity.ERROR)
        return "\n".join(map(self._reported, errors))

    def warn_of(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Emit a pytest warning for each diagnostic that is not an error."""
        for one in diagnostics:
            if one.severity is not Severity.ERROR:
                self.warn(pytest.PytestWarning(self._reported(one)))

    def _reported(self, one: Diagnostic) -> str:
        place = one.location
        return log_safe(str(one._replace(location=self.near(place)) if place else one))

    def _open(self, manifest: Manifest) -> OpenManifest:
        found = open_manifest(manifest)
        self.warn_of(found.diagnostics)
        return found


class ManifestRow(pytest.Item):
    """The expectation of one row of a manifest for one resource."""

    parent: ManifestFile

    def __init__(self, *, case: Case, opened: Callable[[], OpenManifest], **of_pytest: Any) -> None:
        super().__init__(**of_pytest)
        self._case = case
        self._opened = opened

    def setup(self) -> None:
        """Fail if an input of the manifest cannot be used."""
        wrong = self.parent.errors_of(self._opened().diagnostics)
        if wrong:
            pytest.fail(wrong, pytrace=False)

    def runtest(self) -> None:
        """Fail if the row does, with all of its unexpected outcomes."""
        check = self._opened().check
        outcomes = check(self._case.row) if check else ()
        failed = [self._shown(one) for one in outcomes if one.failed]
        if failed or not outcomes:
            pytest.fail("\n\n".join(failed) or "the manifest could not be used", pytrace=False)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the heading of a report for pytest; finding the line would read the file again."""
        return self.path, None, self.name

    def _shown(self, row: RowOutcome) -> str:
        place = f" ({safe_line(str(self.parent.near(row.location)))})" if row.location else ""
        name = " / ".join(filter(None, (row.policy, row.rule)))
        lines = [f"{safe_line(row.reason)}{place}", safe_line(f"{name}  {row.resource}".rstrip())]
        if row.message and row.message != row.reason:
            lines.append(row.message)
        if row.difference:
            file = self.parent.near(Location(row.difference.file)).file
            lines.append(diff_text(row.difference._replace(file=file)))
        return log_safe("\n".join(lines))


def _unused(name: str, taken: set[str]) -> str:
    """Return a name that no other item of the file has: a repeated one is numbered."""
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name}#{number}"
    return found
