"""Stage 2: what a model is. Makes `ModelFacts` from config.json and the headers of weight files; opens no weights."""
