"""Evidence that two policy sets are equivalent: generated cases, evaluated by both."""
