"""Test manifests: inputs, expectations, outcomes, and undetected mutants."""

from decimal import Decimal
from typing import NamedTuple

from kyvsim.kubernetes.objects import KubernetesObject, Path
from kyvsim.model.comparison import Counterexample
from kyvsim.model.coverage import Coverage, Point, Ratio
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.release import NEWEST
from kyvsim.model.request import PayloadMode
from kyvsim.model.result import ReportedReason
from kyvsim.model.source import Document, Location

# Mutants that tests do not detect.


class SurvivingMutant(NamedTuple):
    """A mutant that no test detects."""

    policy: str
    kind: str
    was: str
    now: str
    """The text after the change; "" if it was removed."""
    location: Location
    line: str
    """The source line in the policy."""
    example: Counterexample | None
    """A case with different results of the policy (old) and the mutant (new); None if not found."""
    looked_for: bool = True
    """Whether there was time to search for a case."""


class Mutants(NamedTuple):
    """The results of mutation testing."""

    noticed: int
    holes: tuple[SurvivingMutant, ...]
    same: int
    """The number of mutants that are equivalent to the policy, as far as cases show."""
    untried: int
    """The number of mutants that were not tried before the time limit."""

    @property
    def score(self) -> Ratio:
        """The detected mutants, of those that were tried and are not equivalent."""
        return Ratio(self.noticed, self.noticed + len(self.holes))


# The state of the paths that a test reads, to detect changes.


class FileState(NamedTuple):
    """The state of a file, as far as it is known without reading it."""

    path: str
    changed_at: int
    """In nanoseconds since 1970; 0 for a folder."""
    size: int
    inode: int
    mode: int


class Fingerprint(NamedTuple):
    """The files at a path: the file, those in a folder or matching a pattern, or none."""

    path: str
    marks: tuple[FileState, ...]


# Test manifests: inputs, expectations, and outcomes.


class ResourceSpec(NamedTuple):
    """A resource identified by its parts."""

    api_version: str
    kind: str
    namespace: str
    name: str


class ExpectedRow(NamedTuple):
    """One entry under `results`: policy, rule and resources, and the expectation."""

    policy: str
    """A name, or `namespace/name`."""
    rule: str
    """"" for all rules."""
    result: str
    resources: tuple[str, ...] | None
    """Names, or `namespace/name`; None for all resources."""
    specs: tuple[ResourceSpec, ...] = ()
    kind: str = ""
    operation: str = ""
    """"" for that of the values file; CREATE by default."""
    patched: str = ""
    """The file with the expected patched resources, as in the manifest."""
    generated: tuple[str, ...] = ()
    clone_source: str = ""
    fails_on_missing: bool = False
    path: Path = ()
    flags: tuple[str, ...] = ()
    """Fields such as `isValidatingPolicy`, which determine the kind of the policy."""


class Manifest(NamedTuple):
    """One document of kind Test; paths are as written, relative to the manifest's folder."""

    document: Document
    policies: tuple[str, ...]
    resources: tuple[str, ...]
    targets: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()
    cluster_resources: tuple[str, ...] = ()
    values_file: str = ""
    userinfo: str = ""
    context: str = ""
    payloads: tuple[tuple[PayloadMode, str], ...] = ()
    """Files with payloads for policies."""
    rows: tuple[ExpectedRow, ...] = ()


class GoldenDifference(NamedTuple):
    """An object that differs from an expected file."""

    file: str
    expected: object
    actual: object


class Golden(NamedTuple):
    """The object that results from a policy, and the file that should contain it."""

    file: str
    object: KubernetesObject


class RowOutcome(NamedTuple):
    """The outcome of one row for one resource; plain data that can be sent to other processes."""

    policy: str
    rule: str
    resource: str
    """`apiVersion/Kind/namespace/name`."""
    result: str
    """`Pass`, `Fail`, or `Skip` if the policy is invalid."""
    reason: str
    message: str = ""
    skip: str = ""
    """The kind of skip if one was expected: no match, excluded, precondition, exception …"""
    location: Location | None = None
    """The position of the row; only known for failed rows."""
    difference: GoldenDifference | None = None
    goldens: tuple[Golden, ...] = ()
    """The objects that were compared with files and have the expected status, if requested."""
    reasons: tuple[ReportedReason, ...] = ()
    """For a failed row with a result: its reasons, at least with the position of the rule."""

    @property
    def failed(self) -> bool:
        """Whether the row counts as failed."""
        return self.result == "Fail"


class ManifestOutcome(NamedTuple):
    """The outcome of one manifest, or of a file without a usable one."""

    file: str
    rows: tuple[RowOutcome, ...]
    diagnostics: tuple[Diagnostic, ...]
    inputs: tuple[Fingerprint, ...] = ()
    """The state of the files that it depends on, before they were read."""
    points: tuple[Point, ...] = ()
    """The coverage points of its policies, if requested."""
    passed_over: tuple[str, ...] = ()
    """The policies of its rows if the selector does not match any of them."""
    left_out: tuple[Diagnostic, ...] = ()
    """Ignored documents in its folders."""
    deprecated: tuple[str, ...] = ()
    """What the emulated release reports about deprecated kinds: a line for each document."""


class Demands(NamedTuple):
    """Additional requirements on a run, besides passed rows."""

    tests: bool = False
    """There must be tests."""
    coverage: Decimal = Decimal()
    """Minimum coverage of the policies in percent; 0 for no minimum."""
    score: Decimal = Decimal()
    """Minimum mutation score in percent; 0 for no minimum."""


class SuiteOutcome(NamedTuple):
    """The outcome of all manifests, in order."""

    manifests: tuple[ManifestOutcome, ...]
    diagnostics: tuple[Diagnostic, ...]
    """Diagnostics of paths and the selector."""
    coverage: Coverage | None = None
    """The coverage of all manifests, if requested."""
    demands: Demands = Demands()
    not_updated: int = 0
    """The number of expected files that could not be written."""
    left_out: tuple[Diagnostic, ...] = ()
    """Ignored documents in the searched folders."""
    mutants: Mutants | None = None
    """The results of mutation testing, if requested."""
    release: str = NEWEST.name
    """The release of Kyverno that is emulated."""

    @property
    def failed(self) -> int:
        """The number of failed rows."""
        return sum(row.failed for one in self.manifests for row in one.rows)

    @property
    def total(self) -> int:
        """The number of rows."""
        return sum(len(one.rows) for one in self.manifests)
