"""Static equilibrium of a machine on its running gear, and how it tips: see `tipping`, `axes` and `standing`."""
