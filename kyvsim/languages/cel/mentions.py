"""What a policy in CEL mentions: its constraints and its expressions."""

from collections.abc import Iterator

from kyvsim.cel.kyverno.environments import kyverno_environment
from kyvsim.languages.mentioned import IMAGE_WAYS, Notebook
from kyvsim.languages.mentioned_constraints import read_constraints
from kyvsim.languages.mentioned_expressions import read_expressions
from kyvsim.model.policy import About, Mention, Policy
from kyvsim.model.ports import System


def mentions(policy: Policy, system: System) -> Iterator[Mention]:
    """Yield what the policy mentions."""
    notes = Notebook()
    read_constraints(policy.spec.get("matchConstraints"), notes)
    for one in policy.spec.get("matchImageReferences") or ():
        notes.note(About.WORLD, ("images",))
        for way in IMAGE_WAYS:
            notes.note(About.OBJECT, way, (one["glob"],) if one.get("glob") else ())
    read_expressions(
        policy.spec, kyverno_environment(policy.kind, system.clock, system.entropy), notes
    )
    yield from notes.mentions()
