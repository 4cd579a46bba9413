"""What turns experiments into pages: sweeps, records, their verification, the ledger, figures and sliders."""
