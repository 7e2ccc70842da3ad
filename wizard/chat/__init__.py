"""Stage 7: chat with the served model: conversation, chat template, streaming over gRPC and HTTP."""
