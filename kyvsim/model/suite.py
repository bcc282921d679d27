"""Test manifests: what is tested, what is expected, the outcome, and what tests miss."""

from decimal import Decimal
from typing import NamedTuple

from kyvsim.kubernetes.objects import KubernetesObject, Path
from kyvsim.model.comparison import Counterexample
from kyvsim.model.coverage import Coverage, Point, Ratio
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.request import PayloadMode
from kyvsim.model.result import ReportedReason
from kyvsim.model.source import Document, Location

# What tests notice of policies that are changed a little.


class SurvivingMutant(NamedTuple):
    """A change of a policy that no test notices."""

    policy: str
    kind: str
    was: str
    now: str
    """What stands there then; "" where it is left out."""
    location: Location
    line: str
    """The line of the policy that it stands in."""
    example: Counterexample | None
    """A case in which the policy (old) and the changed one (new) do not do the same; None where
    none was found."""
    looked_for: bool = True
    """Whether there was time to look for one."""


class Mutants(NamedTuple):
    """What came of changing policies."""

    noticed: int
    holes: tuple[SurvivingMutant, ...]
    same: int
    """How many do what the policy does, as far as cases show."""
    untried: int
    """How many were not tried, since the time was over."""

    @property
    def score(self) -> Ratio:
        """How many were noticed, of those that could be and were tried."""
        return Ratio(self.noticed, self.noticed + len(self.holes))


# What was found at the paths that a test reads, to see whether it has changed.


class FileState(NamedTuple):
    """A file as it was found, as far as is known without reading it."""

    path: str
    changed_at: int
    """Nanoseconds since 1970, 0 for a folder."""
    size: int
    inode: int
    mode: int


class Fingerprint(NamedTuple):
    """What was found at a path: a file, the files of a folder or of a pattern, or nothing."""

    path: str
    marks: tuple[FileState, ...]


# Test manifests: what is tested, what is expected, and what came of it.


class ResourceSpec(NamedTuple):
    """A resource named by its parts."""

    api_version: str
    kind: str
    namespace: str
    name: str


class ExpectedRow(NamedTuple):
    """One entry under `results`: the policy, rule and resources meant, and what is expected."""

    policy: str
    """A name, or `namespace/name`."""
    rule: str
    """"" for every rule."""
    result: str
    resources: tuple[str, ...] | None
    """Names, or `namespace/name`; None for every resource."""
    specs: tuple[ResourceSpec, ...]
    kind: str
    operation: str
    """"" for the one that the values name, CREATE by default."""
    patched: str
    """The file with the expected patched resources, as the manifest names it."""
    generated: tuple[str, ...]
    clone_source: str
    fails_on_missing: bool
    path: Path
    flags: tuple[str, ...] = ()
    """Fields such as `isValidatingPolicy`, which say of which kind the policy is."""


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
    """Files that policies judge by themselves."""
    rows: tuple[ExpectedRow, ...] = ()


class GoldenDifference(NamedTuple):
    """An object that is not as a file expects it."""

    file: str
    expected: object
    actual: object


class Golden(NamedTuple):
    """An object as a policy left it, and the file that should hold it."""

    file: str
    object: KubernetesObject


class RowOutcome(NamedTuple):
    """What came of one expected row for one resource; plain data that crosses processes."""

    policy: str
    rule: str
    resource: str
    """`apiVersion/Kind/namespace/name`."""
    result: str
    """`Pass`, `Fail`, or `Skip` where the policy is invalid."""
    reason: str
    message: str = ""
    skip: str = ""
    """The kind of skip where one was expected: no match, excluded, precondition, exception …"""
    location: Location | None = None
    """Where the expected row stands; only known for failed rows."""
    difference: GoldenDifference | None = None
    goldens: tuple[Golden, ...] = ()
    """Every object that was compared with a file and whose verdict is as expected, if asked for."""
    reasons: tuple[ReportedReason, ...] = ()
    """Of a failed row with a result: how the rule came to it, at least where the rule stands."""

    @property
    def failed(self) -> bool:
        """Whether the row counts as failed."""
        return self.result == "Fail"


class ManifestOutcome(NamedTuple):
    """What came of one manifest, or of a file that holds none that can be used."""

    file: str
    rows: tuple[RowOutcome, ...]
    diagnostics: tuple[Diagnostic, ...]
    inputs: tuple[Fingerprint, ...] = ()
    """What it depends on, as it was found before it was read: its file, and what that names."""
    points: tuple[Point, ...] = ()
    """What its policies have to reach, and what was reached; only found if asked for."""
    passed_over: tuple[str, ...] = ()
    """The policies of its rows where the selector chose none of them."""
    left_out: tuple[Diagnostic, ...] = ()
    """What was left out of the folders that it names: where, and what it is."""


class Demands(NamedTuple):
    """What the user asks of a run besides that its rows pass."""

    tests: bool = False
    """That there are any."""
    coverage: Decimal = Decimal()
    """How many percent of the policies are to be reached; 0 where it does not matter."""
    score: Decimal = Decimal()
    """How many percent of the mutants are to be noticed; 0 where it does not matter."""


class SuiteOutcome(NamedTuple):
    """What came of all manifests, in order."""

    manifests: tuple[ManifestOutcome, ...]
    diagnostics: tuple[Diagnostic, ...]
    """What is wrong besides the manifests: paths, the selector."""
    coverage: Coverage | None = None
    """What all manifests together reached, if asked for."""
    demands: Demands = Demands()
    not_updated: int = 0
    """How many files of expected objects could not be written."""
    left_out: tuple[Diagnostic, ...] = ()
    """What was left out of the folders in which manifests were looked for."""
    mutants: Mutants | None = None
    """What rows notice where policies are changed, if asked for."""

    @property
    def failed(self) -> int:
        """How many rows failed."""
        return sum(row.failed for one in self.manifests for row in one.rows)

    @property
    def total(self) -> int:
        """How many rows there are."""
        return sum(len(one.rows) for one in self.manifests)
