"""The rule language of PSL: grammar, parsing, classes of rules, identifiers."""
