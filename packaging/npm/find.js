// Finds the program `portion` in the package for this platform.
'use strict'

const platform = `${process.platform}-${process.arch}`
const program = process.platform === 'win32' ? 'portion.exe' : 'portion'

exports.findBinary = () => {
  const name = `portion-mcp-${platform}`
  try {
    return require.resolve(`${name}/bin/${program}`)
  } catch {
    throw new Error(
      `portion: the package ${name} is not installed.\n` +
        'If npm was told to omit optional packages, install again without that (npm install --include=optional).\n' +
        'If there is none for this platform, build Portion with Rust: cargo install --locked --path crates/portion',
    )
  }
}
