"""Facts and labelled targets: read, checked and numbered."""
