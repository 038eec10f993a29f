//! The link shared by all clients without sessions.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use portion_core::cursor::Scope;
use portion_gateway::dropped_messages::DropReason;
use portion_gateway::principal::Principal;
use tokio::sync::SetOnce;

use super::exchange::SharedLinkCaller;
use super::request_table::{Delivery, RequestTable};
use crate::bridge::session_mode::SERVER_EXIT_TIMEOUT;
use crate::frame::{DroppedLine, Frame, response_ids};
use crate::mcp::envelope::{METHOD_NOT_FOUND, cancellation_notification, json_rpc_error};
use crate::mcp::{InvalidMessage, McpProcessor, McpProcessorFactory, MessageKind, MessageView, ParsedBatch};
use crate::message_processor::MessageProcessor as _;
use crate::once::OneShotFlag;
use crate::upstream::link::{Inbox, Link, LinkEvent, Outbox, with_missing_id};

/// Principals whose server state (catalogue, capabilities) is kept.
const MAX_PRINCIPALS: usize = 256;

/// A link and its posts.
pub(super) struct SharedConnection {
    processor_factory: McpProcessorFactory,
    pub(super) requests: Mutex<RequestTable>,
    /// Processor of each principal, with its state of the server, and the time of its last request.
    processor_by_principal: Mutex<HashMap<Scope, (Arc<McpProcessor>, Instant)>>,
    /// `None` once the link is closed.
    outbox: Mutex<Option<Outbox>>,
    has_received: AtomicBool,
    is_unresponsive: AtomicBool,
    /// Request to close the link and to answer what is pending, with its reason: a sentence that `before it responded` can
    /// follow, where "it" is the server.
    pub(super) end_request: SetOnce<&'static str>,
    /// Set when the server has ended.
    pub(super) ended: OneShotFlag,
}

impl SharedConnection {
    /// Starts a shared connection over this link.
    pub(super) fn start(processor_factory: McpProcessorFactory, link: Link) -> Arc<Self> {
        let Link { outbox, inbox } = link;
        let connection = Arc::new(Self {
            processor_factory,
            requests: Mutex::new(RequestTable::new(Instant::now())),
            processor_by_principal: Mutex::default(),
            outbox: Mutex::new(Some(outbox)),
            has_received: AtomicBool::new(false),
            is_unresponsive: AtomicBool::new(false),
            end_request: SetOnce::new(),
            ended: OneShotFlag::default(),
        });
        tokio::spawn(Arc::clone(&connection).run_server_side(inbox));
        connection
    }

    /// Returns true if the link is closed.
    pub(super) fn is_over(&self) -> bool {
        self.outbox.lock().is_none()
    }

    /// Returns the time since which no post is pending; `None` while one is.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        self.requests.lock().idle_since()
    }

    /// Returns true if the server has ever sent anything.
    pub(super) fn has_received(&self) -> bool {
        self.has_received.load(Ordering::Relaxed)
    }

    /// Returns true if a request has timed out and the server has never sent anything.
    pub(super) fn is_unresponsive(&self) -> bool {
        self.is_unresponsive.load(Ordering::Relaxed) && !self.has_received()
    }

    /// Records that a request has timed out.
    pub(super) fn mark_unresponsive(&self) {
        self.is_unresponsive.store(true, Ordering::Relaxed);
    }

    /// Returns a processor for a request of this principal.
    pub(super) fn processor_for(self: &Arc<Self>, principal: &Principal) -> McpProcessor {
        let scope = principal.sessionless_scope;
        let mut principals = self.processor_by_principal.lock();
        if !principals.contains_key(&scope) && principals.len() >= MAX_PRINCIPALS {
            let oldest =
                principals.iter().min_by_key(|(_, (_, last_used))| *last_used).map(|(scope, _)| *scope);
            oldest.map(|oldest| principals.remove(&oldest));
        }
        let (processor, last_used) = principals.entry(scope).or_insert_with(|| {
            let processor = self.processor_factory.new_processor(scope, principal.conversation(None));
            (Arc::new(processor), Instant::now())
        });
        *last_used = Instant::now();
        let caller = SharedLinkCaller { connection: Arc::clone(self), scope };
        processor.fork().with_reuse(principal.has_credential).with_upstream_caller(Arc::new(caller))
    }

    /// Sends a notification of a principal.
    pub(super) async fn send_notification(&self, scope: Scope, message: Vec<u8>) {
        self.requests.lock().add_principal(scope);
        self.send_verbatim(message).await;
    }

    /// Sends a message with unchanged ids.
    pub(super) async fn send_verbatim(&self, message: Vec<u8>) {
        let outbox = self.outbox.lock().clone();
        if let Some(outbox) = outbox {
            let _ = outbox.send(message).await;
        }
    }

    /// Removes a post and cancels its pending requests at the server.
    pub(super) fn close_post(&self, post: u64, now: Instant) {
        let cancelled = self.requests.lock().remove_post(post, now);
        let Some(outbox) = self.outbox.lock().clone().filter(|_| !cancelled.is_empty()) else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            for link_id in cancelled {
                let reason = "no client waits for the response";
                let cancel = cancellation_notification(&link_id.to_string(), reason);
                let _ = outbox.send(cancel.into_bytes()).await;
            }
        });
    }

    /// Processes the messages of the server until the link is closed.
    async fn run_server_side(self: Arc<Self>, mut inbox: Inbox) {
        let reason = loop {
            tokio::select! {
                event = inbox.next() => match event {
                    Some(LinkEvent::Frame(frame)) => self.handle_frame(frame).await,
                    Some(LinkEvent::Closed(reason)) => break reason.to_string(),
                    None => break "the server has ended".to_owned(),
                },
                reason = self.end_request.wait() => break (*reason).to_owned(),
            }
        };
        let outbox = self.outbox.lock().take();
        drop(outbox);
        self.requests.lock().close(&reason);
        inbox.wait_closed(SERVER_EXIT_TIMEOUT).await;
        self.ended.set();
    }

    async fn handle_frame(self: &Arc<Self>, frame: Frame) {
        self.has_received.store(true, Ordering::Relaxed);
        let line = match with_missing_id(frame, || self.requests.lock().only_link_id()) {
            Frame::Message(line) => line,
            Frame::TooLarge(dropped) => return self.reject_dropped_line(&dropped),
        };
        let (text, mark) = decode_marked(&line);
        let batch = match ParsedBatch::parse(&text) {
            Ok(batch) => batch,
            Err(error) => return self.reject_invalid_line(&line, error),
        };
        for message in &batch.messages {
            if message.kind() == MessageKind::Request {
                self.reject_server_request(message.id());
                continue;
            }
            if message.method() == "notifications/tools/list_changed" {
                self.invalidate_tools(message).await;
            }
            let (delivery, is_shared) = {
                let mut table = self.requests.lock();
                (table.rewrite_inbound(&text, message), table.has_several_principals())
            };
            if let Some(delivery) = delivery {
                if is_shared && delivery.post_ids.is_empty() {
                    let why = "a notification without a request id, of a server that several callers share";
                    self.processor_factory.gateway.record_drop(
                        DropReason::Unsolicited,
                        delivery.text.len(),
                        why,
                    );
                }
                self.deliver(delivery, mark);
            } else {
                let why = "a response without a pending request";
                if message.kind() == MessageKind::Response {
                    self.processor_factory.gateway.record_drop(DropReason::Unsolicited, line.len(), why);
                }
            }
        }
    }

    /// Passes each response of a dropped line to its post, and rejects each request of the server.
    fn reject_dropped_line(self: &Arc<Self>, dropped: &DroppedLine) {
        for message in &dropped.messages {
            if message.has_method {
                self.reject_server_request(&message.id);
                continue;
            }
            let mut table = self.requests.lock();
            let Some((post, id)) = table.take_request(&message.id) else { continue };
            if let Some(sender) = table.sender(post) {
                let response = DroppedLine::of_responses([id.into()], dropped.bytes);
                let _ = sender.try_send(Ok(Frame::TooLarge(response)));
            }
        }
    }

    /// Drops a line that is not a message. Each request that it, or a member of a batch, may answer gets a line that is none
    /// either, with its own id: its processor rejects and counts that one.
    fn reject_invalid_line(&self, line: &[u8], error: InvalidMessage) {
        let mut is_response = false;
        for ids in response_ids(line) {
            let answered = ids.iter().find_map(|id| self.requests.lock().take_request(id));
            let Some((post, id)) = answered else { continue };
            is_response = true;
            if let Some(sender) = self.requests.lock().sender(post) {
                let invalid = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id}}}");
                let _ = sender.try_send(Ok(Frame::Message(invalid.into_bytes())));
            }
        }
        if is_response {
            tracing::debug!(%error, bytes = line.len(), "a response is not a message");
            return;
        }
        let why = format!("a server line that is not a message: {error}");
        self.processor_factory.gateway.record_drop(DropReason::Invalid, line.len(), &why);
    }

    /// Sends a message to its posts. `mark`: see [`decode_marked`].
    fn deliver(&self, delivery: Delivery, mark: Option<char>) {
        let Delivery { post_ids, text, end_reason } = delivery;
        let message = match mark {
            Some(mark) => unmarked(&text, mark),
            None => text.into_bytes(),
        };
        for post_id in post_ids {
            let Some(sender) = self.requests.lock().sender(post_id) else { continue };
            let sent = sender.try_send(Ok(Frame::Message(message.clone())));
            let ended = end_reason.map(|why| sender.try_send(Err(why.to_owned())));
            if sent.is_err() || ended.is_some() {
                // The exchange still reads its queued messages, and then the end of the channel.
                self.close_post(post_id, Instant::now());
            }
        }
    }

    /// Invalidates the tool lists of all principals.
    async fn invalidate_tools(&self, message: &MessageView<'_>) {
        let text = message.slice(message.span()).as_bytes().to_vec();
        let processors: Vec<_> =
            self.processor_by_principal.lock().values().map(|(processor, _)| Arc::clone(processor)).collect();
        for processor in processors {
            processor.process_server_frame(Frame::Message(text.clone())).await;
        }
    }

    /// Rejects a request of the server, which these revisions do not allow.
    fn reject_server_request(self: &Arc<Self>, raw_id: &str) {
        let message = "clients of this revision accept no requests";
        let error = json_rpc_error(raw_id, METHOD_NOT_FOUND, message).into_bytes();
        let connection = Arc::clone(self);
        // In a task, because a server may not read while it writes.
        tokio::spawn(async move { connection.send_verbatim(error).await });
    }
}

/// Decodes a line. If it has invalid UTF-8, a mark that is nowhere else in it stands for each invalid sequence.
fn decode_marked(line: &[u8]) -> (Cow<'_, str>, Option<char>) {
    if let Ok(text) = std::str::from_utf8(line) {
        return (Cow::Borrowed(text), None);
    }
    let is_free = |mark: &char| line.utf8_chunks().all(|chunk| !chunk.valid().contains(*mark));
    // Noncharacters, which no text needs.
    let mark = ('\u{fdd0}'..='\u{fdef}').find(is_free).unwrap_or('\u{fffd}');
    let mut text = String::with_capacity(line.len() + 64);
    for chunk in line.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(mark);
        }
    }
    (Cow::Owned(text), Some(mark))
}

/// Returns a text with an invalid byte in the place of each mark, so that whoever reads it counts and reports them.
fn unmarked(text: &str, mark: char) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for (number, part) in text.split(mark).enumerate() {
        if number > 0 {
            bytes.push(0xff);
        }
        bytes.extend_from_slice(part.as_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::{decode_marked, unmarked};

    #[test]
    fn invalid_sequences_stay_invalid() {
        let check = |line: &[u8], expect: &[u8]| {
            let (text, mark) = decode_marked(line);
            let bytes = mark.map_or_else(|| text.as_bytes().to_vec(), |mark| unmarked(&text, mark));
            assert_eq!(bytes, expect);
        };
        check("a\u{fffd}é".as_bytes(), "a\u{fffd}é".as_bytes());
        check(b"a\xe9b\xff\xfe", b"a\xffb\xff\xff");
        check("\u{fdd0}".as_bytes(), "\u{fdd0}".as_bytes());
        check(b"\xef\xb7\x90\xff", b"\xef\xb7\x90\xff");
    }
}
