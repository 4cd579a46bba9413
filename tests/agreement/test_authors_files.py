"""The library computes what the authors' programs computed; the files of their numbers are as described."""

from pathlib import Path

import numpy as np
import pytest

from experiments.authors_programs import files
from experiments.authors_programs.beside import FILES, bound, differences
from experiments.authors_programs.files import Recording, difference

FOLDER = Path(files.__file__).parent
RECORDED = np.array([[1.0, -2.0], [100.0, 0.0]])


@pytest.mark.parametrize(("file", "key"), [(file, key) for file in FILES for key in FILES[file].recording.outputs])
def test_the_library_computes_what_the_program_computed(file, key):
    """Data, weights, losses, spectra, machines: what each file holds, to the bound of its kind."""
    assert differences(file)[key] < bound(file, key)


@pytest.mark.parametrize(
    ("axes", "expected"), [(None, 0.01), ((1,), 0.5), ((), 1.0)], ids=["of the whole", "of each row", "of each number"]
)
def test_differences_are_relative_to_the_largest_entry(axes, expected):
    assert difference(RECORDED + [[1.0, 0.0], [0.0, 0.0]], RECORDED, axes) == expected
    assert difference(RECORDED, RECORDED, axes) == 0


@pytest.mark.parametrize("wrong", [1e-300, np.nan, np.inf])
def test_only_zero_equals_zero_and_nothing_equals_nan(wrong):
    assert difference(RECORDED + [[0.0, 0.0], [0.0, wrong]], RECORDED, ()) == np.inf


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.npz")), ids=lambda path: path.stem)
def test_every_file_is_described_and_in_double_precision(path):
    """All numbers but indices and labels."""
    assert f"`{path.stem}`" in (FOLDER / "README.md").read_text(encoding="utf-8")
    recording = Recording(path.stem, ())
    assert {recording[key].dtype.kind for key in recording.outputs} <= {"f", "i", "u"}
    assert all(recording[key].dtype == np.float64 for key in recording.outputs if recording[key].dtype.kind == "f")
