"""Kyverno's own libraries: one module each; `environments.py` selects them for each kind.

Names have two spellings, `Get` and `get`, since version 1.18 of the libraries.

upstream: kyverno/sdk extensions/cel/libs
"""
