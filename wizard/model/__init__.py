"""Stage 2: describe a model. Creates `ModelFacts` from config.json and the headers of weight files; reads no
weights.
"""
