"""Clauses, candidates and rule models, as data and as text."""
