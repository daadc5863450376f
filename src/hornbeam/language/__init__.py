"""PSL text and rules: grammar, parsing, the classes of rules, identifiers."""
