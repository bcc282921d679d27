"""The command line, from options to exit status; the only package that writes files."""
