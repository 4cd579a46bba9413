"""JupyterLab as `make lab` starts it, and a browser to use it with.

A test run opens the shortest page only; with SHALLOW_INTERACTIVE=all (`make interactive`) every page takes part.
Without an up-to-date lab or without Chromium these tests are skipped; where every page takes part that is a failure.
"""

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest
import references
from browser.conftest import CHROMIUM, LOCAL, OPTIONS
from playwright.sync_api import Page, sync_playwright

START = 90  # seconds that the server may take on a busy machine
TIMEOUT = 60_000  # milliseconds that the browser waits for the server or a kernel


@dataclass(frozen=True)
class Lab:
    """A running server: its address, and the token that opens it."""

    address: str
    token: str

    def url(self, path: str) -> str:
        """Where a file of the repository opens, with no tab of before beside it."""
        return f"{self.address}/lab/tree/{path}?token={self.token}&reset"

    def ask(self, path: str, method: str = "GET") -> str:
        """What the server's interface answers.  Raises URLError."""
        request = Request(f"{self.address}/api/{path}", method=method, headers={"Authorization": f"token {self.token}"})
        with urlopen(request, timeout=30) as answer:
            return answer.read().decode()

    def kernels(self) -> dict[str, str]:
        """The kind of kernel that runs, by the name of the file that it serves."""
        return {session["name"]: session["kernel"]["name"] for session in json.loads(self.ask("sessions"))}

    def stop_kernels(self) -> None:
        for session in json.loads(self.ask("sessions")):
            self.ask(f"sessions/{session['id']}", "DELETE")


def refuse(reason: str) -> None:
    (pytest.fail if os.environ.get("SHALLOW_INTERACTIVE") == "all" else pytest.skip)(reason)


@pytest.fixture(scope="session")
def installed() -> None:
    """`make lab` would install nothing now: a test changes no environment."""
    if not shutil.which("make") or subprocess.run(["make", "--question", ".venv/.lab"], cwd=references.ROOT).returncode:
        refuse("JupyterLab is not installed (run `make lab` or `make interactive`)")
    if CHROMIUM is None:
        refuse("no Chromium on PATH")


@pytest.fixture(scope="module")
def lab(installed, tmp_path_factory) -> Iterator[Lab]:
    """The server that `make lab` starts, for a user who has no settings; stopped afterwards with its kernels."""
    home = tmp_path_factory.mktemp("jupyter")
    folders = ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR")
    with socket.socket() as free:
        free.bind((LOCAL, 0))
        port = free.getsockname()[1]
    lab = Lab(f"http://{LOCAL}:{port}", secrets.token_hex(16))
    options = f"--no-browser --ip={LOCAL} --port={port} --ServerApp.port_retries=0 --IdentityProvider.token={lab.token}"
    if os.geteuid() == 0:  # containers run as root
        options += " --allow-root"
    with (home / "log").open("w", encoding="utf-8") as log:
        server = subprocess.Popen(
            ["make", "lab", f"ARGS={options}"],
            cwd=references.ROOT,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env=os.environ | {name: str(home / name.lower()) for name in folders},
        )
    try:
        until = time.monotonic() + START
        while not _answers(lab):
            if server.poll() is not None or time.monotonic() > until:
                pytest.fail(f"`make lab` did not start:\n{(home / 'log').read_text(encoding='utf-8')[-2000:]}")
            time.sleep(0.5)
        yield lab
        lab.ask("shutdown", "POST")
        server.wait(START)
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)


def _answers(lab: Lab) -> bool:
    try:
        return bool(lab.ask("status"))
    except (URLError, OSError):
        return False


@pytest.fixture
def page(lab: Lab) -> Iterator[Page]:
    """An empty page that can reach the server only; its kernels end with it."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        opened = chromium.new_page(viewport={"width": 1280, "height": 900})
        opened.set_default_timeout(TIMEOUT)
        yield opened
        chromium.close()
    lab.stop_kernels()
