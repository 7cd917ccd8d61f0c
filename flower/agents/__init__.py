"""Who speaks, what each is told, and what each may touch: specs, roles, rules, hooks, the human channel."""
