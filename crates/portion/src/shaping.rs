//! How replies are shaped: the options that every command in front of a server has, and what they put together.

use std::error::Error;
use std::sync::Arc;

use clap::Args;
use portion_gateway::gateway::Gateway;
use portion_gateway::mcp::{Lanes, READ_TOOL};
use portion_gateway::settings::{Settings, random_secret};
use portion_gateway::store::{self, MemoryStore};

use crate::limits::{Keeping, Limits};

/// How replies are shaped.
#[derive(Clone, Debug, Args)]
pub(crate) struct Shaping {
    /// The name under which our reading tool is listed
    #[arg(long, value_name = "NAME", env = "PORTION_READ_TOOL", default_value = READ_TOOL, value_parser = tool_name, hide_env_values = true)]
    read_tool: String,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    keeping: Keeping,
}

impl Shaping {
    /// What makes the replies, and the lanes to it.
    ///
    /// # Errors
    /// Where the limits cannot be obeyed together.
    pub(crate) fn lanes(&self) -> Result<Lanes, Box<dyn Error>> {
        let policy = self.limits.policy()?;
        let tokenizer = self.limits.tokenizer;
        // The vocabulary takes longer to load than the server may take to answer.
        std::thread::spawn(move || {
            tokenizer.warm();
            if let Some(auditor) = tokenizer.auditor() {
                auditor.count("warm");
            }
        });
        let store = MemoryStore::new(store::Limits {
            memory: usize::try_from(self.keeping.snapshot_memory).unwrap_or(usize::MAX),
            ttl: self.keeping.snapshot_ttl,
        });
        let settings = Settings {
            policy,
            auditor: tokenizer.auditor(),
            ..Settings::new(tokenizer.counter(), Arc::new(store), random_secret()?)
        };
        let gateway = Arc::new(Gateway::new(settings));
        Ok(Lanes { gateway, read_tool: self.read_tool.as_str().into(), message_limit: self.message_limit() })
    }

    /// Bytes of the largest message that is read.
    pub(crate) fn message_limit(&self) -> usize {
        usize::try_from(self.keeping.upstream_message_limit).unwrap_or(usize::MAX)
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
