"""Offline policy engine for Kyverno policies: verdicts, mutated and generated resources."""

__version__ = "0.1.0"
