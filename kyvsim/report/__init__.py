"""Formats in which results are shown: each module folds engine responses into text, a piece at a time."""
