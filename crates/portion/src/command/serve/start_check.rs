//! Checks if `portion serve` would start with a changed configuration.

use portion_config::Config;

use super::{MountedServer, Options, auth_upstreams, bare_url, listener, servers};
use crate::access;
use crate::start_error::{StartCheck, StartError};
use crate::usage_error::UsageError;

/// Returns the check of a changed configuration while these servers run.
pub(super) fn start_check(options: &Options, running: &[MountedServer]) -> StartCheck {
    let (options, running) = (options.clone(), running.to_vec());
    Box::new(move |config: &Config| start_errors(&options, &running, config))
}

fn start_errors(options: &Options, running: &[MountedServer], config: &Config) -> Vec<StartError> {
    let servers = changed_servers(options, running, config);
    let error = servers.as_ref().err().map(|error| StartError::in_file(config, error));
    let servers = servers.unwrap_or_default();
    let errors = error
        .into_iter()
        .chain(new_server_errors(&servers, running, config))
        .chain(access::caller_error(config, listener(config), &auth_upstreams(&servers)))
        .chain(access::admin_error(config, config.admin(), false));
    errors.collect()
}

/// Returns the servers of a configuration. Those of the command line do not change.
fn changed_servers(
    options: &Options,
    running: &[MountedServer],
    config: &Config,
) -> Result<Vec<MountedServer>, UsageError> {
    if options.has_own_servers() { Ok(running.to_vec()) } else { servers(options, config) }
}

/// Returns the errors of the servers that do not run yet.
fn new_server_errors(
    servers: &[MountedServer],
    running: &[MountedServer],
    config: &Config,
) -> Vec<StartError> {
    let new = servers.iter().filter(|server| !running.contains(server));
    let errors = new.filter_map(|(_, _, server)| server.check(config.file()).err());
    let mut errors: Vec<StartError> = errors.map(|error| StartError::in_file(config, &error)).collect();
    // A server may have two paths.
    errors.dedup();
    errors
}

impl Options {
    /// Returns true if none of its servers are those of the configuration.
    fn has_own_servers(&self) -> bool {
        let has_named = !self.upstreams.is_empty() && bare_url(self).is_none();
        has_named || self.rest.is_given() || self.url.is_some() || !self.command.is_empty()
    }
}
