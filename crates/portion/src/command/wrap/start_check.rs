//! Checks if `portion wrap` would start with a changed configuration.

use std::error::Error;

use portion_config::Config;

use super::{Options, choose_server};
use crate::access;
use crate::server::Server;
use crate::start_error::{StartCheck, StartError};

/// Returns the check of a changed configuration while this server runs.
pub(super) fn start_check(options: &Options, running: &Server) -> StartCheck {
    let (options, running) = (options.clone(), running.clone());
    Box::new(move |config: &Config| {
        let server = check_server(&options, &running, config).err();
        let server = server.map(|error| StartError::in_file(config, &error));
        let admin = access::admin_error(config, options.admin_address(config), options.insecure);
        server.into_iter().chain(admin).collect::<Vec<_>>()
    })
}

/// Checks the server of a changed configuration. A program that is missing is told to the client, so it is not checked.
fn check_server(options: &Options, running: &Server, config: &Config) -> Result<(), Box<dyn Error>> {
    if options.has_own_server() {
        return Ok(());
    }
    let (_, server, _) = choose_server(options, config)?;
    match &server {
        Server::Rest(_) if server != *running => server.check(config.file()),
        _ => Ok(()),
    }
}

impl Options {
    /// Returns true if the server is not that of the configuration.
    fn has_own_server(&self) -> bool {
        self.rest.is_given() || self.url.is_some() || !self.command.is_empty()
    }
}
