"""Shell scripts, interpreted here: a part of POSIX's language, and never a real shell."""
