"""Chainsaw tests: their steps and operations as they are read, and what came of them."""

from collections.abc import Mapping
from typing import NamedTuple

from kyvsim.kubernetes.objects import JsonMap
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.simulation import TimelineEvent
from kyvsim.model.source import Location


class UnreachableError(Exception):
    """A path that a test must not use; the text says why."""


class Timeouts(NamedTuple):
    """How long operations may take, in virtual seconds.

    Chainsaw's own defaults are shorter where waiting costs time; here it costs none.
    """

    apply: float = 30.0
    check: float = 120.0
    """Of `assert`."""
    cleanup: float = 30.0
    delete: float = 120.0
    error: float = 120.0
    exec: float = 120.0


class ChainsawBinding(NamedTuple):
    """A name and what it stands for, which may be an expression."""

    name: str
    value: object
    compiler: str = ""
    """The language of its expressions, "" for the usual one."""


class ChainsawOperation(NamedTuple):
    """One entry of a block: what to do, and with what."""

    kind: str
    """The field that it stands under: `apply`, `assert`, `script` …"""
    spec: JsonMap
    location: Location
    bindings: tuple[ChainsawBinding, ...] = ()
    continues: bool = False
    """Whether the block goes on after it failed."""
    foreign: str = ""
    """What it wants that no simulated cluster has: another cluster, another language."""


class ChainsawStep(NamedTuple):
    """One step; blocks of a template are already in it."""

    name: str
    attempts: tuple[ChainsawOperation, ...]
    """The block `try`."""
    catch: tuple[ChainsawOperation, ...]
    final: tuple[ChainsawOperation, ...]
    """The block `finally`."""
    cleanup: tuple[ChainsawOperation, ...]
    bindings: tuple[ChainsawBinding, ...]
    timeouts: Mapping[str, float]
    """Those that the step sets, by field of `Timeouts`."""
    template: bool | None = None
    """Whether scalars are evaluated; None where the step does not say."""
    propagation: str = ""
    """What becomes of the dependents of what it deletes, "" where it does not say."""
    keeps: bool | None = None
    """Whether what it created is left there; None where it does not say."""
    used: str = ""
    """The file of the template that it uses, "" where it uses none."""


class ChainsawConfiguration(NamedTuple):
    """What holds for all tests: a document of kind Configuration, or what is so without one."""

    timeouts: Timeouts = Timeouts()
    template: bool | None = True
    """Whether scalars are evaluated; None where there is no configuration that could say it."""
    namespace: str = ""
    namespace_template: object = None
    """What a test's namespace has beside its name, None for nothing."""
    catch: tuple[ChainsawOperation, ...] = ()
    propagation: str = "Background"
    keeps: bool = False
    delay: float = 0.0
    """Seconds between the end of a test and its clean-up."""
    grace_period: float | None = None
    """Seconds that Pods get to end, whatever their manifests say."""
    test_file: str = ""
    """What test files are called, "" for their usual name."""
    foreign: str = ""


WITHOUT_CONFIGURATION = ChainsawConfiguration(template=None)
"""What holds where nobody has configured anything."""


class ChainsawTest(NamedTuple):
    """One document of kind Test, or one scenario of it, with what a configuration adds."""

    name: str
    folder: str
    namespace: str
    """The namespace that it wants, "" for one of its own."""
    template: bool | None
    """Whether scalars are evaluated; None where nobody says it: then they are."""
    skip: bool
    catch: tuple[ChainsawOperation, ...]
    bindings: tuple[ChainsawBinding, ...]
    timeouts: Timeouts
    steps: tuple[ChainsawStep, ...]
    metadata: JsonMap
    location: Location
    scenario: int = 0
    """Which of its scenarios this is, 0 where it has none."""
    namespace_template: object = None
    propagation: str = "Background"
    keeps: bool = False
    delay: float = 0.0
    grace_period: float | None = None


class ChainsawOutcome(NamedTuple):
    """What came of one test; plain data that crosses processes."""

    test: str
    file: str
    result: str
    """`pass`, `fail` or `unsupported`."""
    reason: str = ""
    location: Location | None = None
    """The operation that settled it, where it did not pass."""
    seconds: float = 0.0
    """Virtual time that passed."""
    duration_ms: int = 0
    """Wall time that it took, in milliseconds."""
    notes: tuple[str, ...] = ()
    events: tuple[TimelineEvent, ...] = ()
    """The timeline, where it is wanted."""
    skipped: bool = False
    """Whether the test itself says that it is not to be run; its result is `unsupported`."""


class ChainsawReport(NamedTuple):
    """What came of all tests, in order, and what could not be read."""

    outcomes: tuple[ChainsawOutcome, ...]
    diagnostics: tuple[Diagnostic, ...]
    left_out: tuple[Diagnostic, ...] = ()
    """What was left out of the folders in which tests were looked for."""
    files: frozenset[str] = frozenset()
    """Those of the tests, what these name, and the configurations that were found for them."""
