"""Conditions of preconditions and deny blocks → tests."""

from kyvsim.migrate.conditions.block import Asked, conditions_asked, conditions_test

__all__ = ["Asked", "conditions_asked", "conditions_test"]
