// Results of tools as a model should see them: the program `portion shape --requests`, which keeps them for follow-ups.
'use strict'

const { spawn } = require('node:child_process')
const { createInterface } = require('node:readline')
const { findBinary } = require('./find.js')

class ShapeError extends Error {
  constructor(message, code) {
    super(message)
    this.name = 'ShapeError'
    this.code = code
  }
}

class Shaped {
  #shaper
  // A result that passed whole is not kept: questions about it bring it along.
  #result

  constructor(shaper, answer, result) {
    this.#shaper = shaper
    this.#result = 'text' in answer ? undefined : result
    this.text = answer.text ?? result?.text ?? ''
    this.notice = answer.notice
    this.cursor = answer.cursor ?? undefined
    this.nextCursor = answer.nextCursor ?? undefined
  }

  async read(args = {}) {
    if (Object.keys(args).length) return this.#ask(args)
    if (!this.nextCursor) throw new ShapeError('nothing follows: the reply has all of it', 'cursor_invalid')
    return this.#shaper.followUp({ cursor: this.nextCursor })
  }

  async query(sql) {
    return this.#ask({ query: sql })
  }

  async #ask(args) {
    if (this.cursor) return this.#shaper.followUp({ ...args, cursor: this.cursor })
    if (!this.#result) throw new ShapeError('the reply has no cursor: ask the one before it', 'cursor_invalid')
    return this.#shaper.ask({ ...this.#result, ...args }, this.#result)
  }

  toString() {
    return this.text
  }
}

class Shaper {
  #child
  #pending = []
  #stderr = []
  #ended = false

  constructor({ options = [], env = process.env } = {}) {
    this.#child = spawn(process.env.PORTION_BIN || findBinary(), ['shape', '--requests', ...options], { env, windowsHide: true })
    createInterface({ input: this.#child.stdout }).on('line', line => this.#settle(JSON.parse(line)))
    createInterface({ input: this.#child.stderr }).on('line', line => this.#stderr.push(line) > 10 && this.#stderr.shift())
    for (const event of ['error', 'close']) this.#child.on(event, reason => this.#end(reason))
    this.#child.stdin.on('error', () => {})
    this.#keepAlive(false)
  }

  async shape(value, { maxTokens, tool } = {}) {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return this.ask({ text, maxTokens, tool }, { text, tool })
  }

  async followUp(args) {
    return this.ask(args)
  }

  async reply(args) {
    return this.followUp(args).then(String, error => `${error.code}: ${error.message}`)
  }

  // `result`: the line of the result itself, unless the request is a follow-up.
  async ask(request, result) {
    return new Shaped(this, await this.#ask(request), result)
  }

  get hasEnded() {
    return this.#ended
  }

  close() {
    this.#child.stdin.end()
  }

  #ask(request) {
    if (this.#ended) return Promise.reject(this.#gone())
    this.#keepAlive(true)
    this.#child.stdin.write(JSON.stringify(request) + '\n')
    return new Promise((resolve, reject) => this.#pending.push({ resolve, reject }))
  }

  #settle(answer) {
    const { resolve, reject } = this.#pending.shift()
    if (!this.#pending.length) this.#keepAlive(false)
    const { error } = answer
    if (error) reject(new ShapeError([error.message, error.advice].filter(Boolean).join('; '), error.code))
    else resolve(answer)
  }

  // A program with nothing left to do ends, although the child waits.
  #keepAlive(isWaiting) {
    for (const handle of [this.#child, this.#child.stdout, this.#child.stderr, this.#child.stdin]) {
      if (isWaiting) handle.ref?.()
      else handle.unref?.()
    }
  }

  #end(reason) {
    this.#ended = true
    if (reason instanceof Error) this.#stderr.push(reason.message)
    for (const { reject } of this.#pending.splice(0)) reject(this.#gone())
  }

  #gone() {
    return new ShapeError(['portion shape has ended', ...this.#stderr].join('\n'))
  }
}

let shared

function shape(value, options) {
  if (!shared || shared.hasEnded) shared = new Shaper()
  return shared.shape(value, options)
}

module.exports = { ShapeError, Shaped, Shaper, shape }
