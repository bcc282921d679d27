"""Evaluation: no policy syntax, no files, no state."""

from kyvsim.engine.evaluate import evaluate, passing, shown_passes
from kyvsim.engine.given_objects import GivenObjects
from kyvsim.engine.policy import open_request, run_turn
from kyvsim.engine.world import World, creation_of, request_of, reviewed

__all__ = [
    "GivenObjects",
    "World",
    "creation_of",
    "evaluate",
    "open_request",
    "passing",
    "request_of",
    "reviewed",
    "run_turn",
    "shown_passes",
]
