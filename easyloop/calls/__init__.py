"""The calls of the client, a module a kind of thing."""
