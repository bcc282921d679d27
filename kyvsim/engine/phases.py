"""The order in which the phases of a request run. It is written here and nowhere else."""

from kyvsim.model.result import Phase

PHASES = (Phase.MUTATE, Phase.VERIFY_IMAGES, Phase.VALIDATE, Phase.GENERATE, Phase.DELETE)
"""Mutation of one policy feeds the next policy and the next phase.

Deletion looks at objects as they were given: it comes at a time of its own.
"""
