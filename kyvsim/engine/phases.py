"""The order in which the phases of a request run. It is written here and nowhere else."""

from kyvsim.model.result import Phase

PHASES = (Phase.MUTATE, Phase.VERIFY_IMAGES, Phase.VALIDATE, Phase.GENERATE)
"""Mutation of one policy feeds the next policy and the next phase."""
