"""Tools of MCP servers that a model may call, each call after the user's consent."""
