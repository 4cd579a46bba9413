"""``python -m shallow``: make, list and check the recorded runs; the spectra of a model's layers."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date

from shallow.book import chapters, deciding, fingerprint, paths, recording, records, sweep, verification
from shallow.book.claims import LedgerError
from shallow.book.claims.rules import row_of
from shallow.book.layer_report import spectra
from shallow.extras import click, cpu_count

INTERRUPTED = 130  # the customary exit status after Ctrl-C
GOES_ON = "interrupted; the same command goes on where it stopped"
GRACE = 10  # seconds between SIGTERM and an end by force


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Recorded runs of the book: what is too long for a page, computed once and kept under records/."""
    gc.set_threshold(100_000)  # imports and parsed files make many objects: collecting takes a third of `list`


main.add_command(spectra)


def _known(names: tuple[str, ...]) -> list[str]:
    """The records of these names, or all."""
    known = list(records.recipes())
    for name in names:
        if name not in known:
            raise click.UsageError(f"unknown record {name!r}; `python -m shallow list` prints them")
    return list(names) or known


@main.command()
@click.argument("names", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All recorded runs of the book.")
@click.option("--anew", is_flag=True, help="Also records that are fresh; they are left alone otherwise.")
@click.option("--jobs", type=click.IntRange(min=1), help="Cells at a time; by default one for each core.")
@click.option("--device", help="For cells that run in torch, for example cuda.")
@click.option("--seeds", type=click.IntRange(min=1), help="Only the first so many replicates; later calls add others.")
@click.option("--dry-run", is_flag=True, help="Say what would be computed and how long it should take.")
def record(names, everything, anew, jobs, device, seeds, dry_run) -> None:
    """Compute recorded runs at full scale and store them under records/.

    Each finished cell is kept at once: after an interruption the same command goes on where it stopped.  A cell that
    fails is reported and the others go on; the exit status is then 1.
    """
    if not names and not everything:
        raise click.UsageError("name a record, or say --all; `python -m shallow list` prints them")
    chosen, failed = _known(() if everything else names), False
    for name in chosen:
        fingerprint.of(records.recipe(name).cell)  # before anybody changes the files
    with _resumable():
        for name in chosen:
            if not anew and (state := records.state(name)) in ("fresh", "confirmed"):
                click.echo(f"{name}: {state}")
                continue
            try:
                click.echo(f"{name}: {recording.outlook(name, jobs or cpu_count(), seeds, device)}")
                if not dry_run:
                    made = recording.make(name, jobs=jobs, device=device, seeds=seeds)
                    size = f"{made.stat().st_size / 1e6:.2f} MB" if made else "kept; not all cells are there yet"
                    click.echo(f"  {size}")
            except sweep.SweepError as error:
                failed = True
                click.echo(f"{name}: {error}", err=True)
            except (ValueError, OSError) as error:
                raise click.ClickException(f"{name}: {error}") from error
    sys.exit(1 if failed else 0)


@contextmanager
def _resumable() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does: with a word on how to go on, and the customary exit status.

    A signal that meets joblib within one of its locks can leave it waiting for ever, in a destructor Python drops what
    it raises, and one that has killed the workers too makes joblib raise an error of its own.  Cells on disk are whole
    at any moment, so the process then ends without it.
    """
    received = []

    def by_force():
        os.write(2, f"\n{GOES_ON}\n".encode())  # past sys.stderr, whose lock the main thread may hold
        os._exit(128 + received[0])

    last_resort = threading.Timer(GRACE, by_force)
    last_resort.daemon = True

    def interrupt(number, frame):
        if not received:
            last_resort.start()
        received.append(number)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"\d+ tasks (have|which)", UserWarning)  # joblib, of what is given up
            yield
    except BaseException:
        if not received:
            raise
        click.echo(f"\n{GOES_ON}", err=True)
        sys.exit(128 + received[0])
    finally:
        if not received:  # else it watches over the end of the process too
            last_resort.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


@main.command("list")
def list_() -> None:
    """List the recorded runs: state, cells, computing time, size, and what they are."""
    for name, recipe in records.recipes().items():
        state = records.state(name)
        if state in ("fresh", "confirmed", "stale"):
            made, redone = records.manifest(name), verification.share(name)
            size = f"{made['cells']:5d} cells {made['seconds']:7.0f} s {made['bytes'] / 1e6:6.2f} MB"
            state = f"{state:9s} {size} {redone:6.1%} by the present code"
        click.echo(f"{name:52s} {state}\n    {recipe.about}")
    gc.freeze()  # nor are they worth collecting at the end


@main.command()
@click.argument("names", nargs=-1)
@click.option("--cells", type=click.IntRange(min=1), default=1, show_default=True, help="Cells of each to recompute.")
@click.option("--whole", is_flag=True, help="To the end also where a shorter part of a cell would be compared.")
@click.option("--minutes", type=click.FloatRange(0, 1e6, min_open=True), help="Whole cells for that long instead.")
@click.option("--jobs", type=click.IntRange(min=1), help="Cells at a time with --minutes; by default one a core.")
@click.option("--confirm", is_flag=True, help="Note in the manifests which cells agreed: stale records are confirmed.")
def verify(names, cells, whole, minutes, jobs, confirm) -> None:
    """Recompute cells of each record, or of all, and compare; exit status 1 if one differs or is missing.

    The cells are drawn from all quarters of the cost, other ones on another day.  --minutes spends that time where
    least of the computing has been redone.  They must equal the record to rounding; on a kind of processor that has
    never reproduced it exactly, by the tolerance of the recipe.  --confirm keeps the data and notes which cells agreed,
    by which code, when and where; a record that was stale then counts as confirmed.
    """
    failed = 0
    try:
        for name, outcome in _redone(_known(names), cells, whole, minutes, jobs or cpu_count()):
            if isinstance(outcome, Exception):
                failed += not isinstance(outcome, verification.Unavailable)
                click.echo(f"{name}: {outcome}", err=True)
                continue
            if confirm:
                verification.note(outcome)
            stale = "; STALE: its code has changed since" if records.is_stale(name) else ""
            loosely = any(trial.rule != verification.EXACT for trial in outcome)
            how = " by the tolerance for another kind of processor" if loosely else ""
            click.echo(f"{name}: {len(outcome)} of {records.manifest(name)['cells']} cells agree{how}{stale}")
    except KeyboardInterrupt:
        click.echo("\ninterrupted; what was compared before is " + ("noted" if confirm else "above"), err=True)
        sys.exit(INTERRUPTED)
    except OSError as problem:  # a manifest or a lock cannot be written
        raise click.ClickException(str(problem)) from problem
    sys.exit(1 if failed else 0)


def _redone(
    names: list[str], cells: int, whole: bool, minutes: float | None, jobs: int
) -> Iterator[tuple[str, list[verification.Redone] | Exception]]:
    """So many cells of each record, or those of which least has been redone for a time; and what cannot be redone."""
    loadable = []
    for name in names:
        try:
            if minutes:
                records.checked(name)
                loadable.append(name)
            else:
                yield name, verification.verify(name, cells, whole=whole)
        except (records.RecordError, verification.Unavailable) as problem:
            yield name, problem
    if minutes:
        for name, outcome in verification.verify_for(minutes, loadable, jobs):
            yield name, outcome if isinstance(outcome, Exception) else [outcome]


@main.command()
@click.argument("ids", nargs=-1, required=True)
@click.option("--anew", is_flag=True, help="First recomputes some cells of each record that the rule rests on.")
def claim(ids, anew) -> None:
    """Decide claims, such as CL-14, by their rules, and print the evidence, the answer and the page with the story.

    The exit status is 1 if the ledger says something else, or a recomputed cell differs.
    """
    try:
        rows = [row_of(id.upper()) for id in ids]
    except KeyError as unknown:
        raise click.UsageError(unknown.args[0]) from None
    except LedgerError as fault:
        raise click.ClickException(str(fault)) from fault
    agree = []
    for row in rows:
        try:
            agree.append(deciding.show(row, anew=anew))
        except (records.RecordError, ValueError) as problem:
            said = str(problem).removeprefix(f"{row.id}: ")
            raise click.ClickException(f"{row.id}: {said}") from problem
    sys.exit(0 if all(agree) else 1)


@main.command()
@click.argument("chapter")
@click.option("--prefix", help="Two letters with which the ids of its claims begin; by default its initials.")
@click.option("--title", default="Untitled", show_default=True, help="Title of its document.")
@click.option("--authors", default="Anonymous", show_default=True, help="Who wrote that.")
@click.option("--year", type=int, default=date.today().year, show_default=True, help="When.")
@click.option("--files-only", is_flag=True, help="Write the files alone: no record, no references.")
def new(chapter, prefix, title, authors, year, files_only) -> None:
    """Make a chapter, CHAPTER being its name: an example with three claims, a record and a laboratory to grow from.

    What it prints, its record and what the tests expect of its pages are made as well, which takes a few minutes.
    """
    try:
        made = chapters.new(chapter, prefix=prefix, title=title, authors=authors, year=year)
    except (ValueError, ImportError) as problem:
        raise click.ClickException(str(problem)) from problem
    click.echo("\n".join(str(file.relative_to(paths.ROOT)) for file in made))
    for command in [] if files_only else chapters.commands(chapter):
        click.echo(f"{' '.join(command)} ...")
        if status := subprocess.run([sys.executable, *command], cwd=paths.ROOT).returncode:
            sys.exit(status)


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="namereplace")  # a check mark is "\N{CHECK MARK}" where the encoding has none
    main()
