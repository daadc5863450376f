"""The explorer: a local web server for a model and its facts."""
