//! How a server's tools are listed, as options and environment variables: the same for every command that lists them.

use clap::Args;
use portion_gateway::mcp::{self, DESCRIBE_TOOL, QUERY_TOOL, READ_TOOL, Style};

/// How tools are listed.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Tools")]
pub(crate) struct Listing {
    /// How much the list of tools says: full, trim (first sentences, schemas without noise) or lazy (one line each,
    /// and a tool that describes the others)
    #[arg(long, value_name = "STYLE", env = "PORTION_CATALOG", default_value_t = Style::Full, hide_env_values = true)]
    catalog: Style,
    /// The name under which our reading tool is listed
    #[arg(long, value_name = "NAME", env = "PORTION_READ_TOOL", default_value = READ_TOOL, value_parser = tool_name, hide_env_values = true)]
    read_tool: String,
    /// The name under which our querying tool is listed; none: it is not
    #[arg(long, value_name = "NAME", env = "PORTION_QUERY_TOOL", default_value = QUERY_TOOL, value_parser = tool_name, hide_env_values = true)]
    query_tool: String,
    /// The name under which our describing tool is listed, with --catalog lazy
    #[arg(long, value_name = "NAME", env = "PORTION_DESCRIBE_TOOL", default_value = DESCRIBE_TOOL, value_parser = tool_name, hide_env_values = true)]
    describe_tool: String,
}

impl From<&Listing> for mcp::Listing {
    fn from(options: &Listing) -> Self {
        let Listing { catalog, read_tool, query_tool, describe_tool } = options.clone();
        let query_tool = Some(query_tool).filter(|name| name != "none");
        Self { style: catalog, read_tool, query_tool, describe_tool, ..Self::default() }
    }
}

/// A name that every client takes: `[a-zA-Z0-9_-]{1,64}`.
fn tool_name(name: &str) -> Result<String, String> {
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if plain && (1..=64).contains(&name.len()) {
        return Ok(name.to_owned());
    }
    Err("a tool's name is 1 to 64 letters, digits, `_` or `-`".into())
}
