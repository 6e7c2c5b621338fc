"""Margins from measurements: loads, ground, rocking, the guard of margins, what may still be lifted and reached."""
