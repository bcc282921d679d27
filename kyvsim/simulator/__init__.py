"""A simulated cluster: the only room that holds state."""
