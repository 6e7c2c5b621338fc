"""What a user runs on his own machine: bags and their reports, fits, load charts, sizing, plans and postures."""
