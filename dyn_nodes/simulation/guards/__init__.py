"""Guards of runs: the fastest motion, which bounds fixed steps, and checks of energy and gaps at the end of a run."""
