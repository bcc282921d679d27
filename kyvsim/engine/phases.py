"""The order in which the stages of a request run. It is written here and nowhere else."""

from kyvsim.model.result import Stage

STAGES = (
    Stage.MUTATE,
    Stage.VERIFY_IMAGES,
    Stage.VALIDATE,
    Stage.NATIVE_MUTATE,
    Stage.CEL_MUTATE,
    Stage.NATIVE_VALIDATE,
    Stage.CEL_VALIDATE,
    Stage.CEL_GENERATE,
    Stage.GENERATE,
    Stage.CEL_VERIFY_IMAGES,
    Stage.CEL_DELETE,
    Stage.DELETE,
)
"""Mutation of one policy feeds the next policy and the next stage.

Deletion looks at objects as they were given: it comes at a time of its own.
upstream: cmd/cli/kubectl-kyverno/processor/policy_processor.go
"""
