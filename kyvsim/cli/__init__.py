"""The command line: options in, exit status out; the only room that writes files."""
