"""Redoing cells of recorded runs: which are drawn, how they are compared, and what the manifests keep of it.

Cells are drawn from all quarters of the expected cost, other ones on another day, and those first that the present code
has not redone.  A redone cell must agree with the record exactly (to rounding) where this kind of processor made the
record or has redone that cell so before; elsewhere, where it does not, by the recipe's tolerance for other processors.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass
from datetime import UTC, date, datetime
from multiprocessing import get_context

import numpy as np

from shallow.book import fingerprint, recording, records, sweep
from shallow.book.records import RecordError

EXACT, ELSEWHERE = "exact", "another processor"  # by which rule a cell agreed
QUARTERS = 4
LEAST = 0.02  # of a record's computing is to be redone, or a whole cell of its dearest quarter


@dataclass(frozen=True)
class Redone:
    """A cell that was computed again and agreed with its record.

    Attributes:
        record: name of the record.
        cell: its number in the grid.
        whole: as it was recorded, not shortened.
        rule: `EXACT` or `ELSEWHERE`.
        seconds: computing time.
    """

    record: str
    cell: int
    whole: bool
    rule: str
    seconds: float


class Unavailable(RuntimeError):
    """A cell cannot be redone here, since it needs data that are not at hand; the message names them."""


# What has been redone.


def redone_cells(name: str) -> dict[int, float]:
    """The cells that the present code has redone, and the seconds of the record's computing that each stands for.

    A whole cell counts for its expected time, a shortened one for the time that it took.
    """
    present, expected = fingerprint.of(records.recipe(name).cell), records.expected_seconds(name)
    found = {}
    for note in (note for note in records.manifest(name)["redone"] if note["fingerprint"] == present):
        for cell, seconds in zip(note["cells"], note["seconds"], strict=True):
            spent = expected[cell] if note["whole"] else min(seconds, expected[cell])
            found[cell] = max(spent, found.get(cell, 0.0))
    return found


def share(name: str) -> float:
    """The share of a record's computing time that the present code has done or redone."""
    if records.manifest(name)["fingerprint"] == fingerprint.of(records.recipe(name).cell):
        return 1.0
    return sum(redone_cells(name).values()) / records.expected_seconds(name).sum()


def is_thin(name: str) -> bool:
    """Whether less than `LEAST` of a record's computing was redone by the present code, and no dear cell as a whole."""
    present, dear = fingerprint.of(records.recipe(name).cell), set(_dear(name).tolist())
    whole = [note for note in records.manifest(name)["redone"] if note["fingerprint"] == present and note["whole"]]
    return share(name) < LEAST and not any(dear & {*note["cells"]} for note in whole)


def note(trials: Sequence[Redone], day: date | None = None) -> None:
    """Write into the manifests which cells were redone: by which code, when, on which kind of processor, by which rule.

    Cells of one day that were compared alike share an entry.  Data and the fingerprint of the code that made them stay.
    """
    for trial in trials:
        with recording.store(trial.record).lock():
            manifest = records.manifest(trial.record)
            entry = {
                "fingerprint": fingerprint.of(records.recipe(trial.record).cell),
                "date": _day(day),
                "processor": records.processor(),
                "rule": trial.rule,
                "whole": trial.whole,
            }
            alike = [old for old in manifest["redone"] if entry.items() <= old.items()]
            if not alike:
                alike = [entry | {"cells": [], "seconds": []}]
                manifest["redone"] += alike
            alike[0]["cells"].append(trial.cell)
            alike[0]["seconds"].append(float(f"{trial.seconds:.3g}"))
            records.write(trial.record, manifest)


def _day(day: date | None) -> str:
    return (day or datetime.now(UTC).date()).isoformat()


# Which cells.


def _quarters(seconds: np.ndarray) -> np.ndarray:
    """The quarter of the cost, 0 to 3, of each cell."""
    return np.argsort(np.argsort(seconds, kind="stable")) * QUARTERS // len(seconds)


def _dear(name: str) -> np.ndarray:
    """The cells of a record's dearest quarter; of fewer than four cells, the dearest."""
    quarter = _quarters(records.expected_seconds(name))
    return np.flatnonzero(quarter == quarter.max())


def draw(name: str, *, day: date | None = None, limit: float = np.inf, without: Sequence[int] = ()) -> int | None:
    """The number of the cell to redo next, from the quarter of the cost of which least has been redone.

    In a quarter those come first that the present code has not redone.  The stream of random numbers is named by the
    record's checksum, the code's fingerprint and the day.

    Args:
        limit: of the expected seconds of a cell; the cheapest counts as within it.
        without: cells to leave out; None is returned when there is no other.
    """
    from shallow import stats  # takes as long to import as the rest of this module: only where a cell is drawn

    seconds, done = records.expected_seconds(name), {*redone_cells(name), *without}
    quarter = _quarters(seconds)
    redone = [np.mean([i in done for i in np.flatnonzero(quarter == q)] or [1.0]) for q in range(QUARTERS)]
    parts = records.manifest(name)["sha256"], fingerprint.of(records.recipe(name).cell), _day(day)
    order = stats.stream("verify", *parts).permutation(len(seconds)).tolist()
    left = [i for i in order if i not in without and seconds[i] <= max(limit, seconds.min())]
    return min(left, key=lambda i: (i in done, redone[quarter[i]]), default=None)


# Comparing.


def verify(name: str, cells: int = 1, *, whole: bool = False, limit: float = np.inf) -> list[Redone]:
    """Recompute some cells of a record and compare them.

    Args:
        cells: how many are drawn.
        whole: to the end also where the recipe says how cells are shortened.
        limit: of the expected seconds of a cell that is not shortened.

    Raises:
        RecordError: when a cell disagrees with the record, or the record cannot be loaded.
        Unavailable: when data are missing for every cell; other cells are taken while there are any.
    """
    records.load(name)
    limit = np.inf if records.recipe(name).shortened and not whole else limit
    found, tried, missing = [], [], None
    while len(found) < cells and (cell := draw(name, limit=limit, without=tried)) is not None:
        tried.append(cell)
        try:
            found.append(redo(name, cell, whole=whole))
        except Unavailable as problem:
            missing = problem
    if missing and not found:
        raise missing
    return found


def redo(name: str, cell: int, *, whole: bool = False) -> Redone:
    """Recompute one cell of a record, given by its number in the grid, and compare it.

    Where the cell is not held to rounding, what can be compared in its place is: a steady cell, the start of the run in
    another record, or the cell shortened.

    Raises:
        RecordError: when it disagrees, or raises an exception; the message names the point and the variables.
        Unavailable: when it needs data that are not at hand.
    """
    wanted, stored, made = records.recipe(name), records.load(name), records.manifest(name)
    point, whole = records.points(wanted)[cell], whole or not wanted.shortened
    began = time.process_time()  # on a busy machine a cell has not done more because it took longer
    try:
        with sweep.one_compute_thread():  # as in the sweep that made the record
            fresh = wanted.cell(**point, **{**wanted.fixed, **({} if whole else wanted.shortened)})
    except ConnectionError as error:
        raise Unavailable(f"record {name!r} at {point}: {error}") from None
    except Exception as error:
        raise RecordError(f"record {name!r}: its own code at {point} raises {type(error).__name__}: {error}") from error
    seconds = time.process_time() - began
    wrong = wanted.agreement.disagreements(fresh, stored, point, whole=whole)
    if not wrong:
        return Redone(name, cell, whole, EXACT, seconds)
    if not _is_held_to_rounding(made, cell, whole=whole):
        if not wanted.is_steady(point):
            return _instead(name, cell, whole=whole)
        if whole and wanted.shortened:
            return redo(name, cell)
        wrong = wanted.agreement.disagreements(fresh, stored, point, elsewhere=True, whole=whole)
        if not wrong:
            return Redone(name, cell, whole, ELSEWHERE, seconds)
    raise RecordError(f"record {name!r} differs from its own code at {point} in {', '.join(map(repr, wrong))}")


def _is_held_to_rounding(made: Mapping, cell: int, *, whole: bool) -> bool:
    """Whether this kind of processor made the record, or has redone that cell exactly before, wholly if asked."""
    here = records.processor()
    exact = [note for note in made["redone"] if (note["rule"], note["processor"]) == (EXACT, here)]
    again = any(cell in note["cells"] and note["whole"] >= whole for note in exact)
    return again or made["processor"].rpartition(",")[0] == here


def _instead(name: str, cell: int, *, whole: bool) -> Redone:
    """What is compared on a processor on which that run is another one; its start is none of the record's computing."""
    wanted = records.recipe(name)
    points = records.points(wanted)
    point = points[cell]
    if wanted.start:
        start = records.recipe(wanted.start)
        redo(wanted.start, records.points(start).index({axis: point[axis] for axis in start.axes}))
        return Redone(name, cell, False, ELSEWHERE, 0.0)
    steady = dict(point) | {axis: values[0] for axis, values in wanted.steady.items() if point[axis] not in values}
    return redo(name, points.index(steady), whole=whole)


# Within a time.


def budget(minutes: float, names: Sequence[str], jobs: int) -> list[tuple[str, int, float]]:
    """Records, cells to redo, whole, and their expected seconds: first what lifts thin records over `LEAST`, cheapest
    first, then always next of the record of which least was redone.

    A cell that would take more than a third of the time of one worker is left out.
    """
    left, limit, planned = 60 * minutes * jobs, 60 * minutes / 3, []
    shares = {name: share(name) for name in names}
    chosen: dict[str, list[int]] = {name: [] for name in names}
    expected = {name: records.expected_seconds(name) for name in names}
    lifts = [(name, cell) for name in filter(is_thin, names) for cell in _lift(name, limit)]
    lifts.sort(key=lambda lift: expected[lift[0]][lift[1]], reverse=True)
    while shares and left > 0:
        name, cell = lifts.pop() if lifts else (min(shares, key=shares.get), None)
        if cell is None:
            cell = draw(name, limit=limit, without=chosen[name])
        if cell is None or expected[name][cell] > min(left, limit):
            shares.pop(name, None)
            continue
        chosen[name].append(cell)
        planned.append((name, cell, expected[name][cell]))
        left -= expected[name][cell]
        if name in shares:
            shares[name] += expected[name][cell] / expected[name].sum()
    return planned


def _lift(name: str, limit: float) -> list[int]:
    """Cells after which a record is not thin: one of its dearest quarter, or several of any if they cost less."""
    seconds, several = records.expected_seconds(name), []
    others = np.setdiff1d(np.arange(len(seconds)), _dear(name)).tolist()
    dear = draw(name, limit=limit, without=others)
    while share(name) + seconds[several].sum() / seconds.sum() < LEAST:
        if (cell := draw(name, limit=limit, without=several)) is None:
            break
        several.append(cell)
    return several if dear is None or seconds[several].sum() < seconds[dear] else [dear]


def verify_for(
    minutes: float, names: Sequence[str], jobs: int
) -> Iterator[tuple[str, Redone | RecordError | Unavailable]]:
    """Redo the cells of :func:`budget` in `jobs` processes side by side; yields each record with what came of it.

    Nothing is begun that is not expected to end within the time.
    """
    todo, end = iter(budget(minutes, names, jobs)), time.monotonic() + 60 * minutes
    with ProcessPoolExecutor(jobs, get_context("spawn"), sweep.end_with, (os.getpid(),)) as pool:
        running = {}
        while True:
            for name, cell, seconds in todo if len(running) < jobs else ():
                if time.monotonic() + seconds < end:
                    running[pool.submit(redo, name, cell, whole=True)] = name
                if len(running) == jobs:
                    break
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                name = running.pop(future)
                try:
                    yield name, future.result()
                except (RecordError, Unavailable) as problem:
                    yield name, problem
