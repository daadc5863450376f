"""What every other folder stands on: progress, files, arrays, kernels, tables; no logic of ours."""
