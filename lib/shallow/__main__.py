"""``python -m shallow``: make, list and check the recorded runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click
from joblib import cpu_count, parallel_config

from shallow import fingerprint, recording, records, sweep

INTERRUPTED = 130  # the customary exit status after Ctrl-C


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Recorded runs of the book: what is too long for a page, computed once and kept under records/."""


def _names(command: Callable) -> Callable:
    """The argument NAMES of a command, and the option --all."""
    command = click.option("--all", "everything", is_flag=True, help="All recorded runs of the book.")(command)
    return click.argument("names", nargs=-1)(command)


def _chosen(names: tuple[str, ...], everything: bool) -> list[str]:
    known = list(records.recipes())
    if not names and not everything:
        raise click.UsageError("name a record, or say --all; `python -m shallow list` prints them")
    unknown = [name for name in names if name not in known]
    if unknown:
        raise click.UsageError(f"unknown record {unknown[0]!r}; `python -m shallow list` prints them")
    return known if everything else list(names)


@main.command()
@_names
@click.option("--anew", is_flag=True, help="Also records that are fresh; they are left alone otherwise.")
@click.option("--jobs", type=click.IntRange(min=1), help="Cells at a time; by default one for each core.")
@click.option("--device", help="For cells that run in torch, for example cuda.")
@click.option(
    "--seeds", type=click.IntRange(min=1), help="Only the first so many replicates; later calls add the rest."
)
@click.option("--scheduler", metavar="ADDRESS", help="A dask scheduler, for example tcp://host:8786.")
@click.option("--dry-run", is_flag=True, help="Say what would be computed and how long it should take.")
def record(names, everything, anew, jobs, device, seeds, scheduler, dry_run) -> None:
    """Compute recorded runs at full scale and store them under records/.

    Each finished cell is kept at once: after an interruption the same command goes on where it stopped.  A cell that
    fails is reported and the others go on; the exit status is then 1.
    """
    failed = False
    with _workers(scheduler, [records.recipe(name) for name in _chosen(names, everything)]):
        for name in _chosen(names, everything):
            if not anew and (state := records.state(name)) in ("fresh", "confirmed"):
                click.echo(f"{name}: {state}")
                continue
            try:
                click.echo(f"{name}: {recording.plan(name, seeds, device).describe(jobs or cpu_count())}")
                if not dry_run:
                    made = recording.make(name, jobs=jobs, device=device, seeds=seeds)
                    click.echo(
                        f"  {made.stat().st_size / 1e6:.2f} MB" if made else "  kept; not all cells are there yet"
                    )
            except sweep.SweepError as error:
                failed = True
                click.echo(f"{name}: {error}", err=True)
            except (ValueError, OSError) as error:
                raise click.ClickException(f"{name}: {error}") from error
            except KeyboardInterrupt:
                click.echo(f"\n{name}: interrupted; the same command goes on where it stopped", err=True)
                sys.exit(INTERRUPTED)
    sys.exit(1 if failed else 0)


@contextmanager
def _workers(scheduler: str | None, recipes: list[records.Recipe]) -> Iterator[None]:
    """This machine, or the workers of a dask scheduler, which must have the same code."""
    if scheduler is None:
        yield
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise click.ClickException(
            "--scheduler needs the extra `cluster`: pip install --editable '.[cluster]'"
        ) from error
    with Client(scheduler) as client:
        for cell in {recipe.cell for recipe in recipes}:
            for address, code in client.run(fingerprint.of, cell).items():
                if code != fingerprint.of(cell):
                    raise click.ClickException(f"worker {address} has other code for {cell.__module__}.{cell.__name__}")
        with parallel_config(backend="dask"):
            yield


@main.command("list")
def list_() -> None:
    """List the recorded runs: state, cells, computing time, size, and what they are."""
    for name, recipe in records.recipes().items():
        click.echo(f"{name:52s} {_summary(name)}\n    {recipe.about}")


def _summary(name: str) -> str:
    state = records.state(name)
    if state not in ("fresh", "confirmed", "stale"):
        return state
    made = records.manifest(name)
    return f"{state:9s} {made['cells']:5d} cells {made['seconds']:7.0f} s {made['bytes'] / 1e6:6.2f} MB"


@main.command()
@_names
@click.option("--cells", type=click.IntRange(min=1), default=1, show_default=True, help="Cells of each to recompute.")
@click.option("--confirm", is_flag=True, help="Note in the manifests of stale records that the new code agrees.")
def verify(names, everything, cells, confirm) -> None:
    """Recompute a few cells of each record and compare; exit status 1 if one differs or is missing.

    A record is compared by the rule of its recipe: exactly to rounding, or within a band where runs are chaotic.  For
    a change of code that should change no result, --confirm keeps the data and notes which code has agreed since.
    """
    failed = 0
    compare = recording.confirm if confirm else records.verify
    for name in _chosen(names, everything or not names):
        try:
            tried = compare(name, cells)
            stale = "; STALE: its code has changed since" if records.is_stale(name) else ""
            click.echo(f"{name}: {len(tried)} of {records.manifest(name)['cells']} cells agree{stale}")
        except records.RecordError as problem:
            failed += 1
            click.echo(f"{name}: {problem}", err=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
