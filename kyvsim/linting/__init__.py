"""Checks of policies that Kyverno accepts and that are almost certainly mistakes.

All checks are listed in `registry.py`. `apply` and `test` run only those of `runs.py`, so that
module must not import the others.
"""
