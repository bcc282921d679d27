import pytest

from kyvsim.engine.policy import with_given_operation
from kyvsim.model.request import Operation


@pytest.mark.parametrize(
    "variables", [{}, {"request.operation": "CREATE"}, {"request.operation": 1}]
)
def test_a_creation_stays_one(pod, request_for, variables):
    request = request_for(pod())
    assert with_given_operation(request, variables) is request


@pytest.mark.parametrize("operation", [Operation.UPDATE, Operation.DELETE])
def test_what_is_no_creation_stays_what_it_is(pod, request_for, operation):
    request = request_for(pod(), operation=operation)
    assert with_given_operation(request, {"request.operation": "DELETE"}) is request


def test_a_connection_brings_its_object_and_nothing_old(pod, request_for):
    made = with_given_operation(request_for(pod()), {"request.operation": "CONNECT"})
    assert (made.operation, made.old_object) == (Operation.CONNECT, None)
    assert (made.object, made.namespace) == (pod(), "shop")


def test_an_update_leaves_the_object_as_it_was(pod, request_for):
    made = with_given_operation(request_for(pod()), {"request.operation": "UPDATE"})
    assert made.operation is Operation.UPDATE
    assert made.object is made.old_object
    assert made.namespace == "shop"


def test_a_deletion_has_an_old_object_only_and_no_namespace(pod, request_for):
    made = with_given_operation(request_for(pod()), {"request.operation": "DELETE"})
    assert (made.operation, made.object, made.namespace) == (Operation.DELETE, None, "")
    assert made.subject == made.old_object == pod()
