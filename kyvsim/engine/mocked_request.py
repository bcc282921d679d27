"""Requests changed by the values that are given for their variables.

Source of the rules: upstream cmd/cli/kubectl-kyverno/processor/policy_processor.go, where the value
of `request.operation` decides what a request is.
"""

from collections.abc import Mapping

from kyvsim.kube.objects import Json
from kyvsim.model.request import AdmissionRequest, Operation


def with_given_operation(
    request: AdmissionRequest, variables: Mapping[str, Json]
) -> AdmissionRequest:
    """Return the creation `request` as the update or deletion that the variables make of it."""
    operation = variables.get("request.operation")
    if operation == Operation.UPDATE.value:
        return request._replace(operation=Operation.UPDATE, old_object=request.object)
    if operation == Operation.DELETE.value:
        # upstream takes the namespace from the object that a deletion does not have.
        return request._replace(
            operation=Operation.DELETE, object=None, old_object=request.object, namespace=""
        )
    return request
