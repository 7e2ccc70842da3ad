"""SGLang: an engine in a separate environment, behind our engine proxy; NVIDIA has no images with it."""
