"""Compiled loops for influence coefficients: a separate package, so that a change elsewhere compiles nothing."""
