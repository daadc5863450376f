"""Queries with one argument missing, their ranked answers, and ranks of true answers; any model."""
