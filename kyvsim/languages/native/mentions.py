"""What one of Kubernetes' admission policies mentions: its constraints and its expressions."""

from collections.abc import Iterator

from kyvsim.cel.kubernetes import kubernetes_environment
from kyvsim.languages.mentioned import Notebook
from kyvsim.languages.mentioned_constraints import read_constraints
from kyvsim.languages.mentioned_expressions import read_expressions
from kyvsim.model.policy import Mention, Policy
from kyvsim.model.ports import System


def mentions(policy: Policy, _: System) -> Iterator[Mention]:
    """Yield what the policy mentions."""
    notes = Notebook()
    read_constraints(policy.spec.get("matchConstraints"), notes)
    read_expressions(policy.spec, kubernetes_environment(params=True, mutates=True), notes)
    yield from notes.mentions()
