"""The command line; ``notebook_agents.cli.main`` is where it starts."""
