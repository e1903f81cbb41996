"""Channels: how an execution reaches its target, and what came of it."""
