import subprocess
import sys

APPLY = """
import sys
from kyvsim.cli.main import run
run(["apply", "policies/namespace-team", "-r", "fixtures/resources/namespaces.yaml"])
sys.exit(any(name.startswith("kyvsim.cel") for name in sys.modules))
"""


def test_without_policies_in_cel_nothing_of_it_is_loaded():
    done = subprocess.run([sys.executable, "-c", APPLY], capture_output=True, check=False)
    assert done.returncode == 0
