"""`apiCall` entries: calls of the Kubernetes API, served from the given objects, and of services.

Source of the rules: upstream pkg/engine/apicall, pkg/engine/context/loaders/apicall.go and, for
mocks, cmd/cli/kubectl-kyverno/store/contextloader.go.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from kyvsim.engine.context.cluster_api import (
    CallError,
    NoRightError,
    NotThereError,
    answer_get,
    can_review,
    review,
)
from kyvsim.engine.context.json_context import (
    MISSING_INPUT,
    SKIPPED,
    EntryLoader,
    JSONContext,
    not_stored,
)
from kyvsim.engine.context.restrictions import path_problem, service_problem
from kyvsim.jmespath import (
    Query,
    QueryError,
    QuerySyntaxError,
    System,
    compile_query,
    compile_template,
)
from kyvsim.kubernetes.discovery import parse_path
from kyvsim.kubernetes.quantities import with_floats
from kyvsim.model.ports import ExternalData
from kyvsim.model.release import Release
from kyvsim.model.values import CallAnswer
from kyvsim.policy.tree import ApiCallEntry

_REVIEWS = frozenset(
    {
        ("authorization.k8s.io/v1", "subjectaccessreviews"),
        ("authorization.k8s.io/v1", "localsubjectaccessreviews"),
    }
)


class _Call(NamedTuple):
    path: str
    """The URL path of an API call, "" for a call of a service."""
    url: str
    """The URL of a service, or the path."""
    method: str
    data: Mapping[str, object]

    def mock(self) -> str:
        """Return how to mock the call."""
        field = "urlPath" if self.path else "url"
        return (
            "add the response to the values file: apiCallResponses: "
            f'[{{{field}: "{self.url}", method: {self.method}, response: {{body: {{}}}}}}]'
        )


class _CompiledCall(NamedTuple):
    name: str
    default: object
    query_of: Callable[[Mapping[str, object]], Query | None]
    """Takes the call with replaced variables; raises `QueryError`."""


def compile_entry(written: ApiCallEntry, system: System) -> EntryLoader:
    """Return the loader of a response, of the Kubernetes API or of a service."""
    template = compile_template(with_floats(written.call), system)
    name, shown = written.name, written.url_path
    query_of = _compile_query(name, written.jmes_path, system)
    entry = _CompiledCall(name, with_floats(written.default), query_of)

    def load(scope: JSONContext) -> object:
        answers_nothing = not scope.external.answers_calls and not scope.external.mocks.calls
        if answers_nothing and scope.holds(name):
            return SKIPPED
        try:
            filled = template.render(scope)
        except QueryError as error:
            if answers_nothing or scope.holds(name):
                return SKIPPED
            raise QueryError(
                "failed to fetch data for APICall: failed to substitute variables in context entry "
                f"{name} {shown}: {error.message}"
            ) from error
        path = filled.get("urlPath") or ""
        service = (filled.get("service") or {}).get("url") or ""
        data = {item["key"]: item.get("value") for item in filled.get("data") or ()}
        # A mock is searched by the service's URL first, a call uses the path first.
        call = _Call(path, service or path, filled.get("method") or "GET", data)
        mock = scope.external.mocks.answer(call.method, call.url) if call.url else None
        if mock is not None:
            return _mocked(mock, entry, filled)
        if scope.external.answers_calls:
            return _from_cluster(call, entry, filled, scope, system.release)
        if not scope.holds(name):
            scope.hints.append(
                f"{MISSING_INPUT}context entry `{name}` cannot be read without a cluster: "
                f"{call.mock()}"
            )
        return SKIPPED

    return load


def _compile_query(
    name: str, written: str, system: System
) -> Callable[[Mapping[str, object]], Query | None]:
    if "{{" not in written:
        query = compile_query(written.strip(), system) if written else None
        return lambda _: query

    def query_of(filled: Mapping[str, object]) -> Query | None:
        text = filled["jmesPath"]
        try:
            return compile_query(str(text).strip(), system)
        except QuerySyntaxError as error:
            raise QueryError(
                "failed to store data for APICall: failed to apply JMESPath "
                f"{text} for context entry {name}: {error}"
            ) from error

    return query_of


def _mocked(mock: CallAnswer, entry: _CompiledCall, filled: Mapping[str, object]) -> object:
    if not mock.good:
        raise QueryError(
            f'HTTP {mock.status} from apiCall mock for context entry "{entry.name}" '
            "(v1 apiCall treats non-2xx as failure)"
        )
    query = entry.query_of(filled)
    if query is None:
        return mock.body
    try:
        return query.evaluate(mock.body)
    except QueryError as error:
        raise QueryError(
            f'failed to apply JMESPath "{query.text}" for context entry "{entry.name}": '
            f"{error.message}"
        ) from error


def _from_cluster(
    call: _Call,
    entry: _CompiledCall,
    filled: Mapping[str, object],
    scope: JSONContext,
    release: Release,
) -> object:
    _check_path(call.path, scope.policy_namespace, release)
    if scope.holds(entry.name):
        return SKIPPED
    try:
        body = _answer(call, entry.name, scope, release)
    except CallError as error:
        if entry.default is not None:
            if not isinstance(error, NotThereError):
                scope.hints.append(f"context entry `{entry.name}` uses its default: {error}")
            return entry.default
        if isinstance(error, NotThereError):
            missing = error.missing
            namespace = f', namespace: "{missing.namespace}"' if missing.namespace else ""
            what = f"{missing.kind} {missing.name} of context entry `{entry.name}`"
            scope.hints.append(
                not_stored(what)
                if scope.external.account
                else f"{MISSING_INPUT}{what} is not among the resources: add it: "
                f"{{apiVersion: {missing.api_version}, kind: {missing.kind}, "
                f'metadata: {{name: "{missing.name}"{namespace}}}}}; or {call.mock()}'
            )
        raise QueryError(f"failed to fetch data for APICall: {error}") from error
    if body.__class__ is dict and body.get("items") == []:
        scope.hints += _hints_for_empty_list(call, entry.name, scope.external)
    seen = scope.external.as_json(body)
    if entry.default is not None and seen == entry.default:
        return seen
    query = entry.query_of(filled)
    if query is None:
        return seen
    try:
        return query.evaluate(seen)
    except QueryError as error:
        raise QueryError(
            "failed to store data for APICall: failed to apply JMESPath "
            f"{query.text} for context entry {entry.name}: {error.message}"
        ) from error


def _hints_for_empty_list(call: _Call, name: str, external: ExternalData) -> Iterator[str]:
    """Yield how to provide the objects of a list, if none of its kind are given."""
    wanted, cluster = parse_path(call.path.partition("?")[0]), external.cluster
    if wanted is None:
        return
    kind = cluster.kind_of(wanted.api_version, wanted.resource)
    if cluster.guesses(wanted.api_version, wanted.resource):
        yield (
            f"{MISSING_INPUT}the kind behind {call.path} is unknown, so context entry `{name}` is "
            f"empty: pass its CRD with --crd-path; or {call.mock()}"
        )
    elif not external.account and not cluster.list(wanted.api_version, kind, ""):
        yield (
            f"{MISSING_INPUT}there are no existing {wanted.resource} of {wanted.api_version} "
            f"among the resources, so context entry `{name}` is an empty list: add them; or "
            f"{call.mock()}"
        )


def _check_path(path: str, namespace: str, release: Release) -> None:
    problem = path_problem(path, namespace, release)
    if problem:
        raise QueryError(f"failed to fetch data for APICall: {problem}")


def _answer(call: _Call, name: str, scope: JSONContext, release: Release) -> object:
    if not call.path:
        problem = service_problem(name, call.method, call.url, release)
        if problem:
            raise CallError(problem)
        raise CallError(
            f"failed to execute HTTP request for APICall {name}: {call.method} {call.url}: "
            f"kyvsim is offline: {call.mock()}"
        )
    start = f"failed to {call.method} resource with raw url: {call.path}: "
    try:
        return _answer_of_api(call, scope.external)
    except NotThereError as error:
        raise NotThereError(f"{start}{error}", error.missing) from error
    except NoRightError as error:
        scope.hints.append(f"context entry `{name}`: {error.reason}")
        raise CallError(f"{start}{error}") from error
    except CallError as error:
        # A values file does not apply to a cluster.
        way_out = "" if scope.external.account else f"; {call.mock()}"
        raise CallError(f"{start}{error}{way_out}") from error


def _answer_of_api(call: _Call, external: ExternalData) -> object:
    cluster = external.cluster
    if call.method == "GET":
        return answer_get(call.path, cluster, external.account)
    wanted = parse_path(call.path)
    if wanted is None or wanted.name or (wanted.api_version, wanted.resource) not in _REVIEWS:
        raise CallError("kyvsim does not support this call")
    if not can_review(cluster):
        raise CallError("there are no RBAC objects")
    return review(call.data, cluster, wanted.namespace)
