"""`kyverno apply` in a script of a chainsaw test, with the output of Kyverno's program.

Source of the output: upstream cmd/cli/kubectl-kyverno/commands/apply/command.go,
processor/policy_processor.go; of the objects that are read from a cluster: utils/common/fetch.go.
"""

from collections.abc import Iterable, Iterator

from kyvsim.api.apply import compiled_for, responses_of, run_of, whole_sample
from kyvsim.api.inputs import ApplyInputs, read_inputs
from kyvsim.chainsaw.errors import UnsupportedError
from kyvsim.chainsaw.unsupported import watch_responses
from kyvsim.engine.compile import PolicySet
from kyvsim.kubernetes.objects import KubernetesObject, object_key
from kyvsim.load.files import Source
from kyvsim.model.chainsaw import ApplyCall
from kyvsim.model.diagnostic import Severity
from kyvsim.model.ports import SIMULATED
from kyvsim.model.result import EngineResponse, RuleStatus
from kyvsim.model.source import Document, Location
from kyvsim.report.results import Summary, only_warns
from kyvsim.report.run import ResultCounts
from kyvsim.simulator.api_server import ObjectStore
from kyvsim.simulator.cluster import SimulatedCluster
from kyvsim.yaml.text import folded_yaml


def apply_in_cluster(call: ApplyCall, cluster: SimulatedCluster) -> tuple[int, str, str]:
    """Return exit status, standard output and standard error of `kyverno apply`.

    Raises UnsupportedError for unusable input, which the program partly ignores, and if a result
    depends on something that is not available offline.
    """
    store, settings = cluster.sim.store, cluster.sim.settings

    def files(field: str) -> tuple[Source, ...]:
        return tuple(Source(*file) for file in call.files.get(field, ()))

    def last(field: str) -> Source | str:
        return files(field)[-1] if files(field) else ""

    inputs = ApplyInputs(
        tuple(Source(*file) for file in call.policies),
        resources=files("resources"),
        targets=files("targets"),
        exceptions=files("exceptions"),
        parameters=files("parameters"),
        crd_paths=files("crd_paths"),
        values_file=last("values_file"),
        userinfo=last("userinfo"),
        context_file=last("context_file"),
        release=settings.release,
        audit_warn=call.audit_warn,
        now=cluster.sim.clock.now(),
        budget=SIMULATED,
    )
    read = read_inputs(inputs, None)
    if call.reads_cluster:
        objects = tuple(one for of_kind in store.kinds() for one in store.list(*of_kind, ""))
        read = read._replace(parameters=(*read.parameters, *objects))
    compiled = compiled_for(inputs, read)
    if call.reads_cluster:
        read = read._replace(resources=(*_matching(compiled.policies, store, call.namespace),))
    run = run_of(compiled, inputs, read, whole_sample(read, compiled))
    wrong = [one for one in run.diagnostics if one.severity is Severity.ERROR]
    if wrong:
        raise UnsupportedError(f"`kyverno apply` with unusable input: {wrong[0]}")
    view = store if call.reads_cluster else None
    responses = [*responses_of(compiled.policies, read, inputs, view)]
    unavailable: list[str] = []
    counts = ResultCounts(audit_warn=call.audit_warn)
    for response in responses:
        watch_responses(unavailable)(response.responses)
        counts.add_response(response)
    if unavailable:
        raise UnsupportedError(unavailable[0])
    summary = counts.summary()
    with_exceptions = f" with {run.exception_count} exception(s)" if run.exception_count else ""
    head = f"Applying {run.rule_count} policy rule(s) to {run.resource_count} resource(s)"
    status, ending, problem = _ending(summary, call.warn_status)
    printed = (
        f"\n{head}{with_exceptions}...\n",
        *_changes(responses),
        *_failures(responses, audit_warn=call.audit_warn),
        f"\n{summary} \n{ending}",
    )
    problems = "".join(f"Warning: {line}\n" for line in run.deprecated)
    return status, "".join(printed), problems + problem


def _matching(policies: PolicySet, store: ObjectStore, namespace: str) -> Iterator[Document]:
    """Yield the objects in the cluster of the kinds that policies match."""
    for api_version, kind in store.kinds():
        if any(True for policy in policies.policies for _ in policy.of_kind(kind)):
            for obj in store.list(api_version, kind, namespace):
                yield Document(obj, "", 0, lambda _: Location(""))


def _ending(summary: Summary, warn_status: int) -> tuple[int, str, str]:
    """Return the exit status, and the last texts on standard output and standard error."""
    for number, what in ((summary.failed, "violations"), (summary.errors, "errors")):
        if number:
            return 1, "", f"Error: exit as there are policy {what}\n"
    if summary.warned and warn_status:
        return warn_status, f"exit as warnExitCode is {warn_status}", ""
    return 0, "", ""


def _changes(responses: Iterable[EngineResponse]) -> Iterator[str]:
    """Yield the objects that policies changed or generated."""
    for answer in (one for response in responses for one in response.responses):
        where = f"\npolicy {answer.policy.name} applied to {_path(answer.object)}:"
        if answer.changed:
            yield f"{where}\n{folded_yaml(answer.object)}\n---\n"
            yield "\n\nMutation:\nMutation has been applied successfully."
        for obj in (one for result in answer.results for one in result.generated):
            yield f"{where}\n{folded_yaml(obj)}\n---\n"
            yield "\n\nGenerate:\nGeneration completed successfully."


def _failures(responses: Iterable[EngineResponse], *, audit_warn: bool) -> Iterator[str]:
    """Yield the failed rules of each policy and object."""
    for response in responses:
        for answer in response.responses:
            failed = [one for one in answer.results if one.status is RuleStatus.FAIL]
            if failed:
                labels = response.namespace_labels or {}
                warns = audit_warn and only_warns(answer, labels, audit_warn=True)
                ending = "failed as audit warning:" if warns else "failed:"
                yield f"policy {answer.policy.name} -> resource {_path(answer.object)} {ending}\n"
            for number, one in enumerate(failed, 1):
                yield f"{number} - {one.rule.name} {one.message or 'validation failed'}\n"


def _path(obj: KubernetesObject) -> str:
    key = object_key(obj)
    return f"{key.namespace}/{key.kind}/{key.name}"
