"""`apply`: load → compile → one engine run for each resource."""

from collections.abc import Iterator
from typing import NamedTuple

from kyvsim.api.inputs import ApplyInputs, ReadInputs, objects_of, read_inputs
from kyvsim.api.system import system_environment
from kyvsim.compile import CompileOptions, Model, PolicySet, compile_policies
from kyvsim.engine import GivenObjects, World, evaluate
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, object_key
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import EngineResponse
from kyvsim.model.values import KindKey


class Application(NamedTuple):
    """Policies over resources: what was read, and the responses as they are asked for."""

    policies: tuple[Policy, ...]
    resource_count: int
    rule_count: int
    """Rules after autogen."""
    exception_count: int
    diagnostics: tuple[Diagnostic, ...]
    responses: Iterator[EngineResponse]
    """One for each resource, in input order."""


def open_application(inputs: ApplyInputs, stdin: bytes | None = None) -> Application:
    """Return the policies of `inputs` compiled, and the responses of its resources, lazily.

    `stdin` holds the bytes that the path `-` stands for. Problems with inputs are diagnostics; the
    good policies and resources are evaluated all the same.
    """
    read = read_inputs(inputs, stdin)
    options = CompileOptions(system_environment(), read.exceptions, Model(inputs.model))
    policies, refused = compile_policies(read.policies, options)
    return Application(
        policies=tuple(one.policy for one in policies.policies),
        resource_count=len(read.resources),
        rule_count=sum(len(one.rules) for one in policies.policies),
        exception_count=len(read.exceptions),
        diagnostics=(*read.diagnostics, *refused),
        responses=iter(()) if read.unusable else _responses(policies, read),
    )


def _responses(policies: PolicySet, read: ReadInputs) -> Iterator[EngineResponse]:
    cluster = GivenObjects(objects_of((*read.resources, *read.targets, *read.shared_data)))
    world = World(cluster, read.values)
    for document in read.resources:
        response = evaluate(policies, _creation_of(document.data, read), world)
        yield response._replace(document=document)


def _creation_of(obj: Json, read: ReadInputs) -> AdmissionRequest:
    """Return the request that creates an object, or sends it to the subresource it stands for."""
    request = AdmissionRequest(
        Operation.CREATE, obj, namespace=object_key(obj).namespace, user=read.user
    )
    kind = KindKey(*split_api_version(object_key(obj).api_version), object_key(obj).kind)
    found = read.values.subresource_of(kind) if read.values else None
    if found is None:
        return request
    return request._replace(subresource=found.name, parent_kind=found.parent)
