//! `portion config show`: the effective configuration.

use std::path::Path;

use clap::Args;
use portion_config::{Config, show, show_json};
use portion_policy::policy_source::EndpointTarget;

use super::sources::{print, print_json, sources};
use crate::command::CommandResult;

/// Options of `portion config show`.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Show the origin of each value
    #[arg(long)]
    origin: bool,
    /// Show the configuration with this profile, such as hostaway or education-data
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Show the settings of an endpoint: the name of a tool or prompt, or the URI of a resource
    #[arg(long, value_name = "NAME")]
    endpoint: Option<String>,
    /// Server of the endpoint, if there are several
    #[arg(long, value_name = "NAME", requires = "endpoint")]
    upstream: Option<String>,
}

pub(super) fn run(named: Option<&Path>, options: &Options, as_json: bool) -> CommandResult {
    let sources = sources(named, options.profile.as_deref())?;
    let (config, _) = Config::load(&sources, 0)?;
    let upstream = options.upstream.as_deref();
    let target = options
        .endpoint
        .as_deref()
        .map(|name| EndpointTarget { upstream, ..EndpointTarget::from_name(name) });
    if as_json {
        return print_json(&show_json(&config, options.origin, target));
    }
    print(&show(&config, options.origin, target))
}
