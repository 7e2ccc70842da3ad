"""Stage 7: talk to the served model: conversation, chat template, streaming over gRPC and HTTP."""
