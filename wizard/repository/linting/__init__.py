"""Problems in a model repository, one kind per file; `wizard.repository.lint` checks them all."""
