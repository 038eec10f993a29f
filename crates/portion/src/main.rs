//! `portion`: puts MCP and JSON API results on a token diet.
fn main() {}
