"""Whole graphs that stay in a database: the same rules, counted by joins."""
