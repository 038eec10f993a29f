#!/usr/bin/env node
// Starts the program `portion` from the package of this platform, with the same arguments, stdio, signals and exit code.
'use strict'

const { spawn } = require('node:child_process')
const { constants } = require('node:os')

const platform = `${process.platform}-${process.arch}`
const program = process.platform === 'win32' ? 'portion.exe' : 'portion'

function find() {
  const name = `portion-mcp-${platform}`
  try {
    return require.resolve(`${name}/bin/${program}`)
  } catch {
    console.error(`portion: the package ${name} is not installed.`)
    console.error('If npm was told to omit optional packages, install again without that (npm install --include=optional).')
    console.error('If there is none for this platform, build Portion with Rust: cargo install --locked --path crates/portion')
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
