"""An interpreter for a part of POSIX's shell language; a real shell is never started."""
