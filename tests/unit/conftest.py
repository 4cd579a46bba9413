"""Planted records that tests may damage."""

import pytest
from planted import cells
from planted.forge import NAME, OTHER

from shallow.book import paths, recording, records


@pytest.fixture(scope="session")
def recorded_files(tmp_path_factory) -> dict[str, bytes]:
    """Two planted records, made once."""
    folder = tmp_path_factory.mktemp("records")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "RECORDS", folder)
        patch.setattr(records, "recipes", lambda: cells.RECORDS)
        recording.make(NAME, jobs=1)
        recording.make(OTHER, jobs=1)
    return {file.name: file.read_bytes() for file in (folder / "planted").iterdir() if file.is_file()}


@pytest.fixture
def recorded(recorded_files, tmp_path, monkeypatch):
    """The two planted recipes over a folder with their records, which is returned."""
    monkeypatch.setattr(paths, "RECORDS", tmp_path)
    monkeypatch.setattr(records, "recipes", lambda: {name: cells.RECORDS[name] for name in (NAME, OTHER)})
    (tmp_path / "planted").mkdir()
    for name, content in recorded_files.items():
        (tmp_path / "planted" / name).write_bytes(content)
    return tmp_path / "planted"
