"""Conditions of preconditions and deny blocks → tests, one file for each family of operators."""

from kyvsim.migrate.conditions.block import Asked, conditions_asked, conditions_test

__all__ = ["Asked", "conditions_asked", "conditions_test"]
