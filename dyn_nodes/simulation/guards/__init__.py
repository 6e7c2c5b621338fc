"""Guards of runs: the fastest motion, which bounds fixed steps, and checks of energy and gaps where a run ends."""
