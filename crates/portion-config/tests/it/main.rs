//! Tests of configurations, valid and invalid, and of their files.

mod changes;
mod differences;
mod docs;
mod errors;
mod history;
mod laws;
mod live;
mod precedence;
mod profiles;
mod schemas;
mod secrets;
mod show;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use portion_config::{Config, Errors, Sources};
use portion_policy::endpoint::{EndpointKind, EndpointTarget};

/// Returns sources with this file only.
fn file(name: &str, text: &str) -> Sources {
    Sources { file: Some((PathBuf::from(name), text.to_owned())), ..Sources::default() }
}

fn yaml(text: &str) -> Sources {
    file("portion.yaml", text)
}

/// Adds variables, which references can use too.
fn with_variables(sources: Sources, variables: &[(&str, &str)]) -> Sources {
    let variables: Vec<_> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let outside: BTreeMap<String, String> = variables.iter().cloned().collect();
    Sources { variables, secret_resolver: Some(Arc::new(outside)), ..sources }
}

fn with_options(sources: Sources, options: &[(&str, &str)]) -> Sources {
    let options = options.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect();
    Sources { options, ..sources }
}

fn load(sources: &Sources) -> Result<Config, Errors> {
    Config::load(sources, 1).map(|(config, _)| config)
}

#[track_caller]
fn loaded(sources: &Sources) -> Config {
    load(sources).unwrap_or_else(|errors| panic!("{errors}"))
}

#[track_caller]
fn refused(sources: &Sources) -> Errors {
    load(sources).expect_err("it cannot be obeyed")
}

/// Returns a tool of a server without a name.
#[expect(clippy::unnecessary_wraps, reason = "configurations are asked with an option")]
fn tool(name: &str) -> Option<EndpointTarget<'_>> {
    Some(EndpointTarget { upstream: None, kind: EndpointKind::Tool, name })
}
