"""Kinds of constraints in a machine YAML: each file of this package is one, a record with keys, checks and rows."""
