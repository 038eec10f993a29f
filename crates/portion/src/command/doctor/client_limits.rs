//! Compares the result limits of clients with those of replies.

use std::sync::Arc;

use portion_config::Config;
use portion_gateway::rules::EndpointRules;
use portion_policy::client::{CLIENTS, ClientProfile, ResultLimit};
use portion_policy::policy_source::PolicySource as _;
use portion_telemetry::show::grouped;

use super::clients::ClientServer;
use super::configuration::origin_command;
use super::finding::{Finding, Level};
use crate::run::environment::limits_from_environment;

/// Reports the limits of each client that has a server behind Portion.
pub(super) fn check(servers: &[ClientServer], config: &Config, findings: &mut Vec<Finding>) {
    let rules = EndpointRules::new(Arc::new(config.endpoint_config(None)), limits_from_environment());
    let is_used = |client: &&ClientProfile| {
        let wrapped = servers.iter().filter(|server| server.is_wrapped).filter_map(|server| server.client);
        wrapped.map(portion_install::client::Client::name).any(|name| name == client.preset)
    };
    for client in CLIENTS.iter().filter(|client| !client.limits.is_empty()).filter(is_used) {
        let policy = &rules
            .default_rule()
            .policy_for_client(rules.resolve_client(client.name_patterns.first().copied()))
            .policy;
        let limits = client.limits.iter().map(|limit| shown(*limit)).collect::<Vec<_>>().join(" and ");
        let message = format!(
            "this client cuts at {limits} ({}); replies stay below {} bytes and {} tokens",
            client.overflow_behaviour,
            grouped(policy.hard_byte_limit as u64),
            grouped(policy.hard_cap as u64),
        );
        let room = client.reply_room();
        let fits = room.max_bytes.is_none_or(|max| policy.hard_byte_limit <= max)
            && room.max_tokens.is_none_or(|max| policy.hard_cap <= max);
        let finding = |level, message| Finding::new(level, "client-limits", client.title, message);
        let fix = config.top().get("preset").and_then(|set| origin_command(config.file(), &set.origin));
        findings.push(match (fits, fix) {
            (true, _) => finding(Level::Ok, message),
            (false, Some(fix)) => {
                finding(Level::Warning, format!("{message}: preset auto lowers them")).with_fix(fix)
            }
            (false, None) => finding(Level::Warning, message),
        });
    }
}

fn shown(limit: ResultLimit) -> String {
    let (limit, unit) = match limit {
        ResultLimit::Tokens(limit) => (limit, "tokens"),
        ResultLimit::Characters(limit) => (limit, "characters"),
        ResultLimit::Bytes(limit) => (limit, "bytes"),
        ResultLimit::TotalBytes(limit) => (limit, "bytes, images included"),
    };
    format!("{} {unit}", grouped(limit as u64))
}
