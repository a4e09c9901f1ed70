"""Runs a command and fails unless it ends with the given code.

  expect-exit.py CODE COMMAND...
"""

import subprocess
import sys

code = subprocess.run(sys.argv[2:], check=False).returncode
if code != int(sys.argv[1]):
    sys.exit("exit code " + str(code) + ", expected " + sys.argv[1])
