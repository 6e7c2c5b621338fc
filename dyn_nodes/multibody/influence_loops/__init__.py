"""Compiled loops for influence coefficients: a package of its own, so that a change elsewhere compiles nothing."""
