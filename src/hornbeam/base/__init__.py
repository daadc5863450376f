"""Helpers that every folder uses: progress, files, arrays, kernels, tables; no domain logic."""
