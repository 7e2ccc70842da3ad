"""Whether this machine is ready to serve a model: facts are read (`readers`), checks are pure functions of them."""
