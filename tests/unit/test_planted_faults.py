"""Every planted fault still fits the sources, and its outcome is noted; whether it is found is not tried here."""

import json

import planted_faults
import pytest
import xarray as xr


@pytest.mark.parametrize("fault", planted_faults.FAULTS, ids=lambda fault: fault.name)
def test_every_fault_applies(fault):
    file = planted_faults.ROOT / fault.file
    if fault.point:
        number = float(xr.load_dataset(file)[fault.old].loc[fault.point])
        assert eval(fault.new, {"x": number}) != number
    else:
        text = file.read_text(encoding="utf-8")
        assert planted_faults.changed(fault, text) != text
    assert all((planted_faults.ROOT / name).exists() for name in (*fault.tests, *planted_faults.LEDGER))
    assert fault.name in {one["name"] for one in json.loads(planted_faults.OUTCOMES.read_text(encoding="utf-8"))}
