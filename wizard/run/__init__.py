"""Stage 5: run a plan, as a stream of events that is stored on disk and can be resumed."""
