"""Why the results of a test are what they are: rules that did not say what a row wants, explained.

Each is evaluated once more, alone; rows that pass cost nothing.
"""

from kyvsim.api.explain_rows import compile_explain
from kyvsim.api.suite_inputs import ManifestInputs
from kyvsim.kubernetes.objects import object_key
from kyvsim.model.result import (
    EngineResponse,
    Phase,
    PolicyResponse,
    ReportedReason,
    RuleResult,
    RuleStatus,
)
from kyvsim.report.diagnostics import rule_place
from kyvsim.report.failure_reasons import failure_reasons
from kyvsim.report.results import Row
from kyvsim.suite.compare import FindReasons
from kyvsim.suite.run import ResourceAnswers


def compile_suite_reasons(inputs: ManifestInputs) -> FindReasons:
    """Return what tells how rules of a test came to their results.

    Of a rule that passed that is only where it stands.
    """

    def reasons(
        answers: ResourceAnswers, response: PolicyResponse, result: RuleResult
    ) -> tuple[ReportedReason, ...]:
        request = answers.request
        seen = request.object if response.phase is Phase.MUTATE else response.object
        row = Row(response.policy, result, result.status.value, seen)
        if result.status is RuleStatus.PASS or request.is_payload:
            return (ReportedReason("", rule_place(row)),)

        key = object_key(request.object)
        documents = inputs.suite.resources
        document = next((one for one in documents if object_key(one.data) == key), None)
        about = EngineResponse(
            request.object, response.object, (response,), document, request=request
        )
        return failure_reasons(row, about, compile_explain(inputs.options, answers.world, ()))

    return reasons
