from datetime import date

from pydantic import BaseModel, Field

from notebook_agents import Agent, ScriptedProvider


class Invoice(BaseModel):
    """An invoice, as it stands on the page."""

    vendor: str
    total: float = Field(description="in euros, with tax")
    due: date | None = None


# Stands for a real model, such as "openai:gpt-6-luna" or "local".
model = ScriptedProvider(
    ['{"vendor": "Acme", "total": 12.5, "due": "2026-12-24"}', "good"]
)

agent = Agent(model, output_type=Invoice)
result = agent.run_sync("Read this: Acme, 12.50 with tax, by Christmas Eve.")
print(result.output.total + 1, result.output.due.year)
assert result.output == Invoice(vendor="Acme", total=12.5, due=date(2026, 12, 24))
