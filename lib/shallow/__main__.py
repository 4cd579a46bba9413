"""``python -m shallow``: make, list and check the recorded runs."""

from __future__ import annotations

import sys

import click

from shallow import records


@click.group()
def main() -> None:
    """Recorded runs of the book."""


def _chosen(names: tuple[str, ...], everything: bool) -> list[str]:
    known = list(records.recipes())
    if not names and not everything:
        raise click.UsageError("name a record, or say --all; `python -m shallow list` prints them")
    unknown = [name for name in names if name not in known]
    if unknown:
        raise click.UsageError(f"unknown record {unknown[0]!r}; `python -m shallow list` prints them")
    return list(names) or known


@main.command()
@click.argument("names", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All recorded runs of the book.")
@click.option("--missing", is_flag=True, help="Only those that are missing or stale.")
@click.option("--jobs", type=click.IntRange(min=1), help="Threads; all cores by default.")
def record(names: tuple[str, ...], everything: bool, missing: bool, jobs: int | None) -> None:
    """Compute recorded runs at full scale and store them under records/."""
    for name in _chosen(names, everything or missing):
        if missing and _state(name) == "fresh":
            continue
        click.echo(f"{name}: {records.recipe(name).about}")
        click.echo(f"  -> {records.make(name, jobs=jobs).stat().st_size / 1e6:.2f} MB")


def _state(name: str) -> str:
    try:
        records.load(name)
    except records.RecordError as problem:
        return str(problem)
    return "stale: the code behind it has changed" if records.is_stale(name) else "fresh"


@main.command("list")
def list_() -> None:
    """List the recorded runs with their state."""
    for name, recipe in records.recipes().items():
        click.echo(f"{name:55s} {_state(name)}\n    {recipe.about}")


@main.command()
@click.argument("names", nargs=-1)
@click.option("--cells", default=1, show_default=True, help="Cells of each record to recompute.")
def verify(names: tuple[str, ...], cells: int) -> None:
    """Recompute a few cells of each record and compare; exit status 1 if one differs or is missing."""
    failed = 0
    for name in _chosen(names, not names):
        try:
            tried = records.verify(name, cells)
            click.echo(f"{name}: {len(tried)} cells agree{', stale' if records.is_stale(name) else ''}")
        except records.RecordError as problem:
            failed += 1
            click.echo(f"{name}: {problem}", err=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
