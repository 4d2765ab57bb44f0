"""The offline model, piece by piece and as a chat model."""
