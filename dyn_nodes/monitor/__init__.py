"""Margins from measurements: loads, ground, rocking, the guard of margins, allowances of payload and reach."""
