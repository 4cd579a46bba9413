"""Kernels that are forks of one process: what a page sees there, how it is interrupted, and how it ends."""

import subprocess
import sys

import pytest

from shallow.book.paths import ROOT

SESSION = """
import os, sys, time
from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="python3", cwd=sys.argv[1])

def say(code):
    said = []
    client.execute_interactive(code, timeout=60, output_hook=lambda m: said.append(m["content"].get("text", "")))
    return "".join(said).split()

loaded = say("import os, sys; print('torch' in sys.modules, os.getcwd(), os.getpid(), os.environ['SAID'])")
asked = client.execute("import time; time.sleep(60)", stop_on_error=False)  # else what is asked next may be dropped
time.sleep(1)
manager.interrupt_kernel()
reply = client.get_shell_msg(timeout=10)["content"]
after = say("print(6 * 7)")
manager.shutdown_kernel(now=True)
time.sleep(1)
ended = not os.path.exists(f"/proc/{loaded[2]}")
print(*loaded[:2], loaded[3], reply["ename"], *after, ended)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux alone")
def test_a_fork_is_a_kernel_in_its_folder_that_can_be_interrupted_and_ends(tmp_path, monkeypatch):
    monkeypatch.setenv("SAID", "here")
    command = [sys.executable, ROOT / "tools" / "forked.py", sys.executable, "-c", SESSION, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["True", str(tmp_path), "here", "KeyboardInterrupt", "42", "True"], done.stderr


@pytest.mark.parametrize("status", [0, 3])
def test_the_status_is_that_of_the_command(status):
    command = [sys.executable, ROOT / "tools" / "forked.py", sys.executable, "-c", f"raise SystemExit({status})"]
    assert subprocess.run(command, timeout=120, check=False).returncode == status
