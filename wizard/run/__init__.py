"""Stage 5: carry a plan out, as a stream of events that is kept on disk and can be resumed."""
