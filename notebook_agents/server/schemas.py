"""The shapes of requests and responses."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    StringConstraints,
    model_validator,
)

from notebook_agents.approval import (
    Allow,
    Always,
    Decision,
    Deny,
    PendingApproval,
    Respond,
    Stop,
)
from notebook_agents.chatting import LONGEST_ID

__all__ = [
    "ApprovalDecision",
    "ApprovalResponse",
    "ApprovalView",
    "ApprovalsResponse",
    "ChatRequest",
    "ChatResponse",
    "ErrorResponse",
    "HealthResponse",
    "InfoResponse",
    "RunResponse",
]


def _not_blank(text: str) -> str:
    if not text:
        message = "must not be blank"
        raise ValueError(message)
    return text


# Python's idea of a blank is wider than pydantic's, and it is the one that counts
# everywhere else.
_Stripped = AfterValidator(str.strip)
_NotBlank = AfterValidator(_not_blank)

Id = Annotated[str, StringConstraints(max_length=LONGEST_ID), _Stripped]
NonBlankId = Annotated[
    str,
    StringConstraints(min_length=1, max_length=LONGEST_ID),
    _Stripped,
    _NotBlank,
]
Message = Annotated[str, StringConstraints(min_length=1), _Stripped, _NotBlank]
# Any constraint makes pydantic refuse halves of characters, which no store can keep.
Fact = Annotated[str, StringConstraints(min_length=0)]


class Request(BaseModel):
    """A body, in which a misspelt field is an error and not ignored."""

    model_config = ConfigDict(extra="forbid")


class ChatRequest(Request):
    """What to ask, and in whose conversation."""

    message: Message = Field(description="What the agent should do.")
    conversation_id: Id = Field(
        "", description="Which conversation goes on; blank begins a new one."
    )
    user_id: NonBlankId | None = Field(
        None, description="Who asks; a key of a single user wins over it."
    )
    explicit_context: list[Fact] | None = Field(
        None, description="Facts that the agent should know for this question."
    )
    metadata: dict[str, Any] = Field(
        default_factory=dict, description="For your own use; the agent does not see it."
    )
    stream_tokens: bool = Field(
        default=False, description="Whether a stream carries pieces of text as well."
    )


class ChatResponse(BaseModel):
    """One finished turn."""

    response: str
    response_markdown: str
    message_id: str
    trace_id: str
    conversation_id: str
    user_id: str
    invoked_flows: list[str]
    invoked_tools: list[str]
    errors: list[str]
    turn_number: int
    is_blocked: bool
    latency_ms: int


class ErrorResponse(BaseModel):
    """Why there is no answer; the server's log has the rest under the trace."""

    error: str
    detail: str = ""
    trace_id: str = ""
    run_id: str | None = None


class HealthResponse(BaseModel):
    """Whether the server is up."""

    status: Literal["ok"] = "ok"
    agent_name: str
    uptime_s: float


class InfoResponse(BaseModel):
    """What is served, and where."""

    agent_name: str
    agent_id: str
    version: str
    api_version: str
    has_tools: bool
    has_memory: bool
    endpoints: dict[str, str]


class ApprovalView(BaseModel):
    """A call that waits for a decision."""

    id: str
    run_id: str = Field(description="That of the client, whichever agent asks.")
    call_id: str
    agent: str
    tool: str
    args: dict[str, Any]
    description: str
    risk: str | None
    note: str = Field(description="Why it is asked, where a rule failed.")
    requested_at: float
    expires_at: float

    @classmethod
    def of(cls, pending: PendingApproval, run_id: str) -> ApprovalView:
        """Show an open question of a served run, or of one within its tools."""
        request = pending.request
        return cls(
            **{
                name: getattr(request, name)
                for name in cls.model_fields
                if name not in {"run_id", "args"}
            },
            run_id=run_id,
            args=dict(request.args),
        )


class ApprovalsResponse(BaseModel):
    """Every call that waits for a decision."""

    approvals: list[ApprovalView]


class ApprovalDecision(Request):
    """The answer to one question."""

    decision: Literal["allow", "always", "deny", "respond", "stop"] = Field(
        description="'always' also allows later calls of this tool in the same "
        "user's runs, until the agent is swapped or the process ends."
    )
    args: dict[str, Any] | None = Field(
        None,
        description="To allow the call with other arguments: all of them. "
        "The model is told.",
    )
    reason: str = Field(
        "",
        max_length=2000,
        description="For a denial: told the model. With 'respond': what it reads "
        "as the result of the call, which is then not run.",
    )
    scope: Literal["tool", "call"] = Field(
        "tool",
        description="With 'always': all calls of the tool, or only those with the "
        "same arguments.",
    )
    until: FiniteFloat | None = Field(
        None, description="With 'always': when it ends, in seconds since the epoch."
    )

    @model_validator(mode="after")
    def _check_args(self) -> Self:
        if self.args is not None and self.decision != "allow":
            message = "args go with the decision 'allow' only"
            raise ValueError(message)
        if self.decision == "respond" and not self.reason.strip():
            message = "reason is what the model reads; it must not be blank"
            raise ValueError(message)
        return self

    def to_decision(self) -> Decision:
        """Give the answer as the core knows it."""
        if self.decision == "allow":
            return Allow(self.args)
        if self.decision == "always":
            return Always(self.scope, self.until)
        if self.decision == "respond":
            return Respond(self.reason)
        return Stop() if self.decision == "stop" else Deny(self.reason)


class ApprovalResponse(BaseModel):
    """The decision counts."""

    id: str
    decision: str


class RunResponse(BaseModel):
    """One run, going on or finished."""

    run_id: str
    status: Literal["running", "waiting_for_approval", "done", "failed"]
    conversation_id: str
    user_id: str
    started_at: float
    approvals: list[ApprovalView]
    response: ChatResponse | None = None
    error: ErrorResponse | None = None
