"""Evidence that two sets of policies say the same: cases made of what they mention, run on both."""
