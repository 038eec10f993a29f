"""The SDK for agents: results of functions within a budget, in Python, in TypeScript, and below three agent frameworks."""

import json
import os
import shutil
import subprocess

import pytest

from harness.chat_stand_in import ChatStandIn
from harness.command import E2E, PORTION, REPOSITORY
from harness.tokens import count

NODE = E2E / ".node/node_modules/.bin/node"
NODE_MODULES = E2E / "node_modules"
AGENTS = str(E2E / ".venv/agents/bin/python")
ROWS = [{"id": f"INV-{n:04}", "town": ["Cork", "Ely", "Faro"][n % 3], "total": n * 37 % 9001, "note": "paid " * 12} for n in range(2000)]
SECOND = sorted(ROWS, key=lambda row: row["total"])[-2]["id"]
"""The first reply names the largest."""
QUERY = "SELECT id FROM items ORDER BY total DESC LIMIT 1 OFFSET 1"

PYTHON = """
import json, sys
from portion_client import ShapeError, Shaper, shape
rows = json.load(sys.stdin)
reply = shape(rows, max_tokens=900)
following = reply.read()
told = {
    "text": reply.text, "notice": reply.notice, "next": following.text,
    "fields": reply.read(fields="id,total").text, "query": reply.query(sys.argv[1]).text,
    "small": shape("all of it").text, "none": shape([1, 2]).notice,
}
whole = shape(rows[:2], max_tokens=2000)
told["whole"] = [whole.text, whole.cursor, whole.query("SELECT count(*) AS n FROM items").text, whole.read(limit=1, fields="id").text]
with Shaper(options=["--redact", "town"]) as own:
    told["hidden"] = own.shape(rows, 900).text
    told["reply"] = own.reply("nosuch", fields="id")
for call in (whole.read, lambda: shape(rows, max_tokens=1), lambda: reply.read(colour="red")):
    try:
        call()
    except ShapeError as error:
        told[error.code] = str(error)
print(json.dumps(told))
"""

NODE_SCRIPT = """
import { shape, Shaper, ShapeError } from 'portion-mcp'
let text = ''
for await (const part of process.stdin) text += part
const rows = JSON.parse(text)
const reply = await shape(rows, { maxTokens: 900 })
const following = await reply.read()
const told = {
  text: reply.text, notice: reply.notice, next: following.text,
  fields: (await reply.read({ fields: 'id,total' })).text, query: (await reply.query(process.argv[2])).text,
  small: (await shape('all of it')).text, none: (await shape([1, 2])).notice ?? null,
}
const whole = await shape(rows.slice(0, 2), { maxTokens: 2000 })
told.whole = [
  whole.text, whole.cursor ?? null, (await whole.query('SELECT count(*) AS n FROM items')).text,
  (await whole.read({ limit: 1, fields: 'id' })).text,
]
const own = new Shaper({ options: ['--redact', 'town'] })
told.hidden = (await own.shape(rows, { maxTokens: 900 })).text
told.reply = await own.reply({ cursor: 'nosuch', fields: 'id' })
for (const call of [() => whole.read(), () => shape(rows, { maxTokens: 1 }), () => reply.read({ colour: 'red' })]) {
  await call().catch(error => { if (error instanceof ShapeError) told[error.code] = error.message })
}
console.log(JSON.stringify(told))
"""

TYPES = """
import { shape, Shaper, Shaped } from 'portion-mcp'
const reply: Shaped = await shape([1], { maxTokens: 900, tool: 'rows' })
const text: string = (await reply.query('SELECT 1')).text + (await reply.read({ fields: 'id' })).text
const cursor: string | undefined = reply.cursor
const told: string = await new Shaper({ options: ['--lean'] }).reply({ cursor: 'c', query: text })
// @ts-expect-error: it is a number
await shape(told, { maxTokens: '900' })
// @ts-expect-error: a follow-up needs a cursor
await new Shaper().followUp({ fields: cursor })
"""

ROWS_TOOL = """
import json, sys
sys.path[:0] = [sys.argv[1]]
rows = json.load(sys.stdin)
def list_invoices() -> list:
    "Lists all invoices."
    return rows
"""

OPENAI_AGENTS = ROWS_TOOL + """
from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from openai import AsyncOpenAI
from openai_agents import within_budget
set_tracing_disabled(True)
model = OpenAIChatCompletionsModel(model="m", openai_client=AsyncOpenAI(base_url=sys.argv[2], api_key="x"))
agent = Agent(name="books", tools=within_budget(list_invoices, max_tokens=900), model=model)
print(Runner.run_sync(agent, "Which is the second largest?").final_output)
"""

LANGCHAIN = ROWS_TOOL + """
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from langchain_tools import within_budget
model = ChatOpenAI(model="m", base_url=sys.argv[2], api_key="x")
agent = create_agent(model, within_budget(list_invoices, max_tokens=900))
print(agent.invoke({"messages": [("user", "Which is the second largest?")]})["messages"][-1].content)
"""

VERCEL_AI = """
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, isStepCount, tool } from 'ai'
import { z } from 'zod'
import { withinBudget } from './vercel_ai.mjs'
let given = ''
for await (const part of process.stdin) given += part
const execute = async () => JSON.parse(given)
const list_invoices = tool({ description: 'Lists all invoices.', inputSchema: z.object({}), execute })
const model = createOpenAI({ baseURL: process.argv[3], apiKey: 'x' }).chat('m')
const { text } = await generateText({ model, tools: withinBudget({ list_invoices }, 900), stopWhen: isStepCount(5), prompt: 'Which?' })
console.log(text)
"""


def run(line, given, **env):
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PORTION_BIN": PORTION, "PYTHONPATH": str(REPOSITORY / "python/src"), **env}
    done = subprocess.run(list(map(str, line)), input=json.dumps(given), capture_output=True, text=True, timeout=120, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project of Node with the package portion-mcp, as npm installs it, and the AI SDK."""
    folder = tmp_path_factory.mktemp("project")
    package = folder / "node_modules/portion-mcp"
    shutil.copytree(REPOSITORY / "packaging/npm", package)
    (package / "package.json").write_text('{"name": "portion-mcp", "main": "index.js", "types": "index.d.ts"}')
    for name in ("ai", "@ai-sdk", "zod"):
        (folder / "node_modules" / name).symlink_to(NODE_MODULES / name)
    shutil.copy(REPOSITORY / "examples/vercel_ai.mjs", folder)
    (folder / "script.mjs").write_text(NODE_SCRIPT)
    (folder / "agent.mjs").write_text(VERCEL_AI)
    (folder / "types.mts").write_text(TYPES)
    return folder


@pytest.mark.parametrize("language", ["python", "node"])
def test_a_result_is_shaped_and_kept(project, language):
    line = [AGENTS, "-c", PYTHON, QUERY] if language == "python" else [NODE, project / "script.mjs", QUERY]
    told = json.loads(run(line, ROWS))
    assert count(told["text"]) <= 900 < 20_000 < count(json.dumps(ROWS))
    assert told["notice"]["totalCount"] == 2000 and told["notice"]["meta"]["cursor"] in told["text"]
    assert "INV-0000" in told["text"] and "INV-0000" not in told["next"]
    assert SECOND in told["query"] and SECOND not in told["text"]
    assert "Cork" in told["text"] and "Cork" not in told["fields"] and "Cork" not in told["hidden"]
    assert (told["small"], told["none"]) == ("all of it", None)
    assert told["reply"].startswith("cursor_invalid: ")
    text, cursor, counted, first = told["whole"]
    assert json.loads(text) == ROWS[:2] and cursor is None
    assert '"n":2' in counted and "INV-0000" in first and "INV-0001" not in first
    assert "nothing follows" in told["cursor_invalid"] and "300" in told["max_tokens_invalid"] and "colour" in told["argument_unknown"]


def test_the_types_are_those_of_the_package(project):
    options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022"]
    tsc = NODE_MODULES / "typescript/bin/tsc"
    done = subprocess.run([NODE, tsc, *options, "types.mts"], cwd=project, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("framework", ["openai_agents", "langchain", "vercel_ai"])
def test_tools_of_an_agent_stay_within_the_budget(project, framework):
    scripts = {"openai_agents": OPENAI_AGENTS, "langchain": LANGCHAIN}
    with ChatStandIn("list_invoices", QUERY) as model:
        python = [AGENTS, "-c", scripts.get(framework), REPOSITORY / "examples", model.url]
        node = [NODE, project / "agent.mjs", "", model.url]
        answer = run(python if framework in scripts else node, ROWS)
    assert model.tools == ["list_invoices", "portion_read", "portion_query"]
    first, queried = model.shown
    assert count(first) <= 900 and SECOND not in first
    assert SECOND in queried and count(queried) < 300 and SECOND in answer


@pytest.mark.parametrize("name", ["openai_agents.py", "langchain_tools.py", "vercel_ai.mjs"])
def test_a_wrapper_is_short(name):
    lines = (REPOSITORY / "examples" / name).read_text().splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(("def within_budget", "export function withinBudget")))
    assert len([line for line in lines[start:] if line.strip()]) <= 15
