// A client of the official TypeScript SDK (`v1`: @modelcontextprotocol/sdk, `v2`: @modelcontextprotocol/client)
// that does what the lines of its input ask for, one JSON object each, and answers each with one.
//
//     node typescript.mjs v1|v2 '{"command":[…]}' or '{"url":"http://…"}', and "modern":true for 2026-07-28
import { createInterface } from "node:readline";

const [, , generation, target] = process.argv;
const { command, url, headers, modern } = JSON.parse(target);
const sdk = generation === "v1" ? await first() : await second();

async function first() {
  const [{ Client }, { StdioClientTransport }, { StreamableHTTPClientTransport }, types] = await Promise.all([
    import("@modelcontextprotocol/sdk/client/index.js"),
    import("@modelcontextprotocol/sdk/client/stdio.js"),
    import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
    import("@modelcontextprotocol/sdk/types.js"),
  ]);
  return {
    Client,
    StdioClientTransport,
    StreamableHTTPClientTransport,
    sampling: types.CreateMessageRequestSchema,
    elicitation: types.ElicitRequestSchema,
    roots: types.ListRootsRequestSchema,
    message: types.LoggingMessageNotificationSchema,
    call: (client, parameters, options) => client.callTool(parameters, undefined, options),
  };
}

async function second() {
  const [{ Client, StreamableHTTPClientTransport }, { StdioClientTransport }] = await Promise.all([
    import("@modelcontextprotocol/client"),
    import("@modelcontextprotocol/client/stdio"),
  ]);
  return {
    Client,
    StdioClientTransport,
    StreamableHTTPClientTransport,
    sampling: "sampling/createMessage",
    elicitation: "elicitation/create",
    roots: "roots/list",
    message: "notifications/message",
    call: (client, parameters, options) => client.callTool(parameters, options),
  };
}

const client = new sdk.Client(
  { name: `typescript-${generation}`, version: "1" },
  {
    capabilities: { sampling: {}, elicitation: {}, roots: {} },
    versionNegotiation: { mode: modern ? { pin: "2026-07-28" } : "legacy" },
  },
);
const logged = [];
client.setNotificationHandler(sdk.message, ({ params }) => void logged.push(params.data));
client.setRequestHandler(sdk.sampling, ({ params }) => ({
  model: "none",
  role: "assistant",
  content: { type: "text", text: `sampled ${params.messages[0].content.text}` },
}));
client.setRequestHandler(sdk.elicitation, ({ params }) => ({ action: "accept", content: { name: params.message } }));
client.setRequestHandler(sdk.roots, () => ({ roots: [{ uri: "file:///home/of/the/client" }] }));

const requests = {
  tools: () => client.listTools(),
  resources: () => client.listResources(),
  prompts: () => client.listPrompts(),
  read: ({ uri }) => client.readResource({ uri }),
  prompt: ({ name }) => client.getPrompt({ name }),
  complete: ({ value }) =>
    client.complete({ ref: { type: "ref/prompt", name: "greet" }, argument: { name: "city", value } }),
  level: ({ level }) => client.setLoggingLevel(level),
  ping: () => client.ping(),
  call: ({ name, arguments: given }) => sdk.call(client, { name, arguments: given }),
  async steps({ name, arguments: given }) {
    const steps = [];
    const onprogress = ({ progress }) => void steps.push(progress);
    return { result: await sdk.call(client, { name, arguments: given }, { onprogress }), steps };
  },
  async cancel({ name, arguments: given }) {
    const abort = new AbortController();
    const options = { signal: abort.signal, onprogress: () => abort.abort("enough") };
    return sdk.call(client, { name, arguments: given }, options).catch((reason) => ({ cancelled: String(reason) }));
  },
  logged: () => ({ logged }),
};

const transport = url
  ? new sdk.StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })
  : new sdk.StdioClientTransport({ command: command[0], args: command.slice(1), env: scratchRecords() });
await client.connect(transport);
console.log("{}");
for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  try {
    console.log(JSON.stringify(await requests[asked.do](asked)));
  } catch (error) {
    console.log(JSON.stringify({ error: { code: error.code, message: error.message, data: error.data } }));
  }
}
await client.close();

// The SDK passes on few variables; these keep the records of a test out of the user's file.
function scratchRecords() {
  const names = ["PORTION_TELEMETRY", "XDG_DATA_HOME", "XDG_STATE_HOME"];
  return Object.fromEntries(names.filter((name) => name in process.env).map((name) => [name, process.env[name]]));
}
