"""Output formats: each module renders results as pieces of text."""
