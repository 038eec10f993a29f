//! Answers MCP messages of one link.
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use parking_lot::Mutex;
use portion_json::scan::quote;
use portion_mcp::frame::{DroppedLine, Frame};
use portion_mcp::mcp::envelope::{
    INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, UNSUPPORTED_VERSION, json_rpc_error,
};
use portion_mcp::mcp::{MessageKind, MessageView, NEXT_PAGE_KEY, ParsedBatch, RequestIdMap};
use portion_mcp::upstream::link::{LinkEvent, LinkTransport};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::RestApi;
use super::exchange::CallResult;

/// Revisions with `initialize`, the newest first.
const STATEFUL_VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// Revisions in which each request names its revision.
const STATELESS_VERSIONS: [&str; 1] = ["2026-07-28"];
/// Largest number of characters of an unknown revision that an error repeats.
const MAX_VERSION_CHARS: usize = 64;
/// Time in milliseconds for which clients may keep the list of tools. The list changes only with a restart.
const LIST_TTL_MS: u64 = 300_000;

/// Running requests by id.
type Running = Arc<Mutex<RequestIdMap<AbortHandle>>>;
/// A response, or `None` if there is none.
type ResponseFuture = Pin<Box<dyn Future<Output = Frame> + Send>>;

/// Answers messages until the link is closed.
pub(super) async fn run(api: Arc<RestApi>, transport: LinkTransport) {
    let LinkTransport { mut outgoing, incoming } = transport;
    let running = Running::default();
    loop {
        let message = tokio::select! {
            () = incoming.closed() => break,
            message = outgoing.recv() => message,
        };
        let Some(message) = message else { break };
        let text = String::from_utf8_lossy(&message).into_owned();
        answer_text(&api, &text, &incoming, &running);
    }
    if !incoming.is_closed() {
        wait_until_idle(&running, &incoming).await;
    }
    for task in running.lock().values() {
        task.abort();
    }
}

/// After the client's end of input, its calls are still answered.
async fn wait_until_idle(running: &Running, incoming: &mpsc::Sender<LinkEvent>) {
    while running.lock().values().any(|task| !task.is_finished()) {
        tokio::select! {
            () = incoming.closed() => return,
            () = tokio::time::sleep(std::time::Duration::from_millis(20)) => {}
        }
    }
}

fn answer_text(api: &Arc<RestApi>, text: &str, incoming: &mpsc::Sender<LinkEvent>, running: &Running) {
    let batch = match ParsedBatch::parse(text) {
        Ok(batch) => batch,
        Err(error) => {
            let response = json_rpc_error("null", INVALID_REQUEST, &error.to_string());
            return spawn(Box::pin(async { Frame::Message(response.into_bytes()) }), None, incoming, running);
        }
    };
    let mut responses: Vec<ResponseFuture> = Vec::new();
    for message in &batch.messages {
        match message.kind() {
            MessageKind::Request if batch.is_batch => responses.push(respond(api, message)),
            MessageKind::Request => spawn(respond(api, message), Some(message.id()), incoming, running),
            MessageKind::Notification => {
                if let Some(id) = message.cancelled_id() {
                    let task = running.lock().take(message.slice(id));
                    task.iter().for_each(AbortHandle::abort);
                }
            }
            MessageKind::Response => {}
        }
    }
    if !responses.is_empty() {
        spawn(Box::pin(join_batch(responses)), None, incoming, running);
    }
}

/// Sends a response as soon as it is complete, unless the request is cancelled.
fn spawn(response: ResponseFuture, id: Option<&str>, incoming: &mpsc::Sender<LinkEvent>, running: &Running) {
    let incoming = incoming.clone();
    let (key, shared) = (id.map(str::to_owned), Arc::clone(running));
    // The lock is held until the task is known, so that the task cannot end before.
    let mut tasks = running.lock();
    let task = tokio::spawn(async move {
        let frame = response.await;
        if let Some(key) = key {
            shared.lock().take(&key);
        }
        let _ = incoming.send(LinkEvent::Frame(frame)).await;
    });
    if let Some(id) = id {
        tasks.insert(id, task.abort_handle());
    }
}

async fn join_batch(responses: Vec<ResponseFuture>) -> Frame {
    let mut texts = Vec::with_capacity(responses.len());
    for response in responses {
        match response.await {
            Frame::Message(bytes) => texts.push(String::from_utf8_lossy(&bytes).into_owned()),
            Frame::TooLarge(DroppedLine { messages, bytes, .. }) => {
                let message =
                    format!("the response of the API has more than {} bytes", bytes.saturating_sub(1));
                let errors =
                    messages.iter().map(|dropped| json_rpc_error(&dropped.id, INVALID_REQUEST, &message));
                texts.extend(errors);
            }
        }
    }
    Frame::Message(format!("[{}]", texts.join(",")).into_bytes())
}

/// Returns the response to a request.
fn respond(api: &Arc<RestApi>, request: &MessageView<'_>) -> ResponseFuture {
    let id = request.id().to_owned();
    let version = request.protocol_version();
    let ready = |text: String| -> ResponseFuture { Box::pin(async { Frame::Message(text.into_bytes()) }) };
    if let Some(version) = version.as_deref().filter(|version| !STATELESS_VERSIONS.contains(version)) {
        return ready(unsupported_version(&id, version));
    }
    let is_stateless = version.is_some();
    let result = |members: &str| {
        let tail = if is_stateless { ",\"resultType\":\"complete\"" } else { "" };
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{{members}{tail}}}}}")
    };
    let method = request.method();
    match &*method {
        "initialize" => ready(result(&initialize_result(api, request))),
        "server/discover" => {
            let versions = quoted_list(&STATELESS_VERSIONS);
            let members = format!(
                r#""supportedVersions":{versions},"capabilities":{{"tools":{{}}}},"ttlMs":{LIST_TTL_MS},"cacheScope":"public","_meta":{{"io.modelcontextprotocol/serverInfo":{}}}"#,
                server_info(api)
            );
            ready(result(&members))
        }
        "ping" => ready(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}")),
        "tools/list" => {
            let cache = format!(r#","ttlMs":{LIST_TTL_MS},"cacheScope":"public""#);
            let cache = if is_stateless { cache.as_str() } else { "" };
            ready(result(&format!(r#""tools":{}{cache}"#, api.listing)))
        }
        "tools/call" => {
            let Some(tool) = request.name().and_then(|name| api.tool_by_name.get(&name).copied()) else {
                let name = request.name().unwrap_or_default();
                return ready(json_rpc_error(&id, INVALID_PARAMS, &format!("Unknown tool: {name}")));
            };
            let arguments = request.arguments().unwrap_or("{}").to_owned();
            let api = Arc::clone(api);
            Box::pin(async move {
                let called = api.call(&api.options.tools[tool], &arguments).await;
                call_response(&id, called, is_stateless)
            })
        }
        _ => ready(json_rpc_error(&id, METHOD_NOT_FOUND, &format!("Method not found: {method}"))),
    }
}

fn call_response(id: &str, called: CallResult, is_stateless: bool) -> Frame {
    match called {
        CallResult::Content { blocks, is_error, next_page } => {
            let meta = next_page.map_or_else(String::new, |url| {
                format!(",\"_meta\":{{{}:{}}}", quote(NEXT_PAGE_KEY), quote(&url))
            });
            let error = if is_error { ",\"isError\":true" } else { "" };
            let kind = if is_stateless { ",\"resultType\":\"complete\"" } else { "" };
            let content = blocks.join(",");
            let text = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{content}]{error}{meta}{kind}}}}}"
            );
            Frame::Message(text.into_bytes())
        }
        CallResult::TooLarge(bytes) => Frame::TooLarge(DroppedLine::of_responses([id.into()], bytes)),
    }
}

fn initialize_result(api: &RestApi, request: &MessageView<'_>) -> String {
    let requested = request.string_param("protocolVersion");
    let version = requested.as_deref().filter(|version| STATEFUL_VERSIONS.contains(version));
    let version = version.unwrap_or(STATEFUL_VERSIONS[0]);
    format!(
        r#""protocolVersion":"{version}","capabilities":{{"tools":{{}}}},"serverInfo":{}"#,
        server_info(api)
    )
}

fn server_info(api: &RestApi) -> String {
    format!(r#"{{"name":{},"version":{}}}"#, quote(&api.options.title), quote(&api.options.version))
}

fn unsupported_version(id: &str, version: &str) -> String {
    let version: String = version.chars().take(MAX_VERSION_CHARS).collect();
    let message = quote(&format!("Unsupported protocol version: {version}"));
    let (supported, requested) = (quoted_list(&STATELESS_VERSIONS), quote(&version));
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{UNSUPPORTED_VERSION},"message":{message},"data":{{"supported":{supported},"requested":{requested}}}}}}}"#
    )
}

fn quoted_list(texts: &[&str]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| quote(text)).collect();
    format!("[{}]", quoted.join(","))
}
