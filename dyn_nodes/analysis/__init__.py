"""Tools for a user's own machine: bags and their reports, fits, load charts, sizing, plans and postures."""
