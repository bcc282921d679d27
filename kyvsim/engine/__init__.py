"""Evaluation: no policy syntax, no files, no state."""
