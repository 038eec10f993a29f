#!/usr/bin/env node
// Starts the program `portion` from the package of this platform, with the same arguments, stdio, signals and exit code.
'use strict'

const { spawn } = require('node:child_process')
const { constants } = require('node:os')
const { findBinary } = require('../find.js')

function find() {
  try {
    return findBinary()
  } catch (error) {
    console.error(error.message)
    process.exit(1)
  }
}

const child = spawn(find(), process.argv.slice(2), { stdio: 'inherit', windowsHide: true })

// The program decides what a signal means. A terminal sends its signals to both of us.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    if (signal === 'SIGTERM' || !process.stdin.isTTY) child.kill(signal)
  })
}
child.on('error', error => {
  console.error(`portion: ${error.message}`)
  process.exit(1)
})
child.on('exit', (code, signal) => {
  process.exit(code ?? 128 + (constants.signals[signal] ?? 0))
})
