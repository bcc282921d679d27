"""The functions of `import kyvsim`: each evaluates its inputs and returns a report.

They accept paths, texts and objects, and call the same functions of this package as the commands.
"""

import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeAlias, TypedDict, TypeVar, Unpack

from kyvsim.api.apply import open_application, render_document
from kyvsim.api.diff import open_comparison
from kyvsim.api.explain import ExplainTarget, NotFoundError, open_explanation
from kyvsim.api.inputs import AS_GIVEN, ApplyInputs, WhatIf
from kyvsim.api.lint import lint as lint_paths
from kyvsim.api.simulate import SimulateInputs
from kyvsim.api.simulate import simulate as simulate_inputs
from kyvsim.api.suite import Reading, SuiteRun, run_tests
from kyvsim.api.suppression import selection_of
from kyvsim.kubernetes.objects import KubernetesObject
from kyvsim.load.files import STDIN, Source
from kyvsim.model.comparison import ResourceDifference
from kyvsim.model.diagnostic import Diagnostic, Severity, likely, listed, strictly
from kyvsim.model.explanation import ObjectExplanation
from kyvsim.model.release import NEWEST, RELEASES, Release
from kyvsim.model.request import Operation
from kyvsim.model.result import EngineResponse, RunEnding
from kyvsim.model.simulation import HazardLevel, Simulation
from kyvsim.model.source import Location
from kyvsim.model.suite import Demands, SuiteOutcome
from kyvsim.report.decisions import decision
from kyvsim.report.diff import comparison_ending
from kyvsim.report.explain import SHOWN_WORDS, StepPage, verdict_word
from kyvsim.report.finding import finding_of
from kyvsim.report.formats import FORMATS_OF, OutputFormat, log_safe, log_safe_pieces
from kyvsim.report.lint import Findings
from kyvsim.report.results import (
    compile_rows,
    generated,
    key_title,
    mutations,
    patched_targets,
    severity_of,
    title,
)
from kyvsim.report.run import ending_line, error_fact, run_ending, warning_fact
from kyvsim.report.style import RenderOptions
from kyvsim.report.suite_text import SuiteOptions, every_diagnostic, suite_ending
from kyvsim.report.timeline_rows import (
    NO_LEVEL,
    NOT_BEGUN,
    SimulationTerms,
    TimelineOptions,
    failing_levels,
    simulation_ending,
)
from kyvsim.suite.row_targets import RowSelectorError, parse_selector

Given: TypeAlias = str | os.PathLike[str] | Source | Mapping[str, object] | Iterable["Given"]
"""A path, a YAML or JSON text (a Source also has a name), an object, or an iterable of these.

A string is a text if it has several lines or begins with `{`, otherwise a path: a file, a folder
or a glob.
"""


class InputOptions(TypedDict, total=False):
    """Further inputs and settings of `apply`, `explain` and `diff`, with the names of ApplyInputs.

    They mean what the options of the commands mean; docs/python.md lists these.
    """

    exceptions: Given
    targets: Given
    parameters: Given
    crd_paths: Given
    values_file: Given
    set_values: str | Iterable[str]
    userinfo: Given
    context_file: Given
    baseline: Given
    release: str | Release
    model: str
    now: datetime
    audit_warn: bool
    check_idempotent: bool
    exceptions_with_resources: bool
    exceptions_within_policies: bool
    operation: str
    old_resources: Given
    what_if: WhatIf


class SimulateOptions(TypedDict, total=False):
    """Further inputs and settings of `simulate`, with the names of SimulateInputs."""

    exceptions: Given
    objects: Given
    user: str
    groups: str | Iterable[str]
    release: str | Release
    model: str
    install: str
    seed: int
    start: datetime
    horizon: float
    max_events: int
    interleavings: int | None
    explain: str


class UnusableInputError(ValueError):
    """An input could not be used, or there is none, so the results are incomplete."""

    def __init__(self, message: str, report: "Report[Any, Any] | None" = None) -> None:
        """Store the incomplete report; None if nothing was evaluated."""
        super().__init__(log_safe(message))
        self.report = report


class Result(NamedTuple):
    """The result of a rule for a resource, of a row of a test, or of a check of a simulation."""

    policy: str
    """The policy's name, after its namespace if it has one."""
    rule: str
    """For a hazard of a simulation, its code."""
    resource: str
    """`namespace/Kind/name`, or `Kind/name` without a namespace."""
    status: str
    """`pass`, `fail`, `warn`, `error` or `skip`; of `explain` also why a rule has no result. For
    a hazard its level: `error`, `warning` or `info`.
    """
    message: str
    location: Location | None
    """The field of the manifest that failed, or the object; for a failed row of a test, the row.
    None if it is not in a file.
    """
    rule_location: Location | None = None
    note: str = ""
    severity: str = ""
    """The severity of the policy: `critical` to `info`, or ""."""
    known: bool = False
    """Whether the failure is in the baseline, and does not count."""


Item = TypeVar("Item")
Detail = TypeVar("Detail")


@dataclass(frozen=True, repr=False)
class Report(Generic[Item, Detail]):
    """What a function of this module found; iterating over it yields the results in order.

    It is true if nothing failed, as `ok`.
    """

    command: str
    """The command that reports the same."""
    ending: RunEnding
    diagnostics: tuple[Diagnostic, ...]
    """About inputs, in order; for `lint`, these are the results."""
    detail: Detail
    """The records from which it is made: for `apply` the responses of the engine, and so on."""
    make_results: Callable[[], Iterable[Item]]
    fails: Callable[[Item], bool]
    render: Callable[[OutputFormat], Iterable[str]]
    responses: tuple[EngineResponse, ...] = ()
    deprecations: tuple[str, ...] = ()
    """What Kyverno reports about files of deprecated kinds; of `apply` and `test` only."""

    @cached_property
    def results(self) -> tuple[Item, ...]:
        """The results, in order. Positions of failures are only computed when they are read."""
        return tuple(self.make_results())

    @property
    def failures(self) -> tuple[Item, ...]:
        """The results that failed or ended in an error, without known ones."""
        return tuple(filter(self.fails, self.results))

    @property
    def exit_code(self) -> int:
        """The exit status of the command: 0, 1 if something failed, 2 for an unusable input."""
        return self.ending.status

    @property
    def ok(self) -> bool:
        """Whether the exit status is 0; also if nothing was checked, see `summary`."""
        return self.exit_code == 0

    @property
    def summary(self) -> str:
        """The closing line of the command: verdict, reasons and exit status."""
        return ending_line(self.ending)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The errors about inputs."""
        return tuple(one for one in self.diagnostics if one.severity is Severity.ERROR)

    @property
    def mutated(self) -> tuple[KubernetesObject, ...]:
        """The resources that mutate rules changed, in their final state; of `apply` only."""
        return tuple(one.object for one in self.responses if mutations(one))

    @property
    def generated(self) -> tuple[KubernetesObject, ...]:
        """The objects that generate rules would create; of `apply` only."""
        return tuple(change.object for one in self.responses for change in generated(one))

    @property
    def patched(self) -> tuple[KubernetesObject, ...]:
        """The other objects that mutate rules changed; of `apply` only."""
        return tuple(change.object for one in self.responses for change in patched_targets(one))

    def to(self, name: str, path: str | os.PathLike[str] | None = None) -> str:
        """Return the report in a format of the command, and write it to a file if there is a path.

        Raises ValueError for an unknown format, and OSError if the file cannot be written.
        """
        formats = FORMATS_OF[self.command]
        _check_name(f"`{self.command}` has no format", name, formats)
        text = "".join(log_safe_pieces(self.render(formats[name]), formats[name].media))
        if path is not None:
            with open(path, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
        return text

    def __iter__(self) -> Iterator[Item]:
        return iter(self.results)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        errors = () if self.command == "lint" else self.errors
        return log_safe("".join(f"{one}\n" for one in errors)) + self.to("text")

    def __repr__(self) -> str:
        return f"<kyvsim.{self.command}: {self.summary}>"


def apply(
    policies: Given,
    resources: Given,
    *,
    strict: bool = False,
    check: bool = True,
    **options: Unpack[InputOptions],
) -> Report[Result, tuple[EngineResponse, ...]]:
    """Return the results of policies on resources, as `kyvsim apply` does.

    With `strict`, warnings about inputs are errors. Raises UnusableInputError if an input could
    not be used or there is none; without `check`, such errors are listed in the report, whose
    exit status is 2, and the other inputs are evaluated. Raises TypeError for arguments of
    another type. All results are kept in memory: `kyvsim.api` streams.
    """
    run = open_application(_apply_inputs(policies, resources, options))
    if strict:
        run = run.strictly()
    responses = tuple(run.responses)
    rows_of = compile_rows(audit_warn=run.audit_warn)

    def results() -> Iterator[Result]:
        for response in responses:
            for row in rows_of(response):
                found = finding_of(row, response, run.explain)
                yield Result(
                    row.policy.key,
                    row.result.rule.name,
                    title(row.resource),
                    row.status,
                    row.result.message or row.result.own,
                    found.location,
                    found.rule_location,
                    row.result.note,
                    severity_of(row.policy),
                    found.is_known,
                )

    def render(format_: OutputFormat) -> Iterator[str]:
        yield from render_document(
            format_.write, run._replace(responses=iter(responses)), RenderOptions(in_file=True)
        )
        if format_.for_people:
            yield f"{ending_line(run_ending(run))}\n"

    report = Report(
        "apply",
        run_ending(run),
        run.all_diagnostics(),
        responses,
        results,
        lambda one: one.status in {"fail", "error"} and not one.known,
        render,
        responses,
        run.deprecated,
    )
    return _checked(report, policies=len(run.policies), resources=run.resource_count, check=check)


def lint(
    policies: Given,
    *,
    crd_paths: Given = (),
    release: str | Release = NEWEST,
    strict: bool = False,
    select: str | Iterable[str] = (),
    ignore: str | Iterable[str] = (),
    severity: Mapping[str, str] | str | Iterable[str] = (),
) -> Report[Diagnostic, Findings]:
    """Return the diagnostics about policies and test manifests, as `kyvsim lint` does.

    Errors are failures; with `strict`, so are warnings. `select` and `ignore` choose warnings by
    codes or prefixes such as `KV3`, and `severity` changes their severities, as `{"KV3": "error"}`
    or `"KV3=error"`.
    Raises UnusableInputError if nothing is given, TypeError for arguments of another type, and
    ValueError for an unknown code or severity.
    """
    if isinstance(severity, Mapping):
        severity = [f"{code}={level}" for code, level in severity.items()]
    selection = selection_of(
        _texts("select", select), _texts("ignore", ignore), _texts("severity", severity)
    )
    findings = lint_paths(
        _required(policies, "policy"),
        None,
        sources(crd_paths, "CRD"),
        release=_release(release),
        selection=selection,
    )
    if strict:
        findings = findings._replace(diagnostics=strictly(findings.diagnostics))
    return Report(
        "lint",
        findings.ending,
        findings.diagnostics,
        findings,
        lambda: findings.diagnostics,
        lambda one: one.severity is Severity.ERROR,
        lambda format_: format_.write(findings, RenderOptions()),
    )


def test(
    paths: Given,
    *,
    selector: str = "",
    release: str | Release = NEWEST,
    require_tests: bool = False,
    check: bool = True,
) -> Report[Result, SuiteOutcome]:
    """Return the outcomes of test manifests, as `kyvsim test` does.

    `paths` are test files or folders; `selector` is that of `--test-case-selector`. Raises
    UnusableInputError as `apply` does; a run without a row fails if `require_tests` is set.
    """
    given = _required(paths, "test")
    if not all(isinstance(path, str) for path in given):
        raise TypeError("tests refer to other files: pass their paths, not texts or objects")
    try:
        reading = Reading(parse_selector(selector), release=_release(release))
    except RowSelectorError as error:
        raise ValueError(f"selector: {error}") from None
    run = SuiteRun(tuple(map(str, given)), options=reading, jobs=1)
    outcome = run_tests(run)._replace(demands=Demands(require_tests))
    rows = (row for manifest in outcome.manifests for row in manifest.rows)
    results = tuple(
        Result(
            row.policy,
            row.rule,
            row.resource,
            row.result.lower(),
            row.message or row.reason,
            row.location,
        )
        for row in rows
    )
    report = Report(
        "test",
        suite_ending(outcome),
        tuple(every_diagnostic(outcome)),
        outcome,
        lambda: results,
        lambda one: one.status == "fail",
        lambda format_: format_.write(outcome, SuiteOptions()),
        deprecations=tuple(line for one in outcome.manifests for line in one.deprecated),
    )
    return _checked(report, check=check)


def explain(
    policies: Given,
    resources: Given,
    *,
    rule: str = "",
    object: str = "",  # noqa: A002 — the name of the command's option
    check: bool = True,
    **options: Unpack[InputOptions],
) -> Report[Result, tuple[ObjectExplanation, ...]]:
    """Return why each rule passed, failed or did not match, as `kyvsim explain` does.

    The message of a result is the step that decided; `detail` has the trees of steps. `rule` and
    `object` select by name. Raises UnusableInputError as `apply` does, also for an unknown name.
    """
    try:
        opened = open_explanation(
            _apply_inputs(policies, resources, options), ExplainTarget(rule, object)
        )
    except NotFoundError as error:
        raise UnusableInputError("\n".join(map(str, (error, *error.diagnostics)))) from None
    explained = tuple(opened.objects)

    def results() -> Iterator[Result]:
        for one in explained:
            for own in one.rules:
                word = verdict_word(own)
                decided = decision(own, one)
                yield Result(
                    own.policy.key,
                    own.rule.name,
                    title(one.response.trigger),
                    SHOWN_WORDS.get(word, word),
                    decided.text,
                    decided.seen_at,
                    decided.place,
                    severity=severity_of(own.policy),
                )

    diagnostics = opened.run.all_diagnostics()
    # A failed rule is explained, not a failure: only unusable inputs are.
    ending = RunEnding((error_fact(diagnostics), warning_fact(diagnostics)))
    report = Report(
        "explain",
        ending,
        diagnostics,
        explained,
        results,
        lambda one: one.status in {"fail", "error"},
        lambda format_: format_.write(explained, StepPage(diagnostics=lambda: diagnostics)),
    )
    numbers = {"policies": len(opened.run.policies), "resources": opened.run.resource_count}
    return _checked(report, **numbers, check=check)


def diff(
    old: Given,
    new: Given,
    resources: Given,
    *,
    messages: bool = False,
    check: bool = True,
    **options: Unpack[InputOptions],
) -> Report[ResourceDifference, tuple[ResourceDifference, ...]]:
    """Return the resources with other results or effects under new policies, as `kyvsim diff` does.

    With `messages`, results that differ only in their message are differences. Raises
    UnusableInputError as `apply` does.
    """
    before, after = (
        _apply_inputs(policies, resources, options, noun)
        for policies, noun in ((old, "old policy"), (new, "new policy"))
    )
    comparison = open_comparison(before, after, words=messages)
    compared = tuple(comparison.resources)
    comparison = comparison._replace(resources=compared)
    different = tuple(one for one in compared if one.verdicts or one.objects)

    def render(format_: OutputFormat) -> Iterator[str]:
        yield from format_.write(comparison, RenderOptions())
        if format_.for_people:
            yield f"{ending_line(comparison_ending(comparison))}\n"

    report = Report(
        "diff",
        comparison_ending(comparison),
        tuple(dict.fromkeys((*comparison.all_diagnostics(), *comparison.final_diagnostics()))),
        compared,
        lambda: different,
        lambda _: True,
        render,
    )
    return _checked(report, check=check)


def simulate(
    policies: Given,
    resources: Given = (),
    *,
    fail_on: str = "",
    check: bool = True,
    **options: Unpack[SimulateOptions],
) -> Report[Result, Simulation | None]:
    """Return what policies and resources do over time in a cluster, as `kyvsim simulate` does.

    The results are hazards and expectations; `detail` is the simulation with its events and
    objects, None if it did not begin. `policies` may be the path of a scenario. `fail_on` is the
    lowest level of hazards that count. Raises UnusableInputError as `apply` does.
    """
    if fail_on:
        _check_name("unknown level of hazards", fail_on, (*HazardLevel, NO_LEVEL))
    inputs = SimulateInputs(
        _required(policies, "policy"),
        sources(resources, "resource"),
        **_converted(options, SimulateOptions),
    )
    try:
        done = simulate_inputs(inputs._replace(jobs=1))
    except NotFoundError as error:
        raise UnusableInputError("\n".join(map(str, (error, *error.diagnostics)))) from None
    simulation = done.simulation
    terms = SimulationTerms(
        done.diagnostics, len(set(done.left_out)), fail_on or done.fail_on or HazardLevel.ERROR
    )
    failing = failing_levels(terms.least)

    def results() -> Iterator[Result]:
        for hazard in simulation.hazards if simulation else ():
            subject = key_title(hazard.objects[0]) if hazard.objects else ""
            policy = ", ".join(hazard.policies)
            status = hazard.level.value
            yield Result(policy, hazard.code, subject, status, hazard.message, hazard.location)
        for one in simulation.expectations if simulation else ():
            text = ": ".join(filter(None, (one.text, one.reason)))
            yield Result("", "", "", "pass" if one.met else "fail", text, one.location)

    ending = simulation_ending(simulation or NOT_BEGUN, terms)

    def render(format_: OutputFormat) -> Iterator[str]:
        yield from format_.write(simulation or NOT_BEGUN, TimelineOptions(terms=terms))
        if format_.for_people:
            yield f"{ending_line(ending)}\n"

    report = Report(
        "simulate",
        ending,
        done.diagnostics,
        simulation,
        results,
        lambda one: one.status == "fail" or one.status in failing,
        render,
    )
    return _checked(report, check=check)


# Arguments: paths, texts and objects become what the loader reads.


def sources(given: Given, noun: str) -> tuple[str | Source, ...]:
    """Return `given` in the form of the loader; texts and objects are named `<NOUN 1>` and so on.

    Raises TypeError for a value of another type, and ValueError for an empty string and for `-`.
    """
    return tuple(
        one if isinstance(one, str) or one.name else one._replace(name=f"<{noun} {number}>")
        for number, one in enumerate(_flat(given, noun), 1)
    )


_NOT_LISTS: tuple[type, ...] = (bytes, bytearray, memoryview, io.IOBase)
"""Iterables of numbers, and files, which are iterables of lines."""


def _flat(given: object, noun: str) -> Iterator[str | Source]:
    if isinstance(given, str):
        if not given.strip() or given == STDIN:
            shown = "an empty string" if given != STDIN else "`-`: standard input is not read"
            raise ValueError(f"{noun}: {shown}; pass a path, a YAML text or an object")
        yield Source("", given) if "\n" in given or given.lstrip().startswith("{") else given
    elif isinstance(given, Source):
        yield given
    elif isinstance(given, os.PathLike) and isinstance(path := os.fspath(given), str):
        yield os.path.join(os.curdir, path) if path == STDIN else path
    elif isinstance(given, Mapping):
        # JSON is YAML: numbers and strings are read as they would be from a file.
        try:
            text = json.dumps(given, ensure_ascii=False, allow_nan=False, default=_plain)
            yield Source("", text)
        except (TypeError, ValueError, RecursionError) as error:
            raise TypeError(f"{noun}: an object must be plain data: {error}") from None
    elif isinstance(given, Iterable) and not isinstance(given, _NOT_LISTS):
        for one in given:
            yield from _flat(one, noun)
    else:
        kind = type(given).__name__
        raise TypeError(f"{noun}: pass a path, a YAML text, an object or a list, not {kind}")


def _plain(value: object) -> dict[object, object]:
    """Return a map of another class as a dict; raises TypeError for anything else."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{_name_of(type(value))} is not a type of YAML or JSON")


def _required(given: Given, noun: str) -> tuple[str | Source, ...]:
    found = sources(given, noun)
    if not found:
        raise UnusableInputError(f"no {noun} given")
    return found


_NOUNS: Mapping[str, str] = {
    "exceptions": "exception",
    "targets": "target",
    "parameters": "parameter",
    "crd_paths": "CRD",
    "objects": "object",
    "values_file": "values",
    "userinfo": "user",
    "context_file": "context",
    "baseline": "baseline",
}
"""The options that are inputs, with their names in messages."""
_SINGLE = frozenset({"values_file", "userinfo", "context_file", "baseline"})


def _apply_inputs(
    policies: Given, resources: Given, options: InputOptions, noun: str = "policy"
) -> ApplyInputs:
    fields: dict[str, Any] = dict(options)
    what_if: WhatIf = fields.pop("what_if", AS_GIVEN)
    if "operation" in fields:
        operation = fields.pop("operation")
        _check_name("unknown operation", operation, tuple(Operation))
        what_if = what_if._replace(operation=Operation(operation))
    if "old_resources" in fields:
        old = sources(fields.pop("old_resources"), "old resource")
        what_if = what_if._replace(old_resources=old)
    return ApplyInputs(
        policies=_required(policies, noun),
        resources=_required(resources, "resource"),
        what_if=what_if,
        **_converted(fields, InputOptions),
    )


def _converted(options: Mapping[str, Any], form: type) -> dict[str, Any]:
    """Return options as fields of inputs.

    Raises TypeError for one that `form` does not have, or with another type there.
    """
    types = form.__annotations__
    fields: dict[str, Any] = {}
    for name, value in options.items():
        if name not in types:
            raise TypeError(f"unknown option `{name}`{likely(name, types)}")
        if name in _NOUNS:
            found = sources(value, _NOUNS[name])
            if name in _SINGLE and len(found) != 1:
                raise TypeError(f"{name}: pass one path, text or object, not {len(found)}")
            fields[name] = found[0] if name in _SINGLE else found
        elif name == "release":
            fields[name] = _release(value)
        elif name in {"set_values", "groups"}:
            fields[name] = _texts(name, value)
        else:
            accepted = (int, float) if types[name] is float else types[name]
            if not isinstance(value, accepted):
                raise TypeError(
                    f"{name}: pass {_name_of(types[name])}, not {_name_of(type(value))}"
                )
            if isinstance(value, datetime) and value.tzinfo is None:
                raise ValueError(f"{name}: a datetime needs a time zone, such as `timezone.utc`")
            fields[name] = value
    return fields


def _name_of(form: type) -> str:
    return getattr(form, "__name__", str(form))


def _texts(name: str, given: str | Iterable[str]) -> tuple[str, ...]:
    """Return one text or several; raises TypeError for anything else."""
    is_list = isinstance(given, Iterable) and not isinstance(given, str | Mapping)
    texts: tuple[Any, ...] = tuple(given) if is_list else (given,)
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(
                f"{name}: pass a string or a list of strings, not {_name_of(type(text))}"
            )
    return texts


def _release(name: str | Release) -> Release:
    if isinstance(name, Release):
        return name
    _check_name("unknown release of Kyverno", name, tuple(RELEASES))
    return RELEASES[name]


def _check_name(text: str, name: object, known: Iterable[str]) -> None:
    """Raise ValueError for an unknown name, with a text before it."""
    names = tuple(map(str, known))
    if name not in names:
        hint = likely(str(name), names) or f": there are {listed(names, len(names))}"
        raise ValueError(f"{text} `{name}`{hint}")


_Checked = TypeVar("_Checked", bound=Report[Any, Any])


def _checked(report: _Checked, *, policies: int = 1, resources: int = 1, check: bool) -> _Checked:
    """Return a report; raises UnusableInputError for errors if `check` is set."""
    wrong = [str(one) for one in report.errors]
    if not policies and not wrong:
        wrong.append("no policy given")
    if not resources and not wrong:
        wrong.append("no resource given")
    if wrong and check:
        # A warning may have the cause, such as swapped arguments.
        wrong += (str(one) for one in report.diagnostics if one.severity is Severity.WARNING)
        raise UnusableInputError("\n".join(wrong), report)
    return report
