"""Choosing and calling chat models; prompts as sections; the model that works offline, and one that plays scripts."""
