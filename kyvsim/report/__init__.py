"""Formats in which results are shown: each module folds engine responses into pieces of text."""
