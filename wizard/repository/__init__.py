"""The Triton model repository: typed config.pbtxt and the bundled Python-backend models."""
