"""load: emitted files become models that predict."""
