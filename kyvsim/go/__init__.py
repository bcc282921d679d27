"""Go's standard library and its like, where answers show how they read and write."""
