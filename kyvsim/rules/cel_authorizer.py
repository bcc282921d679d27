"""What `authorizer` answers: from the roles there are, to the question that Kyverno asks.

That is not the question of the expression: Kyverno asks about objects of the kind at hand, whatever
group, resource or path is named, and about the user alone, without groups.
Source of the rules: upstream pkg/engine/internal/auth.go, pkg/auth.
"""

from kyvsim.cel.libraries.authorizer import Ask, Decision, Question, nobody
from kyvsim.context.access_review import can_review, review
from kyvsim.kube.discovery import plural
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import object_key
from kyvsim.rules.cel_request import namespace_of
from kyvsim.rules.protocol import Evaluation


def request_question(evaluation: Evaluation) -> Question:
    """Return who makes the request, and of which object."""
    request = evaluation.request
    return Question(
        request.user.username if request.user else "",
        namespace=namespace_of(request),
        name=object_key(request.subject).name,
    )


def compile_ask(evaluation: Evaluation) -> Ask:
    """Return who answers questions about a request: the roles, or nobody where none are known."""
    outside = evaluation.scope.outside
    if not outside.answers_calls:
        return nobody
    key = object_key(evaluation.request.subject)
    group, version = split_api_version(key.api_version)

    def ask(question: Question) -> Decision:
        if not question.user or not can_review(outside.cluster):
            return nobody(question)
        attributes = {
            "verb": question.verb,
            "group": group,
            "version": version,
            "resource": plural(group, key.kind),
            "subresource": question.subresource,
            "namespace": question.namespace,
        }
        spec = {"user": question.user, "resourceAttributes": attributes}
        status = review({"spec": spec}, outside.cluster)["status"]
        return Decision(allowed=bool(status["allowed"]), reason=status.get("reason", ""))

    return ask
