"""Making records: nothing that is finished is lost or done twice, whatever happens to the processes."""

import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import xarray as xr
from click.testing import CliRunner, Result
from planted import cells

from shallow.__main__ import main
from shallow.book import fingerprint, recording, records


def run(*arguments) -> Result:
    """One call of the command line in this process; standard output and error apart."""
    return CliRunner().invoke(main, [*map(str, arguments)], prog_name="python -m shallow")


def finished(folder: Path) -> list[Path]:
    """The files of all finished cells."""
    return list(folder.rglob("*.cell"))


def computed(folder: Path) -> list[str]:
    """One line for every cell that was begun."""
    return (folder / "trace").read_text(encoding="utf-8").splitlines() if (folder / "trace").exists() else []


def started(folder: Path, *arguments: str) -> subprocess.Popen:
    """A recording in a process group of its own, with three finished cells or more; the last ones wait for a file."""
    command, gated = [sys.executable, "-m", "planted", *arguments], {"PLANTED_GATE": str(folder / "gate")}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, start_new_session=True, env=os.environ | gated, **pipes)
    deadline = time.monotonic() + 60
    while len(finished(folder)) < 3:
        assert process.poll() is None and time.monotonic() < deadline, process.stderr.read()
        time.sleep(0.02)
    return process


def have_ended(processes: list[psutil.Process]) -> bool:
    """Whether all end within five seconds; who has lost its parent may stay a zombie."""

    def runs(process: psutil.Process) -> bool:
        with suppress(psutil.NoSuchProcess):
            return process.status() != psutil.STATUS_ZOMBIE
        return False

    deadline = time.monotonic() + 5
    while (alive := any(map(runs, processes))) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive


@pytest.mark.parametrize(("sent", "to_all"), [(signal.SIGKILL, True), (signal.SIGINT, True), (signal.SIGTERM, False)])
def test_a_killed_recording_goes_on_where_it_stopped(planted, sent, to_all):
    """Killed or interrupted with its workers or alone: they end, no finished cell is lost or computed again."""
    process = started(planted, "record", "planted/slow", "--jobs", "2")
    workers = psutil.Process(process.pid).children(recursive=True)
    assert len(workers) >= 2
    os.killpg(process.pid, sent) if to_all else process.send_signal(sent)
    process.wait(30)
    assert process.returncode == (-sent if sent == signal.SIGKILL else 128 + sent)
    if sent != signal.SIGKILL:
        assert b"interrupted; the same command goes on where it stopped" in process.stderr.read()
    assert have_ended(workers)
    kept, begun = len(finished(planted)), len(computed(planted))
    assert 3 <= kept < 12
    again = run("record", "planted/slow", "--jobs", 2)
    assert again.exit_code == 0 and f"12 cells, {kept} of them kept" in again.stdout
    assert len(computed(planted)) - begun == 12 - kept
    assert run("verify", "planted/slow", "--cells", 12).stdout == "planted/slow: 12 of 12 cells agree\n"
    assert not finished(planted)


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("begun", [20, 200])
def test_of_many_quick_cells_none_waits_to_be_kept(planted, sent, begun):
    command = [sys.executable, "-m", "planted", "record", "planted/many", "--jobs", "2"]
    process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while len(computed(planted)) < begun:
        time.sleep(0.002)
    os.killpg(process.pid, sent)
    process.wait(30)
    assert begun <= len(computed(planted)) <= len(finished(planted)) + 2  # what the threads had in hand


def test_a_signal_whose_exception_python_drops_ends_the_recording_all_the_same():
    """What is raised in a destructor does not leave it."""
    script = """
import signal, time
from shallow import __main__ as command
class Deaf:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)
command.GRACE = 0.2
with command._resumable():
    Deaf()
    time.sleep(30)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=20, check=False)
    assert ended.returncode == 128 + signal.SIGTERM
    assert b"interrupted; the same command goes on where it stopped" in ended.stderr


def test_workers_end_soon_after_their_parent_is_killed(planted):
    """In the middle of long cells, and one that has had no cell at all."""
    process = started(planted, "record", "planted/slow", "--jobs", "3", "--seeds", "8")
    while len(computed(planted)) < 8:
        time.sleep(0.02)
    workers = psutil.Process(process.pid).children(recursive=True)
    assert len(workers) >= 3
    process.kill()
    process.wait(20)
    assert have_ended(workers)


def test_two_recordings_of_the_same_thing_share_the_cells(planted):
    first = started(planted, "record", "planted/slow", "--jobs", "1")
    second = started(planted, "record", "planted/slow", "--jobs", "2")
    while len(computed(planted)) < 9:
        time.sleep(0.02)
    (planted / "gate").touch()
    assert [process.wait(60) for process in (first, second)] == [0, 0]
    assert sorted(computed(planted)) == sorted(str({"seed": seed}) for seed in cells.SEEDS)
    assert b"another process is at work on them too" in second.stdout.read()
    checked = run("verify", "planted/slow", "--cells", 12)
    assert checked.exit_code == 0, checked.stderr
    assert records.manifest("planted/slow")["seconds"] >= 12 * 0.2
    assert [file.name for file in planted.rglob("*") if file.suffix in (".part", ".cell", ".lock", ".user")] == []


def test_a_cell_that_fails_is_reported_and_the_exit_status_says_so(planted, monkeypatch):
    result = run("record", "planted/fragile", "planted/quick")
    assert result.exit_code == 1
    assert "planted/fragile: 1 of 5 cells failed:\n  seed=2: ArithmeticError: seed 2 diverged" in result.stderr
    assert "planted/quick: 3 cells" in result.stdout and "0.01 MB" in result.stdout  # the next one is made all the same
    assert len(finished(planted)) == 4
    monkeypatch.setenv("PLANTED_MENDED", "1")
    assert run("record", "planted/fragile", "--jobs", 1).exit_code == 0
    assert computed(planted).count("{'seed': 2}") == 2 and computed(planted).count("{'seed': 1}") == 1


def test_a_disk_that_is_full_at_the_end_costs_nothing(planted):
    """The limit on the size of a file stands in for it: the record exceeds the limit, its cells do not."""
    recording.make("planted/large", jobs=1)
    before = records.load("planted/large")
    command = [sys.executable, "-m", "planted", "record", "planted/large", "--anew", "--jobs", "2"]
    limited = subprocess.run(
        command,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY)),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert limited.returncode == 1, limited.stderr
    assert "large.nc" in limited.stderr and "File too large" in limited.stderr and "Traceback" not in limited.stderr
    assert not list(planted.rglob("*.part"))
    assert records.state("planted/large") == "fresh" and len(finished(planted)) == 12
    begun = len(computed(planted))
    subprocess.run(command, check=True, timeout=60)
    assert len(computed(planted)) == begun and not finished(planted)
    xr.testing.assert_identical(records.load("planted/large"), before)


def test_some_seeds_now_the_rest_later_and_a_dry_run_says_at_what_cost(planted):
    assert recording.make("planted/slow", seeds=2, jobs=2) is None
    assert "missing" in records.state("planted/slow")
    for seeds, count in (([], 12), (["--seeds", 3], 3)):
        said = f"planted/slow: {count} cells, 2 of them kept; expected cost unknown, never recorded\n"
        assert run("record", "planted/slow", "--dry-run", *seeds).stdout == said
    assert len(computed(planted)) == 2
    run("record", "planted/slow", "--jobs", 2)
    known = run("record", "planted/slow", "--dry-run", "--anew", "--jobs", 2)
    seconds, noted = records.expected_seconds("planted/slow").sum(), records.manifest("planted/slow")["seconds"]
    assert noted >= 2.4 and seconds == pytest.approx(noted, abs=0.06)  # it is noted to a tenth
    cost = f"{records.duration(seconds)} of computing, {records.duration(seconds / 2)} with 2 at a time"
    assert f"kept; expected cost {cost}" in known.stdout
    assert len(computed(planted)) == 12


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["record"], "name a record, or say --all"),
        (["record", "planted/none"], "unknown record 'planted/none'"),
        (["record", "planted/quick", "--seeds", "9"], "seeds must be in 1..3"),
        (["record", "planted/quick", "--device", "cuda"], "device must not be given"),
    ],
)
def test_a_bad_command_is_refused_by_name(planted, arguments, says):
    result = run(*arguments)
    assert result.exit_code in (1, 2) and says in result.stderr and isinstance(result.exception, SystemExit)


def test_verify_confirms_a_stale_record_and_it_is_not_computed_again(planted, monkeypatch):
    run("record", "planted/quick", "--jobs", 1)
    monkeypatch.setattr(fingerprint, "of", lambda function: "1" * 16)
    checked = run("verify", "planted/quick", "planted/slow", "--confirm", "--cells", 2)
    assert checked.exit_code == 1 and checked.stdout == "planted/quick: 2 of 3 cells agree\n"
    missing, listed = "record 'planted/slow' is missing; make it by: python -m shallow record", run("list").stdout
    assert missing in checked.stderr and missing in listed and "confirmed     3 cells" in listed
    assert run("record", "planted/quick").stdout == "planted/quick: confirmed\n"
