"""What can be wrong with a model repository, one kind of mistake per file; `wizard.repository.lint` asks them all."""
