"""`Agent`: what a user holds."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from notebook_agents import agent_checks
from notebook_agents.asking import Asking, ToolNames
from notebook_agents.chatting import Chatting
from notebook_agents.configuration import check_optional, check_parts
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.events import Origin
from notebook_agents.guardrails.guard import Check, Guards
from notebook_agents.history.budget import HistoryBudget, budget_of
from notebook_agents.history.pipeline import History, Processor, checked_processors
from notebook_agents.ledger import Ledger
from notebook_agents.memory.conversation import Conversation
from notebook_agents.memory.in_memory import UnaskedSession
from notebook_agents.messages import to_dicts
from notebook_agents.model_choice import ModelChoice
from notebook_agents.options import (
    AskOptions,
    check_options,
    checked_output,
    rounds_of,
    split_params,
    typed_answer,
)
from notebook_agents.policy import ApprovalPolicy, Policy
from notebook_agents.providers.lazy import Client, LazyProvider
from notebook_agents.providers.registry import register_provider
from notebook_agents.reading import read_messages
from notebook_agents.results import T
from notebook_agents.resumable import Resumable
from notebook_agents.spelling import by_name
from notebook_agents.surroundings import Surroundings
from notebook_agents.toolbox import Toolbox, collected_tools, tool_table

if TYPE_CHECKING:
    from typing_extensions import TypeForm

    from notebook_agents.approval import Approver
    from notebook_agents.budget import Budget
    from notebook_agents.callback_approver import Callback
    from notebook_agents.journal import Prompt
    from notebook_agents.memory.store import MemoryBackend
    from notebook_agents.providers.base import BaseProvider
    from notebook_agents.run import OnEvent, Run

__all__ = ["Agent"]

KEPT = ("system_prompt", "prior_messages", "max_tool_rounds", "max_steps", "params")
"""Options that a run which is resumed has again; policies are not among them."""
PRIOR = "prior_messages"


@by_name
class Agent(Resumable[T], Chatting[T], ModelChoice, Toolbox):
    """A model, its tools and its memory.

    Making one does local work only: nothing is sent and no key is needed
    until the first run.

    Parameters
    ----------
    client : str, BaseProvider or list of these, optional
        ``"provider:model"``, a provider or an `LLMClient`; of several, the next
        answers where one cannot, as in `FallbackProvider`. Left out, the first
        run chooses a model from the environment, and says which.
    tools : iterable of callable, optional
        Functions the model may call; a later one replaces an earlier one of
        the same name.
    system_prompt : str, optional
        Sent before every conversation, never stored.
    provider, model : str, optional
        The two parts of ``client``, apart.
    memory : MemoryBackend, optional
        Where the conversation is kept; in this process when left out.
    tool_calling : mapping, optional
        Overrides such as ``{"tool_choice": "required"}`` or
        ``{"parallel_tool_calls": False}``.
    output_type : type, optional
        The type of answers, such as a pydantic model, a dataclass, an Enum, an
        int, or a list or union of these; ``result.output`` is the value.
    output_retries : int, default 2
        How often the model may correct an answer that is not of that type.
    max_tokens : int, default 1024
        Most tokens of visible output of one model call.
    temperature : float, optional
        Sampling temperature, no unit; the provider's own when left out.
    max_retries : int, optional
        Further tries of a model call that failed; the provider's own when left out.
    max_steps : int, optional
        Most model calls of a run; 4 when left out.
    parallel_tools : bool, default True
        Whether the calls of one step run at the same time.
    policy : str, mapping or ApprovalPolicy, optional
        How calls that need consent are decided: ``"ask"``, ``"policy"`` (by the
        rules alone), ``"allow"``, ``"deny"``, or rules such as
        ``{"read_*": "allow"}``. Left out, the environment variable
        ``NOTEBOOK_AGENTS_APPROVE`` decides, else a person is asked.
    approval_timeout : float, default 300
        Seconds until a question without an answer counts as no.
    approval_callback : callable, optional
        ``(tool name, arguments) -> bool``, sync or async, asked instead of a
        person; then every tool needs consent unless ``approval_tools`` says
        which.
    approval_tools : str, callable or iterable of these, optional
        Tools that need consent, whatever they say themselves; a single one
        will do.
    approver : Approver, optional
        A surface of your own to ask on.
    history : {"full", "final"} or HistoryBudget, default "full"
        What the model sees of earlier turns: everything, or questions and
        answers, or what a `HistoryBudget` allows.
    history_processors : iterable of callable, optional
        Functions, sync or async, each of which takes the messages of a request
        as dicts, without the system prompt, and returns those to send. What
        is stored stays as it is.
    budget : Budget, optional
        What a run may spend.
    input_guards, output_guards : callable or iterable of callable, optional
        Guards, ``(str) -> str``, sync or async: they return the text, changed
        or not, or raise to block it. The first look at each message before
        anybody else does; the others at each text of the model, which is held
        back until they have, so nothing is seen of it word by word, and
        nothing of the reasoning at all.
    tool_guards : callable or iterable of callable, optional
        Guards for the arguments of calls and for what tools give; of these a
        `Guard` with a ``scope`` sees only ``"input"`` or only ``"output"``. A
        blocked call is not run, a blocked result not shown; the run goes on.
    on_event : callable, optional
        Called with each event as a dict, but for tokens and progress.
    deps : object, optional
        Anything that your tools need, such as a connection; those with a
        parameter annotated `RunContext` find it there.
    namespace : mapping of str to object, optional
        Variables that a call may name where JSON cannot carry the object. Left
        out, a run that a cell asks for may name those of the notebook, and any
        other run none; ``{}`` is none at all.
    name : str, default "agent"
        Name shown to people.
    agent_id : str, optional
        Identifier; the name when left out.

    Examples
    --------
    >>> from notebook_agents import Agent, ScriptedProvider
    >>> agent = Agent(ScriptedProvider(["Hello Ada!"]), name="greeter")
    >>> print(agent.run_sync("Greet Ada"))
    Hello Ada!
    """

    register_provider = staticmethod(register_provider)

    def __init__(
        self,
        client: Client | None = None,
        tools: Iterable[Callable[..., Any]] | None = (),
        *,
        system_prompt: str | None = None,
        provider: str | BaseProvider | None = None,
        model: str | None = None,
        memory: MemoryBackend | None = None,
        tool_calling: Mapping[str, Any] | None = None,
        output_type: TypeForm[T] = None,  # type: ignore[assignment]  # noqa: RUF013 - None is a type form
        output_retries: int = 2,
        max_tokens: int = 1024,
        temperature: float | None = None,
        max_retries: int | None = None,
        max_steps: int | None = None,
        parallel_tools: bool = True,
        policy: Policy | None = None,
        approval_timeout: float = 300.0,
        approval_callback: Callback | None = None,
        approval_tools: ToolNames | None = None,
        approver: Approver | None = None,
        history: Literal["full", "final"] | HistoryBudget = "full",
        history_processors: Processor | Iterable[Processor] = (),
        budget: Budget | None = None,
        input_guards: Check | Iterable[Check] = (),
        output_guards: Check | Iterable[Check] = (),
        tool_guards: Check | Iterable[Check] = (),
        on_event: OnEvent | None = None,
        deps: Any = None,
        namespace: Mapping[str, Any] | None = None,
        name: str = "agent",
        agent_id: str | None = None,
    ) -> None:
        if client is not None and provider is not None:
            message = "Pass either client or provider, not both."
            raise AgentConfigurationError(message)
        check_parts(
            name=name,
            agent_id=agent_id,
            system_prompt=system_prompt,
            memory=memory,
            parallel_tools=parallel_tools,
            budget=budget,
            max_retries=max_retries,
            on_event=on_event,
        )
        self.name = name
        self.agent_id = agent_id or name
        self.system_prompt = system_prompt
        # Not "or": a memory of somebody else's may be false while it is empty.
        self.memory: MemoryBackend = UnaskedSession() if memory is None else memory
        self.tool_calling = agent_checks.checked_tool_calling(tool_calling)
        self.tools = collected_tools(tools)
        ApprovalPolicy.of(policy)  # refused now, not at the first question
        self.policy = policy
        self.ledger = Ledger()
        """What its runs took, whoever started them."""
        self.last_run: Run | None = None
        """The run that was started last in the agent's own conversation."""
        self._model = LazyProvider(client if client is not None else provider, model)
        self._output = checked_output(output_type)
        self._output_retries = agent_checks.checked_retries(output_retries)
        self._max_tokens = agent_checks.checked_tokens(max_tokens)
        self._temperature = agent_checks.checked_temperature(temperature)
        self._max_retries = max_retries
        self.max_steps = agent_checks.checked_steps(max_steps)
        self._parallel_tools = parallel_tools
        self.asking = Asking(
            approver=approver,
            callback=approval_callback,
            tools=approval_tools,
            timeout=approval_timeout,
        )
        """Whom the agent asks, and about which tools."""
        self._history = History(
            budget_of(history), checked_processors(history_processors)
        )
        self._budget = budget
        self._guards = Guards.of(
            input_guards=input_guards,
            output_guards=output_guards,
            tool_guards=tool_guards,
        )
        self._on_event = on_event
        self._surroundings = Surroundings(deps, namespace)

    def __repr__(self) -> str:
        tools = f", tools: {', '.join(self.tools)}" if self.tools else ""
        return f"<Agent {self.name!r} on {self.model_label}{tools}>"

    def as_tool(
        self, name: str | None = None, description: str | None = None
    ) -> Callable[..., Any]:
        """Give a tool with which another agent asks this one.

        Parameters
        ----------
        name : str, optional
            Name for the model; the agent's own when left out.
        description : str, optional
            What it is good for; the beginning of its system prompt when left out.

        Returns
        -------
        callable
            ``(task: str) -> str``, for the ``tools`` of another agent. Each task
            is a conversation of its own.

        Examples
        --------
        >>> from notebook_agents import Agent, ScriptedProvider, call
        >>> poet = Agent(ScriptedProvider(["Roses are red."]), name="poet")
        >>> script = [call("poet", task="A line"), "Here it is."]
        >>> result = Agent(ScriptedProvider(script), [poet.as_tool()]).run_sync("Go")
        >>> result.tool_calls[0]["content"]
        'Roses are red.'
        """
        from notebook_agents.delegation import brief, delegate_tool

        about = description or f"Ask {self.name}. {brief(self.system_prompt)}".strip()
        return delegate_tool(self, name=name or self.name, description=about)

    def reset_memory(self) -> None:
        """Forget the agent's conversation; tools and prompt stay."""
        self.memory.reset()
        self._surroundings.forget(self.memory)

    @property
    def handles(self) -> dict[str, Any]:
        """The results that the agent's own conversation keeps, by their names.

        A tool may return what JSON cannot carry, such as a DataFrame. The model
        is told a name for it, by which later calls can have it; here it is for
        you. The latest 50 are kept.
        """
        return self._surroundings.handles(self.memory)

    def answers_with(self, output_type: Any = None) -> str:
        """Name the type of a run's answers; empty where they are text."""
        typed = typed_answer(output_type, self._output, retries=0)
        return typed.kind.name if typed is not None and typed.format else ""

    def _begin(self, message: Prompt, options: AskOptions) -> Run[Any]:
        """Start a run on the running loop."""
        # What runs comes with the first run, so that making an agent is quick.
        from notebook_agents.budget import meter_for
        from notebook_agents.journal import open_run
        from notebook_agents.run import Run
        from notebook_agents.turn import Turn

        check_options(options)
        # Both, and the tools, may have been set since the agent was made.
        check_optional(system_prompt=self.system_prompt, memory=self.memory)
        self.tools = tool_table(self.tools)
        consent = self.asking.of_run(
            options, self.policy, agent=self.name, names=self.tools
        )
        memory, system_prompt = options.get("memory"), options.get("system_prompt")
        given, prior = options.get(PRIOR), None
        settings = {name: options.get(name) for name in KEPT if name in options}
        if given is not None:  # perhaps a buffer or a result; a journal keeps dicts
            prior = read_messages(given, name=PRIOR)
            settings[PRIOR] = to_dicts(prior)
        memory = self.memory if memory is None else memory
        opened = open_run(message, memory, agent=self.name, settings=settings)
        params, tool_calling = split_params(options.get("params"), self.tool_calling)
        turn = Turn(
            origin=Origin(opened.run_id, self.name),
            asked=opened.asked,
            provider=self._model.get(),
            tools=self._tools_now(),
            consent=consent,
            history=self._history,
            max_rounds=rounds_of(options, self.max_steps),
            meter=meter_for(self._budget),
            journal=opened.journal,
            past=deque(opened.steps),
            max_tokens=params.pop("max_tokens", self._max_tokens),
            temperature=params.pop("temperature", self._temperature),
            max_retries=self._max_retries,
            tool_calling=tool_calling,
            params=params,
            parallel_tools=self._parallel_tools
            and tool_calling.get("parallel_tool_calls") is not False,
            guards=self._guards,
            typed=typed_answer(
                options.get("output_type"), self._output, retries=self._output_retries
            ),
            around=self._surroundings.of_run(options, memory),
            ledger=self.ledger,
        )
        conversation = Conversation(
            opened.memory,
            system_prompt=self.system_prompt
            if system_prompt is None
            else system_prompt,
            prior=prior,
        )
        run = Run(turn, conversation, on_event=self._on_event)
        if options.get("memory") is None:
            self.last_run = run
        return run
