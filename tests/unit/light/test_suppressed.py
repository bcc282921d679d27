"""Errors are suppressed as the standard library suppresses them."""

import contextlib
import subprocess
import sys

import pytest

from kyvsim.light.suppressed import suppress


@pytest.mark.parametrize("kind", [suppress, contextlib.suppress])
def test_some_errors_end_a_block_and_no_more(kind):
    done = []
    with kind(KeyError, OSError):
        done.append("before")
        raise FileNotFoundError
    with kind():
        done.append("after")
    assert done == ["before", "after"]
    with pytest.raises(ValueError, match="other"), kind(KeyError, OSError):
        raise ValueError("other")
    with pytest.raises(KeyboardInterrupt), kind(Exception):
        raise KeyboardInterrupt


def test_contextlib_is_not_loaded_for_it():
    code = "import sys; import kyvsim.light.suppressed; print('contextlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
