"""How a run ended: the facts, the closing line, and the same as data."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from kyvsim.kubernetes.objects import Json
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.policy import SEVERITIES
from kyvsim.model.result import Fact, RunEnding, RunVerdict
from kyvsim.report.results import Summary, severity_of
from kyvsim.report.run import Run
from kyvsim.report.style import TextLayout, counted


def ending_line(ending: RunEnding) -> str:
    """Return the closing line: verdict, reasons and exit status."""
    texts = [fact.text for fact in ending.ranked if fact.text]
    return f"{ending.verdict.value}: {' · '.join((*texts, f'exit status {ending.status}'))}"


def ending_json(ending: RunEnding) -> Json:
    """Return verdict, exit status, counts by name, and closing line as data."""
    return {
        "verdict": ending.verdict.value,
        "exitStatus": ending.status,
        "counts": {fact.key: fact.number for fact in ending.facts},
        "text": ending_line(ending),
    }


def error_fact(diagnostics: Iterable[Diagnostic]) -> Fact:
    """Return how many errors there are about inputs; each is reported beside the results."""
    errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity is Severity.ERROR]
    files = {error.location.file if error.location else "" for error in errors}
    text = f"{counted(len(errors), 'error')} in {counted(len(files), 'input')}"
    return verdict_fact("inputErrors", len(errors), text, RunVerdict.INCOMPLETE)


def warning_fact(diagnostics: Iterable[Diagnostic]) -> Fact:
    """Return how many warnings there are about inputs."""
    warnings = sum(diagnostic.severity is Severity.WARNING for diagnostic in diagnostics)
    return info_fact("warnings", warnings, counted(warnings, "warning"))


def info_fact(key: str, number: int, text: str) -> Fact:
    """Return a fact that changes no exit status; it has a text unless the number is 0."""
    return Fact(key, number, text if number else "")


def left_out_fact(number: int) -> Fact:
    """Return how much was left out of folders, being neither policies nor manifests."""
    return info_fact("leftOut", number, f"{counted(number, 'document')} ignored (--show-ignored)")


def verdict_fact(key: str, number: int, text: str, verdict: RunVerdict = RunVerdict.FAILED) -> Fact:
    """Return a fact that makes a run end with a verdict, unless its number is 0."""
    return Fact(key, number, text, verdict) if number else Fact(key, number, "")


_STYLES: Mapping[RunVerdict, str] = MappingProxyType(
    {
        RunVerdict.INCOMPLETE: "error",
        RunVerdict.FAILED: "fail",
        RunVerdict.WARNED: "warn",
        RunVerdict.NOTHING: "warn",
        RunVerdict.PASSED: "pass",
    }
)


def closing_lines(
    ending: RunEnding, layout: TextLayout, seconds: float | None = None
) -> Iterator[str]:
    """Yield the closing line, wrapped between facts.

    `seconds` is the duration of the run; None if outputs of runs are to be comparable.
    """
    shown = [fact.text for fact in ending.ranked if fact.text]
    if seconds is not None:
        shown.append(f"{seconds:.1f} s")
    shown.append(f"exit status {ending.status}")
    name = ending.verdict.value
    start, line = f"{layout.paint(_STYLES[ending.verdict], name)}: ", ""
    for fact in shown:
        longer = f"{line} · {fact}" if line else fact
        if line and len(longer) > layout.width - len(name) - len(": "):
            yield f"{start}{line} ·\n"
            start, line = " " * (len(name) + 2), fact
        else:
            line = longer
    yield f"{start}{line}\n"


def run_ending(run: Run) -> RunEnding:
    """Return how a run ended; unusable input wins over failures, those over warnings.

    All responses must have been read.
    upstream: cmd/cli/kubectl-kyverno/commands/apply/command.go `exit`
    """
    counts, terms = run.result_counts, run.terms
    summary = counts.summary().less(counts.known)
    diagnostics = run.all_diagnostics()
    results = counted(sum(counts.summary()), "result")
    lenient = _lenient(run)
    failed = summary.failed - lenient
    text = f"{counted(counts.unstable, 'mutation')} not idempotent"
    idempotence = verdict_fact("notIdempotent", counts.unstable, text)
    if run.checks_idempotence and not counts.unstable:
        idempotence = Fact("notIdempotent", 0, "all mutations are idempotent")
    text = f"{counted(summary.warned, 'result')} with status warn" if summary.warned else ""
    heavy = RunVerdict.WARNED if summary.warned and terms.warn_exit_code else RunVerdict.PASSED
    below = f"{lenient} of {results} failed below --fail-on {terms.fail_on}"
    unmatched = f" ({counts.unmatched} unmatched)" if counts.unmatched else ""
    resources = f"{counted(run.resource_count, 'resource')}{unmatched}" if run.applied else ""
    unchecked = f"{counted(counts.unchecked, 'check')} incomplete"
    facts = (
        error_fact(diagnostics),
        Fact("notApplied", int(not run.applied), "" if run.applied else "nothing was evaluated"),
        verdict_fact("failed", failed, f"{failed} of {results} failed"),
        *((info_fact("belowFailOn", lenient, below),) if terms.fail_on else ()),
        verdict_fact("errors", summary.errors, f"{summary.errors} of {results} ended in error"),
        idempotence,
        Fact("warned", summary.warned, text, heavy),
        *_baseline_facts(run),
        *(_checked(run, summary) if run.applied else ()),
        Fact("resources", run.resource_count, resources),
        Fact("unmatched", counts.unmatched, ""),
        info_fact("unchecked", counts.unchecked, unchecked),
        left_out_fact(len(frozenset(run.left_out))),
        warning_fact(diagnostics),
    )
    return RunEnding(facts, terms.warn_exit_code)


def _lenient(run: Run) -> int:
    """Return the number of failures below --fail-on; policies without severity always count."""
    if not run.terms.fail_on:
        return 0
    counts = run.result_counts
    lesser = SEVERITIES[SEVERITIES.index(run.terms.fail_on) + 1 :]
    lesser_policies = (policy for policy in run.policies if severity_of(policy) in lesser)
    policies = {(policy.kind, policy.key) for policy in lesser_policies}
    by_rule = counts.by_rule().items()
    failed = sum(summary.failed for rule, summary in by_rule if rule[:2] in policies)
    shown = sum(counts.severities.get(severity, 0) for severity in lesser)
    return shown + failed - sum(counts.known_failures.get(policy, 0) for policy in policies)


def _baseline_facts(run: Run) -> Iterator[Fact]:
    """Yield the number of failures in the baseline, and of those not evaluated."""
    if run.result_counts.matches is None:
        return
    covered = run.result_counts.covered
    yield info_fact("inBaseline", covered, f"{counted(covered, 'failure')} in the baseline")
    rest = run.rest()
    if rest is not None:
        aside = sum(rest.not_evaluated.values())
        text = f"{counted(aside, 'failure')} of the baseline not evaluated"
        yield info_fact("baselineNotLookedAt", aside, text)


def _checked(run: Run, summary: Summary) -> Iterator[Fact]:
    """Yield the number of passed results, or that nothing was checked."""
    skipped = f", {summary.skipped} skipped" if summary.skipped else ""
    bad = summary.failed + summary.errors + run.result_counts.unstable
    good = "" if bad else f"{summary.passed} passed{skipped}" if summary.passed else ""
    yield Fact("passed", summary.passed, good)
    if run.terms.warn_no_pass and run.terms.warn_exit_code and not summary.passed:
        yield Fact("nonePassed", 1, "nothing passed", RunVerdict.WARNED)
    if not (bad or summary.passed or summary.warned or run.result_counts.covered):
        skipped = f"{summary.skipped} of {counted(summary.skipped, 'result')} skipped"
        text = skipped if summary.skipped else "no rule matched"
        yield Fact("nothingChecked", 1, text, RunVerdict.NOTHING)


def figures(run: Run) -> dict[str, int]:
    """Return the counts by name; those of mutations and the baseline only if checked."""
    unstable = {"notIdempotent": run.result_counts.unstable} if run.checks_idempotence else {}
    known = {"inBaseline": run.result_counts.covered} if run.result_counts.matches else {}
    return {**run.result_counts.summary().as_dict(), **unstable, **known}


def counts_line(run: Run) -> str:
    """Return the counts as one line."""
    unstable = f", not idempotent: {run.result_counts.unstable}" if run.checks_idempotence else ""
    known = f", in the baseline: {run.result_counts.covered}" if run.result_counts.matches else ""
    return f"{run.result_counts.summary()}{unstable}{known}"
