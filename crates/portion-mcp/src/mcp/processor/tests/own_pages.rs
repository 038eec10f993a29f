//! A call of a tool with a pushdown serves what the call without it would have served, or more, whatever the server does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use portion_core::cursor::Scope;
use portion_core::policy::ClientLimits;
use portion_gateway::gateway::Gateway;
use portion_gateway::gateway_parts::GatewayParts;
use portion_gateway::rules::EndpointRules;
use portion_gateway::session::ClientSession;
use portion_gateway::store::{MemoryStore, StoreLimits};
use portion_policy::endpoint::{EndpointConfig, ListingOptions};
use portion_policy::pushdown::Pushdown;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;

use super::super::McpProcessor;
use super::super::internal_calls::{ResponseFuture, UpstreamCaller};
use super::{client, sent, server};
use crate::mcp::McpProcessorFactory;
use crate::message_processor::MessageProcessor as _;

/// Answers a call, given its arguments and its number.
type Answer = dyn Fn(&Map<String, Value>, usize) -> Value + Send + Sync;

/// A server, and the arguments of its calls.
struct Server {
    answer: Box<Answer>,
    asked: Mutex<Vec<Value>>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

impl UpstreamCaller for Server {
    fn call<'a>(&'a self, id: &'a str, request: Vec<u8>) -> ResponseFuture<'a> {
        Box::pin(async move {
            let request: Value = serde_json::from_slice(&request).expect("a request");
            let arguments = request["params"]["arguments"].clone();
            let earlier = {
                let mut asked = self.asked.lock();
                asked.push(arguments.clone());
                asked.len() - 1
            };
            let (key, answer) = match (self.answer)(arguments.as_object().expect("an object"), earlier) {
                error if error.get("code").is_some() => ("error", error),
                result => ("result", result),
            };
            Ok(format!(r#"{{"jsonrpc":"2.0","id":{id},"{key}":{answer}}}"#).into_bytes())
        })
    }
}

/// A client of a tool with a pushdown.
struct Talk {
    processor: McpProcessor,
    server: Arc<Server>,
    runtime: Runtime,
}

impl Talk {
    fn new(
        settings: &[(&str, &str)],
        properties: &[&str],
        answer: impl Fn(&Map<String, Value>, usize) -> Value + Send + Sync + 'static,
    ) -> Self {
        let settings: Vec<_> =
            settings.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect();
        let pushdown = Some(Arc::new(Pushdown::from_settings(&settings).expect("settings")));
        let config = EndpointConfig { pushdown, ..EndpointConfig::default() };
        let rules = EndpointRules::new(Arc::new(config), ClientLimits::UNKNOWN);
        let store = Arc::new(MemoryStore::new(StoreLimits::default()));
        let gateway = Gateway::new(GatewayParts::new(rules, store, [7; 32]));
        let upstream = Arc::new(Server { answer: Box::new(answer), asked: Mutex::default() });
        let processor = McpProcessorFactory::new(Arc::new(gateway), ListingOptions::default(), 1 << 20)
            .new_processor(Scope::from_principal("stdio"), ClientSession::new_unique())
            .with_upstream_caller(Arc::clone(&upstream) as Arc<dyn UpstreamCaller>);
        client(&processor, r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#);
        let properties: Map<String, Value> =
            properties.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        let tool = json!({"name": "list_rows", "inputSchema": {"type": "object", "properties": properties}, "annotations": {"readOnlyHint": true}});
        server(&processor, &json!({"jsonrpc": "2.0", "id": 0, "result": {"tools": [tool]}}).to_string());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        Self { processor, server: upstream, runtime }
    }

    /// Calls a tool. Returns the result.
    fn call(&self, tool: &str, arguments: &Value) -> Value {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
        let line = super::parsed(call.to_string());
        let out = sent(self.runtime.block_on(self.processor.process_client_message(line)));
        serde_json::from_str(out[0].trim_start_matches("< ")).expect("a response")
    }

    fn asked(&self) -> Vec<Value> {
        std::mem::take(&mut *self.server.asked.lock())
    }
}

fn text_result(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// Returns the texts of a response.
fn texts(response: &Value) -> Vec<&str> {
    let blocks = response["result"]["content"].as_array().into_iter().flatten();
    blocks.filter_map(|block| block["text"].as_str()).collect()
}

fn is_error(response: &Value) -> bool {
    response.get("error").is_some() || response["result"]["isError"] == true
}

/// The tool is called with these arguments, one after the other; the client gets the last result.
fn check(arguments: &Value, expect: &[Value]) {
    let echo = |arguments: &Map<String, Value>, _| text_result(&json!(arguments).to_string());
    let talk = Talk::new(&[("preset", "page"), ("items", "/result")], &["q", "limit", "page"], echo);
    let response = talk.call("list_rows", arguments);
    assert_eq!(talk.asked(), expect, "{arguments}");
    let served = texts(&response).first().and_then(|text| serde_json::from_str::<Value>(text).ok());
    assert_eq!(served.as_ref(), expect.last(), "{response}");
}

#[test]
fn a_call_for_a_larger_page_without_a_list_is_repeated_as_the_caller_made_it() {
    check(&json!({"q": "x"}), &[json!({"q": "x", "limit": 100, "page": 1}), json!({"q": "x"})]);
    check(
        &json!({"q": "x", "limit": 5, "page": 3, "fields": "all"}),
        &[json!({"q": "x", "limit": 100, "page": 1}), json!({"q": "x", "limit": 5, "page": 3})],
    );
}

#[test]
fn a_tool_without_a_list_is_called_once_from_then_on() {
    let talk = Talk::new(&[("preset", "page")], &["limit", "page"], |_, _| text_result("no list"));
    for count in [2, 1, 1] {
        assert_eq!(texts(&talk.call("list_rows", &json!({"limit": 3})))[0], "no list");
        assert_eq!(talk.asked().len(), count);
    }
}

#[test]
fn a_larger_page_that_failed_is_tried_again_after_some_calls() {
    let has_failed = AtomicBool::new(false);
    let talk = Talk::new(&[("preset", "limit-offset")], &["limit", "offset"], move |arguments, _| {
        let limit = arguments.get("limit").and_then(Value::as_u64).unwrap_or(10);
        if !has_failed.swap(true, Ordering::Relaxed) {
            return json!({"content": [{"type": "text", "text": "out of order"}], "isError": true});
        }
        let rows: Vec<_> = (0..limit).map(|id| json!({"id": id})).collect();
        text_result(&json!({"items": rows, "total": 500}).to_string())
    });
    let mut limits = Vec::new();
    for _ in 0..60 {
        assert!(!is_error(&talk.call("list_rows", &json!({}))));
        limits.push(talk.asked()[0]["limit"].as_u64());
    }
    // Pages that are fetched ahead of a reply are not among these: each call asks first.
    assert_eq!(limits.iter().filter(|limit| limit.is_none()).count(), 50, "{limits:?}");
    assert_eq!((limits[0], limits[1], limits[51]), (Some(100), None, Some(100)));
}

#[test]
fn arguments_that_the_tool_does_not_list_are_the_gateways() {
    let rows: Vec<Value> = (0..90).map(|id| json!({"id": id})).collect();
    let text = json!(rows).to_string();
    let settings = [("preset", "education")];
    let talk = Talk::new(&settings, &["q", "limit"], move |_, _| text_result(&text));
    let second = talk.call("list_rows", &json!({"limit": 20, "page": 2}));
    assert_eq!(ids(&second), (20..40).collect::<Vec<_>>());
    assert_eq!(talk.asked(), [json!({"limit": 1000})]);
}

#[test]
fn a_position_in_an_empty_list_is_no_error() {
    for (settings, empty) in [
        (&[("preset", "hostaway")][..], r#"{"status":"success","result":[],"count":0}"#),
        (&[("preset", "hostaway")], r#"{"items":[],"nextCursor":null,"meta":{"totalCount":0}}"#),
        (&[("preset", "page")], "[]"),
    ] {
        for arguments in
            [json!({"offset": 7}), json!({"page": 3, "limit": 5}), json!({"offset": 7, "limit": 5})]
        {
            let talk = Talk::new(settings, &["limit", "offset", "page"], |_, _| text_result(empty));
            let response = talk.call("list_rows", &arguments);
            assert!(!is_error(&response), "{arguments} {response}");
        }
    }
}

/// Form in which a server returns its items.
#[derive(Clone, Copy, Debug)]
enum Form {
    Bare,
    Result,
    Items,
    Results,
    Text,
}

/// Way in which a server refuses a call.
#[derive(Clone, Copy, Debug)]
enum Refusal {
    Result,
    Protocol,
    Text,
    Hints,
}

/// A random server.
#[derive(Clone, Debug)]
struct Upstream {
    form: Form,
    total: usize,
    /// Items of a page without a limit.
    default_size: usize,
    /// True if the tool lists an argument for the size, and one for the position.
    has_limit: bool,
    has_position: bool,
    /// True if pages are selected by number, else by offset.
    is_numbered: bool,
    ignores_limit: bool,
    ignores_position: bool,
    cap: Option<usize>,
    refuses_above: Option<usize>,
    refusal: Refusal,
    /// Bytes after which texts are cut.
    cuts_at: Option<usize>,
    /// Added to the total that is reported.
    total_error: usize,
    /// Items of a page that are on the page before, too.
    overlap: usize,
    /// Calls after which all further ones are refused for their rate.
    calls: Option<usize>,
}

impl Upstream {
    /// Returns the items that a call selects, as a range.
    fn selected(&self, arguments: &Map<String, Value>) -> std::ops::Range<usize> {
        let number = |name: &str| arguments.get(name).and_then(Value::as_u64).map(|number| number as usize);
        let limit = number("limit").filter(|_| self.has_limit && !self.ignores_limit);
        let size = limit.unwrap_or(self.default_size).min(self.cap.unwrap_or(usize::MAX));
        let first = match (number("page"), number("offset")) {
            _ if self.ignores_position || !self.has_position => 0,
            (Some(page), _) if self.is_numbered => (page - 1) * size.saturating_sub(self.overlap).max(1),
            (_, Some(offset)) if !self.is_numbered => offset.saturating_sub(self.overlap),
            _ => 0,
        };
        first.min(self.total)..(first + size).min(self.total)
    }

    fn answer(&self, arguments: &Map<String, Value>, earlier: usize) -> Value {
        let refused = |reason: &str| match self.refusal {
            Refusal::Result => json!({"isError": true, "content": [{"type": "text", "text": reason}]}),
            Refusal::Protocol => json!({"code": -32602, "message": reason}),
            Refusal::Text => text_result(&format!("ERROR: {reason}")),
            Refusal::Hints => text_result(&json!({"error": reason, "hints": ["reduce limit"]}).to_string()),
        };
        if self.calls.is_some_and(|calls| earlier >= calls) {
            return refused("429 Too Many Requests");
        }
        let selected = self.selected(arguments);
        if self.refuses_above.is_some_and(|max| selected.len() > max) {
            return refused("Response too large");
        }
        let items: Vec<Value> =
            selected.clone().map(|id| json!({"id": id, "name": format!("Row {id}")})).collect();
        let (total, more) = (self.total + self.total_error, selected.end < self.total);
        let text = match self.form {
            Form::Bare => json!(items).to_string(),
            Form::Result => json!({"status": "success", "result": items, "count": total}).to_string(),
            Form::Items => json!({"items": items, "nextCursor": more.then_some("x"), "meta": {"totalCount": total, "hasMore": more}}).to_string(),
            Form::Results => json!({"results": items, "pagination": {"total_count": total, "has_more": more}}).to_string(),
            Form::Text => format!("# {} rows", items.len()),
        };
        match self.cuts_at.filter(|max| text.len() > *max) {
            Some(max) => text_result(&format!("{}\n[truncated]", &text[..max])),
            None => text_result(&text),
        }
    }
}

fn upstream() -> impl Strategy<Value = Upstream> {
    let form = prop::sample::select(vec![Form::Bare, Form::Result, Form::Items, Form::Results, Form::Text]);
    let refusal =
        prop::sample::select(vec![Refusal::Result, Refusal::Protocol, Refusal::Text, Refusal::Hints]);
    let rarely = |max: usize| prop::option::weighted(0.3, 1..max);
    let flags =
        (any::<bool>(), any::<bool>(), any::<bool>(), prop::array::uniform2(prop::bool::weighted(0.2)));
    let sizes = (0..90_usize, 1..25_usize, rarely(30), rarely(40), rarely(2000));
    let faults =
        (prop_oneof![4 => Just(0_usize), 1 => 1..30_usize], prop_oneof![4 => Just(0_usize), 1 => 1..3_usize]);
    let calls = prop::option::weighted(0.2, 2..5_usize);
    (form, refusal, flags, sizes, faults, calls).prop_map(|(form, refusal, flags, sizes, faults, calls)| {
        let (has_limit, has_position, is_numbered, [ignores_limit, ignores_position]) = flags;
        let (total, default_size, cap, refuses_above, cuts_at) = sizes;
        let (total_error, overlap) = faults;
        Upstream {
            form,
            total,
            default_size,
            has_limit,
            has_position,
            is_numbered,
            ignores_limit,
            ignores_position,
            cap,
            refuses_above,
            refusal,
            cuts_at,
            total_error,
            overlap,
            calls,
        }
    })
}

/// Returns the ids in the first text of a response.
fn ids(response: &Value) -> Vec<usize> {
    let text = texts(response).first().copied().unwrap_or_default();
    let number = |rest: &str| rest.split(|c: char| !c.is_ascii_digit()).next().and_then(|id| id.parse().ok());
    text.split("\"id\":").skip(1).filter_map(|rest| number(rest.trim_start())).collect()
}

/// Returns the ids of a response and of all pages after it.
fn walked(talk: &Talk, first: &Value) -> Vec<usize> {
    let (mut all, mut response) = (ids(first), first.clone());
    for _ in 0..40 {
        let notice = &response["result"]["_meta"]["io.portion/notice"];
        let Some(cursor) = notice["nextCursor"].as_str().map(str::to_owned) else { break };
        response = talk.call("portion_read", &json!({"cursor": cursor}));
        all.extend(ids(&response));
    }
    all
}

proptest! {
    #[test]
    fn a_call_serves_what_the_server_alone_would_have_served_or_more(
        upstream in upstream(),
        preset in prop::sample::select(vec!["hostaway", "education", "limit-offset", "page"]),
        limit in prop::option::of(1..30_usize),
        position in prop::option::of(0..100_usize),
        earlier in any::<bool>(),
    ) {
        let properties: Vec<&str> = [
            (upstream.has_limit, "limit"),
            (upstream.has_position && upstream.is_numbered, "page"),
            (upstream.has_position && !upstream.is_numbered, "offset"),
        ].into_iter().filter(|(has, _)| *has).map(|(_, name)| name).collect();
        let model = upstream.clone();
        let talk = Talk::new(&[("preset", preset)], &properties, move |arguments, earlier| model.answer(arguments, earlier));
        let mut arguments = Map::new();
        if let Some(limit) = limit {
            arguments.insert("limit".into(), limit.into());
        }
        if let Some(position) = position {
            let (name, value) = if upstream.is_numbered { ("page", position / 10 + 1) } else { ("offset", position) };
            arguments.insert(name.into(), value.into());
        }
        // Without an argument for paging, or with another one than the preset's, the tool is not one of the pushdown's: its calls are
        // forwarded.
        let is_of_preset = matches!(preset, "page" | "education") == upstream.is_numbered;
        prop_assume!(if upstream.has_position { is_of_preset } else { upstream.has_limit });
        if earlier && upstream.calls.is_none() {
            // What is remembered of one call changes no other one for the worse.
            talk.call("list_rows", &json!({"other": true}));
        }
        let direct = upstream.answer(&arguments, 0);
        let response = talk.call("list_rows", &Value::Object(arguments.clone()));
        let about = format!("{upstream:?} {arguments:?} {:?}\n{direct}\n{response}", talk.asked());
        let is_refused = direct.get("code").is_some() || direct["isError"] == true;
        if is_refused {
            return Ok(());
        }
        prop_assert!(!is_error(&response), "an error in place of a result: {about}");
        let direct = json!({ "result": direct });
        let expected = ids(&direct);
        let is_cut = serde_json::from_str::<Value>(texts(&direct)[0]).is_err();
        if is_cut || texts(&direct)[0].contains("\"error\"") {
            prop_assert_eq!(texts(&direct)[0], texts(&response)[0], "{}", about);
            return Ok(());
        }
        // The items that the arguments select, whatever the server makes of them.
        let size = limit.unwrap_or(expected.len());
        let wanted = match (arguments.get("page"), arguments.get("offset")) {
            (Some(page), _) => (page.as_u64().expect("a number") as usize - 1) * size,
            (_, Some(offset)) => offset.as_u64().expect("a number") as usize,
            _ => 0,
        };
        let served = ids(&response);
        let is_run = served.windows(2).all(|pair| pair[1] == pair[0] + 1);
        prop_assert!(is_run, "items in another order: {about}");
        // Without a limit, pages by number have the size of the gateway's.
        let is_numbered = arguments.contains_key("page");
        let is_placed = upstream.overlap == 0 && (limit.is_some() || !is_numbered);
        if let Some(first) = served.first().filter(|_| is_placed && upstream.cap.is_none()) {
            prop_assert!(*first == wanted || expected.first() == Some(first), "another page: {about}");
        }
        if expected.first() == Some(&wanted) && is_placed {
            let all = walked(&talk, &response);
            prop_assert!(expected.iter().all(|id| all.contains(id)), "less than without: {all:?} {about}");
        }
    }
}
