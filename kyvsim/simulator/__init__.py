"""A simulated cluster: the only package with state."""
