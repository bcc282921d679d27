"""Chainsaw tests: steps and operations, and outcomes."""

from collections.abc import Mapping
from typing import NamedTuple

from kyvsim.kubernetes.objects import JsonMap
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.release import NEWEST
from kyvsim.model.simulation import TimelineEvent
from kyvsim.model.source import Location


class UnreachableError(Exception):
    """A path that a test may not use; the text is the reason."""


class Timeouts(NamedTuple):
    """Timeouts of operations, in virtual seconds.

    Chainsaw's own defaults are shorter where waiting takes real time.
    """

    apply: float = 30.0
    check: float = 120.0
    """Of `assert`."""
    cleanup: float = 30.0
    delete: float = 120.0
    error: float = 120.0
    exec: float = 120.0


class ChainsawBinding(NamedTuple):
    """A name and its value, which may be an expression."""

    name: str
    value: object
    compiler: str = ""
    """The language of its expressions; "" for the usual one."""


class ChainsawOperation(NamedTuple):
    """One entry of a block: an operation with its arguments."""

    kind: str
    """Its field name: `apply`, `assert`, `script` …"""
    spec: JsonMap
    location: Location
    bindings: tuple[ChainsawBinding, ...] = ()
    continues: bool = False
    """Whether the block continues if it fails."""
    foreign: str = ""
    """A required feature that cannot be simulated: another cluster, another language."""


class ChainsawStep(NamedTuple):
    """One step, including the blocks of its template."""

    name: str
    attempts: tuple[ChainsawOperation, ...]
    """The block `try`."""
    catch: tuple[ChainsawOperation, ...]
    final: tuple[ChainsawOperation, ...]
    """The block `finally`."""
    cleanup: tuple[ChainsawOperation, ...]
    bindings: tuple[ChainsawBinding, ...]
    timeouts: Mapping[str, float]
    """The timeouts that the step sets, by field of `Timeouts`."""
    template: bool | None = None
    """Whether scalars are evaluated; None if the step does not set it."""
    propagation: str = ""
    """The propagation policy of its deletions; "" if the step does not set it."""
    keeps: bool | None = None
    """Whether created objects are kept; None if the step does not set it."""
    used: str = ""
    """The file of the step template that the step uses; "" if none."""


class ChainsawConfiguration(NamedTuple):
    """The settings for all tests: a document of kind Configuration, or the defaults."""

    timeouts: Timeouts = Timeouts()
    template: bool | None = True
    """Whether scalars are evaluated; None without a configuration."""
    namespace: str = ""
    namespace_template: object = None
    """Further fields of a test's namespace; None for none."""
    catch: tuple[ChainsawOperation, ...] = ()
    propagation: str = "Background"
    keeps: bool = False
    delay: float = 0.0
    """Seconds between the end of a test and its cleanup."""
    grace_period: float | None = None
    """Grace period of Pods in seconds, which overrides their manifests."""
    test_file: str = ""
    """The name of test files; "" for the usual name."""
    foreign: str = ""


WITHOUT_CONFIGURATION = ChainsawConfiguration(template=None)
"""The defaults without a configuration."""


class ChainsawTest(NamedTuple):
    """One document of kind Test, or one of its scenarios, with the configuration applied."""

    name: str
    folder: str
    namespace: str
    """The namespace of the test; "" to create one."""
    template: bool | None
    """Whether scalars are evaluated; None if unset, which means yes."""
    skip: bool
    catch: tuple[ChainsawOperation, ...]
    bindings: tuple[ChainsawBinding, ...]
    timeouts: Timeouts
    steps: tuple[ChainsawStep, ...]
    metadata: JsonMap
    location: Location
    scenario: int = 0
    """The number of its scenario; 0 if it has none."""
    namespace_template: object = None
    propagation: str = "Background"
    keeps: bool = False
    delay: float = 0.0
    grace_period: float | None = None


class ChainsawOutcome(NamedTuple):
    """The outcome of one test; plain data that can be sent to other processes."""

    test: str
    file: str
    result: str
    """`pass`, `fail` or `unsupported`."""
    reason: str = ""
    location: Location | None = None
    """The decisive operation, if the test did not pass."""
    seconds: float = 0.0
    """Virtual time in seconds."""
    duration_ms: int = 0
    """Real time in milliseconds."""
    notes: tuple[str, ...] = ()
    events: tuple[TimelineEvent, ...] = ()
    """The timeline, if requested."""
    skipped: bool = False
    """Whether the test sets `skip`; its result is then `unsupported`."""


class ChainsawReport(NamedTuple):
    """The outcomes of all tests, in order, and unreadable inputs."""

    outcomes: tuple[ChainsawOutcome, ...]
    diagnostics: tuple[Diagnostic, ...]
    left_out: tuple[Diagnostic, ...] = ()
    """Ignored documents in the searched folders."""
    files: frozenset[str] = frozenset()
    """The files of tests, referenced files, and discovered configurations."""
    release: str = NEWEST.name
    """The release of Kyverno that is emulated."""


ScriptFile = tuple[str, str]
"""The name and the text of a file that a script uses."""


class ApplyCall(NamedTuple):
    """A call of `kyverno apply` in a script."""

    policies: tuple[ScriptFile, ...]
    files: Mapping[str, tuple[ScriptFile, ...]]
    """The files of its options, by the field of `ApplyInputs` (`kyvsim.api.inputs`)."""
    reads_cluster: bool = False
    namespace: str = ""
    """The namespace of the objects to read from the cluster; "" for all."""
    audit_warn: bool = False
    warn_status: int = 0
    """The exit status if there are warnings and no failures."""
