// Tools of the Vercel AI SDK, with results within a token budget.
import { tool } from 'ai'
import { Shaper } from 'portion-mcp'
import { z } from 'zod'

export function withinBudget(tools, maxTokens = 2000) {
  const shaper = new Shaper()
  const shaped = Object.entries(tools).map(([name, own]) => {
    const execute = async (...call) => (await shaper.shape(await own.execute(...call), { maxTokens, tool: name })).text
    return [name, { ...own, execute }]
  })
  const follow = (description, fields) =>
    tool({ description, inputSchema: z.object({ cursor: z.string(), ...fields }), execute: call => shaper.reply(call) })
  return {
    ...Object.fromEntries(shaped),
    portion_read: follow('Reads more of a result.', { fields: z.string().optional(), path: z.string().optional() }),
    portion_query: follow('Queries a result: SQLite SELECT over items, or a text to find.', { query: z.string() }),
  }
}
