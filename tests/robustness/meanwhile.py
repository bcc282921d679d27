"""Runs kyvsim, and a program of the shell when a file is about to be opened for the n-th time.

`python meanwhile.py FILE N PROGRAM WORD…`: what stands beside a file can change while it is read.
"""

import itertools
import subprocess
import sys

from kyvsim.__main__ import main

FILE, NUMBER, PROGRAM = sys.argv[1:4]
counted = itertools.count(1)


def look(event: str, arguments: tuple[object, ...]) -> None:
    """Take part in what is opened, by any way that Python has."""
    path = arguments[0] if event == "open" else None
    if isinstance(path, str) and path.endswith(FILE) and next(counted) == int(NUMBER):
        subprocess.run(PROGRAM, shell=True, check=True)


sys.addaudithook(look)
sys.argv = ["kyvsim", *sys.argv[4:]]
main()
