"""What words mean, by rule: what a request asks for, what it refers to, what a question asks of a table. No I/O."""
