"""Step 8: the explorer, a local web server on a model and its facts."""
