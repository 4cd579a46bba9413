"""Planted records that tests may damage, and planted recipes that they may interrupt."""

import pytest
from joblib.externals.loky import get_reusable_executor
from planted import cells
from planted.forge import NAME, OTHER
from references import ROOT

from shallow.book import paths, recording, records


@pytest.fixture(scope="session")
def recorded_files(tmp_path_factory) -> dict[str, bytes]:
    """Two planted records, made once."""
    folder = tmp_path_factory.mktemp("records")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "RECORDS", folder)
        patch.setattr(records, "recipes", lambda *_: cells.RECORDS)
        recording.make(NAME, jobs=1)
        recording.make(OTHER, jobs=1)
    return {file.name: file.read_bytes() for file in (folder / "planted").iterdir() if file.is_file()}


@pytest.fixture
def recorded(recorded_files, tmp_path, monkeypatch):
    """The two planted recipes over a folder with their records, which is returned."""
    monkeypatch.setattr(paths, "RECORDS", tmp_path)
    monkeypatch.setattr(records, "recipes", lambda *_: {name: cells.RECORDS[name] for name in (NAME, OTHER)})
    (tmp_path / "planted").mkdir()
    for name, content in recorded_files.items():
        (tmp_path / "planted" / name).write_bytes(content)
    return tmp_path / "planted"


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """The planted recipes over an empty folder of records, in this process and in those that it starts."""
    monkeypatch.setattr(paths, "RECORDS", tmp_path)
    monkeypatch.setattr(records, "recipes", lambda *_: cells.RECORDS)
    where = {"SHALLOW_RECORDS": str(tmp_path), "PLANTED_TRACE": str(tmp_path / "trace")}
    for name, value in (where | {"PYTHONPATH": str(ROOT / "tests"), "OMP_NUM_THREADS": "1"}).items():
        monkeypatch.setenv(name, value)
    get_reusable_executor().shutdown()  # workers of earlier tests have another environment
    return tmp_path
