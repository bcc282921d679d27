"""Conditions of preconditions and deny blocks → tests, one file for each family of operators."""

from kyvsim.migrate.conditions.block import conditions_test

__all__ = ["conditions_test"]
