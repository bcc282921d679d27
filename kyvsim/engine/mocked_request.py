"""Requests changed by the values that are given for their variables.

Source of the rules: upstream cmd/cli/kubectl-kyverno/processor/policy_processor.go, where the value
of `request.operation` decides what a request is.
"""

from collections.abc import Mapping

from kyvsim.kube.objects import Json
from kyvsim.model.request import AdmissionRequest, Operation

_OPERATION = "request.operation"


def with_own_operation(
    request: AdmissionRequest, variables: Mapping[str, Json]
) -> Mapping[str, Json]:
    """Return the variables with the operation of a request that is known to be no creation."""
    if request.operation is Operation.CREATE:
        return variables
    return {**variables, _OPERATION: request.operation.value}


def with_given_operation(
    request: AdmissionRequest, variables: Mapping[str, Json]
) -> AdmissionRequest:
    """Return a creation as the update, deletion or connection that the variables make of it.

    Upstream's command line does not know connections.
    """
    if request.operation is not Operation.CREATE:
        return request
    operation = variables.get(_OPERATION)
    if operation == Operation.UPDATE.value:
        return request._replace(operation=Operation.UPDATE, old_object=request.object)
    if operation == Operation.DELETE.value:
        # upstream takes the namespace from the object that a deletion does not have.
        return request._replace(
            operation=Operation.DELETE, object=None, old_object=request.object, namespace=""
        )
    if operation == Operation.CONNECT.value:
        return request._replace(operation=Operation.CONNECT)
    return request
