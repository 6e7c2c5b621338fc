"""What every package may use: compiled loops and their cache, processes, optional dependencies; it knows no machine."""
