"""Lets tests here import the scripts that asked Kyverno, and the reader of its answers."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
