"""Evidence that two policy sets are equivalent: cases made from what they refer to, run on both."""
