"""The controllers of Kyverno."""
