"""SGLang: an engine in an environment of its own, behind our engine proxy; there are no images of NVIDIA's with it."""
