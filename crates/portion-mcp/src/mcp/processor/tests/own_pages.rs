//! Tests of tools with a pushdown whose results do not have the list.

use std::sync::{Arc, Mutex, PoisonError};

use portion_core::cursor::Scope;
use portion_core::policy::ClientLimits;
use portion_gateway::gateway::Gateway;
use portion_gateway::gateway_parts::GatewayParts;
use portion_gateway::rules::EndpointRules;
use portion_gateway::session::ClientSession;
use portion_gateway::store::{MemoryStore, StoreLimits};
use portion_json::scan::quote;
use portion_policy::listing::ListingOptions;
use portion_policy::policy_source::EndpointConfig;
use portion_policy::pushdown::Pushdown;
use serde_json::Value;

use super::super::internal_calls::{ResponseFuture, UpstreamCaller};
use super::{client, sent, server};
use crate::mcp::McpProcessorFactory;
use crate::message_processor::MessageProcessor as _;

const LIST: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"tools":[{"name":"rows","inputSchema":{"type":"object","properties":{"q":{},"limit":{},"page":{}}},"annotations":{"readOnlyHint":true}}]}}"#;

/// A server whose tool returns its own arguments.
#[derive(Debug, Default)]
struct Echo(Mutex<Vec<Value>>);

impl UpstreamCaller for Echo {
    fn call<'a>(&'a self, id: &'a str, request: Vec<u8>) -> ResponseFuture<'a> {
        Box::pin(async move {
            let request: Value = serde_json::from_slice(&request).expect("a request");
            let arguments = request["params"]["arguments"].clone();
            let text = quote(&arguments.to_string());
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(arguments);
            let result = format!(r#"{{"content":[{{"type":"text","text":{text}}}]}}"#);
            Ok(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into_bytes())
        })
    }
}

/// The tool is called with these arguments, one after the other; the client gets the last result.
fn check(arguments: &str, expect: &[&str]) {
    let settings = [("preset", "page"), ("items", "/result")];
    let settings = settings.map(|(key, text)| (key.to_owned(), text.to_owned()));
    let pushdown = Some(Arc::new(Pushdown::from_settings(&settings).expect("settings")));
    let config = EndpointConfig { pushdown, ..EndpointConfig::default() };
    let rules = EndpointRules::new(Arc::new(config), ClientLimits::UNKNOWN);
    let store = Arc::new(MemoryStore::new(StoreLimits::default()));
    let gateway = Gateway::new(GatewayParts::new(rules, store, [7; 32]));
    let echo = Arc::new(Echo::default());
    let processor = McpProcessorFactory::new(Arc::new(gateway), ListingOptions::default(), 1 << 20)
        .new_processor(Scope::from_principal("stdio"), ClientSession::new_unique())
        .with_upstream_caller(Arc::clone(&echo) as Arc<dyn UpstreamCaller>);
    client(&processor, r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#);
    server(&processor, LIST);
    let params = format!(r#"{{"name":"rows","arguments":{arguments}}}"#);
    let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let out = sent(runtime.block_on(processor.process_client_message(super::parsed(call))));
    let asked = echo.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let expect: Vec<Value> = expect.iter().map(|json| serde_json::from_str(json).expect("JSON")).collect();
    assert_eq!(asked, expect, "{arguments}");
    let response: Value = serde_json::from_str(out[0].trim_start_matches("< ")).expect("a response");
    let text = response["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert_eq!(serde_json::from_str::<Value>(text).ok().as_ref(), expect.last(), "{out:?}");
}

#[test]
fn the_page_of_the_caller_is_requested_if_the_first_page_has_no_list() {
    check(r#"{"q":"x"}"#, &[r#"{"q":"x","limit":100,"page":1}"#]);
    check(
        r#"{"q":"x","limit":5,"page":3,"fields":"all"}"#,
        &[r#"{"q":"x","limit":100,"page":1}"#, r#"{"q":"x","limit":5,"page":3}"#],
    );
}
