"""Queries with one argument missing, ranked answers, and ranks of true answers, for any model."""
