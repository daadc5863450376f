"""Whole graphs: questions with one argument missing, their answers, and ranks of the true ones."""
