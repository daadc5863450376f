"""Hinge-loss Markov random fields: ground programs as arrays, and their MAP states."""
