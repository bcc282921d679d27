"""`test --watch`: manifests run again when something that they depend on has changed."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import chain
from typing import NamedTuple

from kyvsim.api.suite import SuiteRun, find_files, run_files, suite_outcome
from kyvsim.load.files import fingerprint
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.suite import ManifestOutcome, SuiteOutcome

INTERVAL = 0.5
"""Seconds between two looks at the files."""
SETTLING = 0.1
"""Seconds from the first sign of a change to the run: editors save in several steps."""


class Round(NamedTuple):
    """What came of one run of all that had changed, and how everything stands after it."""

    fresh: SuiteOutcome
    """The manifests that have just run, and what is new about the paths."""
    whole: SuiteOutcome
    gone: tuple[str, ...] = ()
    """Files of manifests that are no longer there."""


class _Standing(NamedTuple):
    """What came of each file when it ran last."""

    outcomes: Mapping[str, tuple[ManifestOutcome, ...]]
    said: tuple[Diagnostic, ...]


class _Changes(NamedTuple):
    """What differs from how things stand."""

    files: tuple[str, ...]
    """All files of manifests that there are now."""
    said: tuple[Diagnostic, ...]
    stale: tuple[str, ...]
    gone: tuple[str, ...]
    any: bool


def watch_tests(run: SuiteRun, sleep: Callable[[float], None]) -> Iterator[Round]:
    """Yield a round of everything, then one whenever something has changed; this never ends.

    Between two looks `sleep` is called with seconds. A change during a run counts: what lay at a
    path is noted before it is read.
    """
    run = run._replace(options=run.options._replace(stamped=True))
    standing = _Standing({}, ())
    changes = _changes(run, standing)
    while True:
        fresh = dict(zip(changes.stale, run_files(changes.stale, run), strict=True))
        outcomes = {file: fresh.get(file) or standing.outcomes[file] for file in changes.files}
        news = () if changes.said == standing.said else changes.said
        standing = _Standing(outcomes, changes.said)
        yield Round(_joined(fresh, news), _joined(outcomes, changes.said), changes.gone)
        changes = _wait(run, standing, sleep)


def _wait(run: SuiteRun, standing: _Standing, sleep: Callable[[float], None]) -> _Changes:
    """Return what has changed, once something has; what is taken back at once does not count."""
    while True:
        sleep(INTERVAL)
        if _changes(run, standing).any:
            sleep(SETTLING)
            changes = _changes(run, standing)
            if changes.any:
                return changes


def _changes(run: SuiteRun, standing: _Standing) -> _Changes:
    files, said = find_files(run)
    walking = run.options.walking
    look = cache(
        lambda path: fingerprint(path, walking)
    )  # manifests share inputs: each is seen once

    def is_stale(file: str) -> bool:
        outcomes = standing.outcomes.get(file)
        if outcomes is None:
            return True
        return any(look(found.path) != found for one in outcomes for found in one.inputs)

    stale = tuple(file for file in files if is_stale(file))
    there = frozenset(files)
    gone = tuple(file for file in standing.outcomes if file not in there)
    changed = bool(stale or gone) or said != standing.said
    return _Changes(files, said, stale, gone, changed)


def _joined(
    outcomes: Mapping[str, tuple[ManifestOutcome, ...]], said: tuple[Diagnostic, ...]
) -> SuiteOutcome:
    return suite_outcome(tuple(chain.from_iterable(outcomes.values())), said)
