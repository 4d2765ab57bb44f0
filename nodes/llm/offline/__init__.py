"""A chat model without a language model: deterministic rules that plan, search, quote, compute and put together."""
