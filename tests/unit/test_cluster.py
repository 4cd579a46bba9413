"""Recording on a dask cluster: the same numbers as on one machine, whatever happens to a worker."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
import xarray as xr
from click.testing import CliRunner
from planted import cells
from references import ROOT
from shallow import fingerprint, paths, recording, records, sweep
from shallow.__main__ import main

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")  # a killed worker makes its peers complain


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """The planted recipes over an empty folder of records, for this process and its workers."""
    monkeypatch.setattr(paths, "RECORDS", tmp_path)
    monkeypatch.setattr(records, "recipes", lambda: cells.RECORDS)
    for name, value in {"PYTHONPATH": str(ROOT / "tests"), "PLANTED_TRACE": str(tmp_path / "trace")}.items():
        monkeypatch.setenv(name, value)
    return tmp_path


@pytest.fixture
def cluster(planted):
    """Two worker processes with one thread each."""
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as made:
        yield made


def test_a_killed_worker_costs_no_cell(planted, cluster):
    """One of two workers is killed in the middle: all cells arrive, and they equal those of local processes."""
    with distributed.Client(cluster) as client:
        victim = min(client.run(os.getpid).values())

    def kill():
        while len(list(planted.rglob("*.cell"))) < 3:
            time.sleep(0.02)
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    result = CliRunner().invoke(main, ["record", "planted/slow", "--scheduler", cluster.scheduler_address])
    killer.join(1)
    assert result.exit_code == 0, result.output
    assert not killer.is_alive() and len((planted / "trace").read_text().splitlines()) >= 12
    local = sweep.grid(cells.slow, {"seed": cells.SEEDS}, jobs=2, seconds=0.0)
    xr.testing.assert_identical(records.load("planted/slow"), local.assign(value=local.value.astype("float32")))


def test_an_interrupted_recording_goes_on_where_it_stopped(planted, cluster):
    """Ctrl-C after some cells: they are kept, and the second call computes none of them again."""
    command = [sys.executable, "-m", "planted", "record", "planted/long", "--scheduler", cluster.scheduler_address]
    environment = os.environ | {"SHALLOW_RECORDS": str(planted)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as first:
        while len(list(planted.rglob("*.cell"))) < 3:
            time.sleep(0.02)
        first.send_signal(signal.SIGINT)
        _, said = first.communicate(timeout=60)
    assert first.returncode == 130, said
    assert "interrupted; the same command goes on where it stopped" in said
    store = recording.store("planted/long")
    kept = [seed for seed in cells.SEEDS if store.holds({"seed": seed})]
    assert 3 <= len(kept) < len(cells.SEEDS)
    subprocess.run(command, env=environment, check=True, timeout=60)
    computed = Counter((planted / "trace").read_text().splitlines())
    assert {computed[str({"seed": seed})] for seed in kept} == {1}
    assert records.load("planted/long")["count"].values.tolist() == cells.SEEDS


def test_workers_with_other_code_are_refused(planted, cluster, monkeypatch):
    monkeypatch.setattr(fingerprint, "of", cells.fingerprint_of_this_process)
    result = CliRunner().invoke(main, ["record", "planted/slow", "--scheduler", cluster.scheduler_address])
    assert result.exit_code == 1 and "has other code for planted.cells.slow" in result.output


def test_without_dask_the_extra_is_named(planted, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = CliRunner().invoke(main, ["record", "planted/quick", "--scheduler", "tcp://127.0.0.1:1"])
    assert result.exit_code == 1 and "--scheduler needs the extra `cluster`" in result.output


def commands(page: Path, heading: str) -> str:
    """The first block of shell commands below a heading."""
    return re.search(r"```sh\n(.*?)```", page.read_text().partition(heading)[2], re.DOTALL)[1]


def test_the_book_names_the_commands_of_the_readme():
    wanted = commands(ROOT / "README.md", "## Run it on more machines")
    assert commands(ROOT / "book" / "speed.md", "## On a cluster") == wanted


def test_the_readme_works_as_written(tmp_path, unused_port):
    """The three commands of "Run it on more machines", on this machine, against the record that the book shows."""
    block = commands(ROOT / "README.md", "## Run it on more machines")
    block = block.replace("HOST", "127.0.0.1").replace("8786", unused_port)
    scheduler, worker, record = (line.partition("#")[0].split() for line in block.splitlines())
    binaries = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{binaries}:{os.environ['PATH']}", "SHALLOW_RECORDS": str(tmp_path)}
    quiet = {"env": environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    started = [subprocess.Popen([*command, "--no-dashboard"], **quiet) for command in (scheduler, worker)]
    try:
        done = subprocess.run(record, env=environment, capture_output=True, text=True, timeout=120, check=False)
    finally:
        for process in started:
            process.terminate()
            process.wait(20)
    assert done.returncode == 0, done.stderr
    name = record[record.index("record") + 1]
    found = xr.load_dataset(tmp_path / f"{name}.nc", engine="h5netcdf")
    xr.testing.assert_identical(found, records.load(name))


@pytest.fixture
def unused_port() -> str:
    """A free port of this machine."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])
