"""The Triton model repository: typed config.pbtxt and the Python-backend models that the wizard ships."""
