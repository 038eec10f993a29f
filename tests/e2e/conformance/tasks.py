"""The tasks extension: calls that go on after they were answered, and the methods to come back for them."""

from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import count

import anyio
from mcp.shared.exceptions import MCPError
from mcp.types import HEADER_MISMATCH, INTERNAL_ERROR, INVALID_PARAMS, MISSING_REQUIRED_CLIENT_CAPABILITY

from conformance import rounds
from conformance.media import result, text

EXTENSION = "io.modelcontextprotocol/tasks"
KEPT_MILLISECONDS = 600_000
POLL_MILLISECONDS = 100
NUMBERS = count(1)


def now():
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Task:
    def __init__(self):
        self.id = f"task-{next(NUMBERS)}"
        self.outcome = {}
        self.pending = {}
        self._created = self._changed = now()
        self._status = "working"
        self._answers = {}
        self._scope = anyio.CancelScope()
        self._answered = anyio.Event()

    def envelope(self):
        return {
            "taskId": self.id,
            "status": self._status,
            "createdAt": self._created,
            "lastUpdatedAt": self._changed,
            "ttlMs": KEPT_MILLISECONDS,
            "pollIntervalMs": POLL_MILLISECONDS,
        }

    def detail(self):
        asking = {"inputRequests": self.pending} if self._status == "input_required" else {}
        return {**self.envelope(), **asking, **self.outcome}

    async def run(self, work):
        with self._scope:
            try:
                self._become("completed", result=await work(self))
            except MCPError as failure:
                self._become("failed", error=failure.error.model_dump(exclude_none=True))

    async def ask(self, questions):
        """The client's answers, when it has given all of them."""
        self.pending = dict(questions)
        self._become("input_required")
        await self._answered.wait()
        self._become("working")
        return self._answers

    def answer(self, answers):
        for key in answers.keys() & self.pending.keys():
            self._answers[key] = answers[key]
            del self.pending[key]
        if not self.pending:
            self._answered.set()

    def cancel(self):
        if self._status in ("working", "input_required"):
            self._scope.cancel()
            self._become("cancelled")

    def _become(self, status, **outcome):
        self._status, self.outcome, self._changed = status, outcome, now()


class Board:
    """Every task of this process."""

    def __init__(self, group):
        self._group = group
        self._tasks = {}

    def start(self, work):
        task = Task()
        self._tasks[task.id] = task
        self._group.start_soon(task.run, work)
        return {"resultType": "task", **task.envelope()}

    def find(self, ctx):
        number = ctx.params.get("taskId")
        if number not in self._tasks:
            raise MCPError(INVALID_PARAMS, f"no such task: {number}")
        return self._tasks[number]


@asynccontextmanager
async def board(server):
    """What lives as long as the server: the tasks that clients come back for."""
    async with anyio.create_task_group() as group:
        yield Board(group)
        group.cancel_scope.cancel()


def declared(ctx):
    able = ctx.session.client_capabilities
    return able is not None and EXTENSION in (able.extensions or {})


def demand(ctx):
    if not declared(ctx):
        data = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, f"the client has to declare {EXTENSION}", data)


def method(does):
    async def handle(ctx, params):
        demand(ctx)
        named = ctx.request.headers.get("mcp-name") if ctx.request else None
        if named not in (None, ctx.params.get("taskId")):
            raise MCPError(HEADER_MISMATCH, f"Mcp-Name is {named}, the task is {ctx.params.get('taskId')}")
        return does(ctx.lifespan_context.find(ctx), ctx.params) or {}

    return handle


METHODS = {
    "tasks/get": method(lambda task, params: task.detail()),
    "tasks/update": method(lambda task, params: task.answer(params.get("inputResponses", {}))),
    "tasks/cancel": method(lambda task, params: task.cancel()),
}


async def greet(ctx, params):
    return result(text(f"Hello, {params.arguments.get('name', 'you')}!"))


async def slow_compute(ctx, params):
    """A task where the client knows tasks, else a call that takes as long."""

    async def work(task):
        await anyio.sleep(params.arguments.get("seconds", 0))
        return result(text("computed"))

    return ctx.lifespan_context.start(work) if declared(ctx) else await work(None)


def only_as_task(work):
    async def call(ctx, params):
        demand(ctx)
        return ctx.lifespan_context.start(work)

    return call


async def fail(task):
    return result(text("The job failed on purpose.")) | {"isError": True}


async def break_down(task):
    raise MCPError(INTERNAL_ERROR, "the job broke down on purpose")


async def confirm_delete(task):
    answers = await task.ask({"confirm": rounds.SURE})
    return result(text(f"{answers['confirm']['action']}: deleted"))


async def ask_twice(task):
    answers = await task.ask({"first": rounds.WHO, "second": rounds.SURE})
    return result(text(f"{len(answers)} answers"))


async def ask_then_work(ctx, params):
    """Asks in a round first, and hands over to a task when it has been answered."""
    demand(ctx)

    def answered(answers, state):
        async def work(task):
            return result(text(f"Worked for {answers['user_name']['content']['name']}"))

        return ctx.lifespan_context.start(work)

    return rounds.once(params, {"user_name": rounds.WHO}, answered, state="before the task")


def schema(**properties):
    return {"type": "object", "properties": properties}


TOOLS = {
    "greet": (greet, schema(name={"type": "string"})),
    "slow_compute": (slow_compute, schema(seconds={"type": "number"}, label={"type": "string"})),
    "failing_job": (only_as_task(fail), schema()),
    "protocol_error_job": (only_as_task(break_down), schema()),
    "confirm_delete": (only_as_task(confirm_delete), schema(filename={"type": "string"})),
    "multi_input": (only_as_task(ask_twice), schema()),
    "test_tool_with_task": (ask_then_work, schema()),
}
