"""Recording on a dask cluster: the same numbers as on one machine, whatever happens to a worker."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import xarray as xr
from click.testing import CliRunner
from planted import cells
from references import ROOT

from shallow.__main__ import main
from shallow.book import recording, records, sweep

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")  # a killed worker makes its peers complain


@pytest.fixture
def gate(planted, monkeypatch):
    """The file without which the workers do not finish the cells of the later seeds."""
    monkeypatch.setenv("PLANTED_GATE", str(planted / "gate"))
    return planted / "gate"


@pytest.fixture
def unused_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


@pytest.fixture
def cluster(planted, request):
    """Two worker processes, or as many as the test asks for, with one thread each."""
    workers = getattr(request, "param", 2)
    options = {"n_workers": workers, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as made:
        yield made


def record(name, address):
    """`python -m shallow record`, computed by the workers of a scheduler."""
    return CliRunner().invoke(main, ["record", f"planted/{name}", "--scheduler", address])


def killed_on_the_way(folder, process, address):
    """A recording during which a process is killed when three cells are finished."""

    def kill():
        while len(list(folder.rglob("*.cell"))) < 3:
            time.sleep(0.02)
        os.kill(process, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    result = record("slow", address)
    killer.join(10)
    assert not killer.is_alive()
    return result


def is_as_on_one_machine(name):
    """Whether a record of slow cells holds what this process computes."""
    local = sweep.grid(cells.slow, {"seed": cells.SEEDS}, jobs=1)
    xr.testing.assert_identical(records.load(name), local.assign(value=local.value.astype("float32")))
    return records.state(name) == "fresh"


@contextmanager
def running(*commands, **options):
    """Processes without output, which end with the block."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} | options
    processes = [subprocess.Popen(command, **quiet) for command in commands]
    try:
        yield processes
    finally:
        for process in processes:
            process.terminate()
            process.wait(20)


@contextmanager
def worker_with_a_copy(address, folder, added=" + 1"):
    """A worker with a copy of the planted package, where something is added to the numbers of the slow cell."""
    copy = shutil.copytree(ROOT / "tests" / "planted", folder / "other" / "planted") / "cells.py"
    text = copy.read_text(encoding="utf-8")
    assert text.count("standard_normal(size)") == 1
    copy.write_text(text.replace("standard_normal(size)", f"standard_normal(size){added}"), encoding="utf-8")
    command = [Path(sys.executable).parent / "dask", "worker", address, "--nthreads", "1", "--no-dashboard"]
    environment = os.environ | {"PYTHONPATH": f"{folder / 'other'}:{ROOT / 'lib'}"}
    with running(command, env=environment, cwd=folder):
        yield copy


def test_a_killed_worker_costs_no_cell(planted, cluster):
    with distributed.Client(cluster) as client:
        victim = min(client.run(os.getpid).values())
    result = killed_on_the_way(planted, victim, cluster.scheduler_address)
    assert result.exit_code == 0, result.output
    assert is_as_on_one_machine("planted/slow")


def test_a_manifest_names_the_processors_of_the_workers(planted, monkeypatch):
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    recording.make("planted/quick", seeds=1, jobs=1)
    own = records.processor()
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    with distributed.LocalCluster(n_workers=1, processes=True, dashboard_address=None) as cluster:
        monkeypatch.delenv("OPENBLAS_CORETYPE")
        assert record("quick", cluster.scheduler_address).exit_code == 0
    made = re.sub(r", \d+ cores", "", records.manifest("planted/quick")["processor"])
    assert made == f"{own} as Haswell and {own}"


def test_a_worker_with_other_code_that_joins_later_computes_nothing(planted, gate, cluster):
    address = cluster.scheduler_address
    command = [sys.executable, "-m", "planted", "record", "planted/slow", "--scheduler", address]
    with subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8") as process:
        while len(list(planted.rglob("*.cell"))) < 3:
            time.sleep(0.02)
        with worker_with_a_copy(address, planted), distributed.Client(cluster) as client:
            client.wait_for_workers(3, timeout=60)
            time.sleep(2)  # time to take cells
            gate.touch()
            _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert re.search(r"worker tcp://\S+ has other code for planted.cells.slow", said)
    assert is_as_on_one_machine("planted/slow")


@pytest.mark.parametrize("cluster", [0], indirect=True)
def test_without_a_worker_of_the_same_code_the_command_fails(planted, cluster, monkeypatch):
    monkeypatch.setattr(sweep, "PATIENCE", 1.0)
    recording.make("planted/slow", seeds=3, jobs=1)
    with worker_with_a_copy(cluster.scheduler_address, planted):
        result = record("slow", cluster.scheduler_address)
    assert result.exit_code == 1
    assert re.search(r"no worker has the code of this process for planted.cells.slow: not tcp://", result.output)
    assert "missing" in records.state("planted/slow")
    store = recording.store("planted/slow")
    assert [seed for seed in cells.SEEDS if store.holds({"seed": seed})] == [0, 1, 2]
    xr.testing.assert_identical(store.get({"seed": 2}), cells.slow(2))


@pytest.mark.parametrize("cluster", [0], indirect=True)
def test_a_worker_whose_files_have_changed_since_it_began_computes_nothing(planted, cluster, monkeypatch):
    """What it has loaded may differ from what it would read now, though that is what is wanted."""
    monkeypatch.setattr(sweep, "PATIENCE", 1.0)
    with worker_with_a_copy(cluster.scheduler_address, planted, added="") as copy:
        for name, code in (("placed", 0), ("quick", 1)):
            result = record(name, cluster.scheduler_address)
            assert result.exit_code == code, result.output
            os.utime(copy, (time.time() + 60, time.time() + 60))
    assert "no worker has the code of this process for planted.cells.slow" in result.output


@pytest.mark.parametrize("cluster", [1], indirect=True)
def test_a_single_worker_computes_the_cells_and_not_the_process_that_asks(planted, cluster):
    with distributed.Client(cluster) as client:
        (worker,) = client.run(os.getpid).values()
    result = record("placed", cluster.scheduler_address)
    assert result.exit_code == 0, result.output
    found = records.load("planted/placed")
    assert set(found.process.values) == {worker} and (found.threads == 1).all()


def test_a_cell_that_kills_its_workers_is_reported_and_the_others_go_on(planted, cluster):
    result = record("deadly", cluster.scheduler_address)
    assert result.exit_code == 1
    assert "1 of 3 cells failed:\n  seed=1: KilledWorker" in result.output
    assert len(list(planted.rglob("*.cell"))) == 2


def test_a_scheduler_that_dies_ends_the_command_and_costs_no_finished_cell(planted, unused_port):
    dask_command, address = Path(sys.executable).parent / "dask", f"tcp://127.0.0.1:{unused_port}"
    scheduler = [dask_command, "scheduler", "--port", unused_port, "--no-dashboard"]
    worker = [dask_command, "worker", address, "--nthreads", "1", "--no-dashboard"]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'tests'}:{ROOT / 'lib'}"}
    with running(scheduler, worker, env=environment, cwd=planted) as (process, _):
        result = killed_on_the_way(planted, process.pid, address)
    assert result.exit_code == 1 and f"the scheduler {address} is gone" in result.output
    assert len(list(planted.rglob("*.cell"))) >= 3


def test_the_readme_works_as_written(tmp_path, unused_port):
    """The three commands of "Run it on more machines", on this machine, against the record that the book shows."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Run it on more machines")[2]
    block = re.search(r"```sh\n(.*?)```", text, re.DOTALL)[1].replace("HOST", "127.0.0.1").replace("8786", unused_port)
    scheduler, worker, record = (line.partition("#")[0].split() for line in block.splitlines())
    binaries = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{binaries}:{os.environ['PATH']}", "SHALLOW_RECORDS": str(tmp_path)}
    commands_of_dask = [[*command, "--no-dashboard"] for command in (scheduler, worker)]
    with running(*commands_of_dask, env=environment, cwd=tmp_path):
        done = subprocess.run(record, env=environment, capture_output=True, encoding="utf-8", timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    name = record[record.index("record") + 1]
    found = xr.load_dataset(tmp_path / f"{name}.nc", engine="h5netcdf")
    xr.testing.assert_identical(found, records.load(name))
