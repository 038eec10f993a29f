//! How replies are shaped: the options that every command in front of a server has, and what they put together.

use std::error::Error;
use std::sync::Arc;

use clap::Args;
use portion_gateway::gateway::Gateway;
use portion_gateway::mcp::Lanes;
use portion_gateway::settings::{Settings, random_secret};
use portion_gateway::store::{self, MemoryStore};

use crate::limits::{Keeping, Limits};
use crate::listing::Listing;

/// How replies are shaped.
#[derive(Clone, Debug, Args)]
pub(crate) struct Shaping {
    #[command(flatten)]
    listing: Listing,
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
        let rules = self.limits.rules()?;
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
        let gateway = Arc::new(Gateway::new(Settings::new(rules, Arc::new(store), random_secret()?)));
        Ok(Lanes::new(gateway, (&self.listing).into(), self.message_limit()))
    }

    /// Bytes of the largest message that is read.
    pub(crate) fn message_limit(&self) -> usize {
        usize::try_from(self.keeping.upstream_message_limit).unwrap_or(usize::MAX)
    }
}
