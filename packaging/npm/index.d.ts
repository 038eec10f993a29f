/** Arguments of portion_read and portion_query. */
export interface ReadArguments {
  fields?: string
  path?: string
  section?: string
  lines?: string
  limit?: number
  page?: number
  offset?: number
  sort?: string
  maxTokens?: number
  all?: boolean
  query?: string
}

export interface ShapeOptions {
  /** Budget of the reply; that of the configuration by default. */
  maxTokens?: number
  /** Name of the tool, whose settings apply. */
  tool?: string
}

/** The request cannot be answered. The message has the next step. */
export class ShapeError extends Error {
  readonly code?: string
}

/** A reply: what a model reads, and the way to the rest. */
export class Shaped {
  /** The content within the budget, then the notice on what is missing. The result itself if it is small. */
  readonly text: string
  /** What is missing and how to get it; undefined if nothing is. */
  readonly notice?: Readonly<Record<string, unknown>>
  /** Cursor of the result, for a model; undefined if nothing is missing. */
  readonly cursor?: string
  /** Cursor of what follows. */
  readonly nextCursor?: string
  /** With arguments, any part of the result. Without, what follows; rejects with ShapeError if nothing does. */
  read(args?: ReadArguments): Promise<Shaped>
  /** The rows of a SELECT over the result, or the places of a text in it. */
  query(sql: string): Promise<Shaped>
  toString(): string
}

/** Keeps results until it is closed, or this process ends. */
export class Shaper {
  /** @param options.options options of `portion shape`, such as `['--profile', 'lean']` */
  constructor(options?: { options?: string[]; env?: Record<string, string | undefined> })
  /** The reply in place of a result: a text, or what JSON can hold. */
  shape(value: unknown, options?: ShapeOptions): Promise<Shaped>
  /** The reply to a call of portion_read or portion_query: of a model that got the cursor, for example. */
  followUp(args: ReadArguments & { cursor: string }): Promise<Shaped>
  /** The same as text for a model. What cannot be answered is told with the next step. */
  reply(args: ReadArguments & { cursor: string }): Promise<string>
  /** True if the program is gone, and the results with it. */
  readonly hasEnded: boolean
  close(): void
}

/** The reply in place of a result, as of a `Shaper` that lives as long as this process. */
export function shape(value: unknown, options?: ShapeOptions): Promise<Shaped>
