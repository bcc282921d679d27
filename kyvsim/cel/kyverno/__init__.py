"""Kyverno's own libraries of functions: one file each; `environments.py` says who knows which.

Names stand in two spellings, `Get` and `get`, since version 1.18 of the libraries.

upstream: kyverno/sdk extensions/cel/libs
"""
