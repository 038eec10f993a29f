//! What the client says.

use std::borrow::Cow;
use std::sync::Arc;

use portion_core::span::Span;
use portion_core::view::Request;

use super::super::catalogue::{Own, Whose};
use super::super::code::{BUSY, INVALID_REQUEST};
use super::super::envelope::{Envelope, Message, NotRpc, Role, parse, text_of};
use super::super::heard::WHOLE;
use super::super::result::{READ_URI, Shape, completed};
use super::super::splice::Splice;
use super::super::walk::{self, Sequence};
use super::super::{controls, query};
use super::line::{Step, messages, settle};
use super::method::{Row, row};
use super::pending::{Asked, MOST, What};
use super::upstream::ask_for_tools;
use super::who::Who;
use super::{McpLane, answer};
use crate::call::{Call, Caller, Endpoint, EndpointKind, Fault, Intent, Reply, ReuseKey};
use crate::frame::sniffed;
use crate::gateway::Gateway;
use crate::questions::Stop;
use crate::relay::Outgoing;
use crate::rules::Relayed;

/// Why a call does not go to the server as it stands.
enum Detour {
    /// This answers it.
    Answer(String),
    /// Its client wants no answer any more.
    Cancelled,
    /// Whether the tool is ours, or what is ours in its arguments, cannot be told before the tools are known.
    Unknown,
}

impl McpLane {
    /// What becomes of a line of the client. `question`: it is a question that is known to be under way, until this is set.
    pub(super) async fn client_says(&self, line: Vec<u8>, question: Option<&Stop>) -> Vec<Outgoing> {
        let mut out = Vec::new();
        let (onward, back) = {
            let (text, _) = text_of(&line);
            match parse(&text) {
                Err(NotRpc::Json(_)) => return self.client_babbles(line),
                Err(why @ (NotRpc::Rpc(_) | NotRpc::Batch)) => {
                    let message = format!("the message was not sent to the server: {why}");
                    let error = answer::error("null", INVALID_REQUEST, &message, None);
                    return vec![Outgoing::ToClient(error.into_bytes())];
                }
                Ok(message) => {
                    let (envelopes, batch) = messages(message);
                    let mut splice = Splice::new(&text);
                    let mut steps = Vec::with_capacity(envelopes.len());
                    for envelope in &envelopes {
                        steps.push(match envelope.role() {
                            Some(Role::Request) => {
                                self.request(&text, envelope, &mut splice, &mut out, question).await
                            }
                            Some(Role::Notification) => self.client_notifies(&text, envelope),
                            Some(Role::Response) => {
                                self.timeouts.resume(envelope.raw_id(&text), self.gateway.now());
                                Step::Pass
                            }
                            None => Step::Pass,
                        });
                    }
                    let (onward, back) = settle(&text, splice, &envelopes, steps, batch);
                    let is_line = matches!(text, Cow::Borrowed(said) if said.len() == line.len());
                    (onward.of(&text, is_line), back)
                }
            }
        };
        out.extend(back.map(Outgoing::ToClient));
        out.extend(onward.line(line).map(Outgoing::ToServer));
        out
    }

    /// A line that is no JSON goes to the server, which shall say what it thinks of it. If it is a request to a more tolerant
    /// reader than ours, the answer is shaped by what it looks like.
    fn client_babbles(&self, line: Vec<u8>) -> Vec<Outgoing> {
        if let (Some(id), true) = sniffed(&line) {
            let mut waiting = self.waiting();
            if waiting.has(&id) {
                let message = format!("a request with id {id} is already waiting for its answer");
                let error = answer::error(&id, INVALID_REQUEST, &message, None);
                return vec![Outgoing::ToClient(error.into_bytes())];
            }
            let what = What::Relay { method: "no JSON".into() };
            waiting.add(Asked { id: id.into(), modern: false, what, timer: None }, self.gateway.now());
        }
        vec![Outgoing::ToServer(line)]
    }

    /// Whether a line is a question about what is kept, which then is under way. One that cannot be told from other calls yet is none.
    pub(super) fn is_question(&self, line: &[u8]) -> bool {
        let name = self.known().catalogue.query_tool();
        let (text, _) = text_of(line);
        // Nearly all lines are none, and most of them are known by this.
        if !name.is_some_and(|name| text.contains(&*name)) {
            return false;
        }
        let Ok(Message::One(envelope)) = parse(&text) else { return false };
        let called = || envelope.param(&text, "name").unwrap_or_default();
        let id = envelope.raw_id(&text);
        envelope.role() == Some(Role::Request)
            && row(&envelope.method(&text)) == Row::CallTool
            && self.whose(&called()) == Whose::Ours(Own::Query)
            && !self.waiting().has(id)
            && self.questions.begin(id)
    }

    /// A message over the limit was dropped: whoever waits for its outcome is told.
    pub(super) fn client_said_too_much(&self, id: Option<&str>, has_method: bool) -> Vec<Outgoing> {
        let reason = Fault::client_message_too_large(self.client_limit);
        tracing::warn!(limit = self.client_limit, "dropped a message of the client that is too large");
        let Some(id) = id else { return Vec::new() };
        let text = answer::fault(id, &reason).into_bytes();
        if !has_method {
            self.timeouts.resume(id, self.gateway.now());
        }
        vec![if has_method { Outgoing::ToClient(text) } else { Outgoing::ToServer(text) }]
    }

    fn client_notifies(&self, text: &str, envelope: &Envelope) -> Step {
        if envelope.method(text) != "notifications/cancelled" {
            return Step::Pass;
        }
        let id = envelope.params.and_then(|params| walk::member(text, params, "requestId"));
        if id.is_some_and(|id| self.questions.cancel(id.of(text))) {
            // The server has never heard of it.
            return Step::Stop;
        }
        let forgotten = id.and_then(|id| self.waiting().cancel(id.of(text)));
        match forgotten {
            // The server has never heard of it.
            Some(Asked { what: What::Held { .. }, .. }) => Step::Stop,
            _ => Step::Pass,
        }
    }

    async fn request(
        &self,
        text: &str,
        envelope: &Envelope,
        splice: &mut Splice<'_>,
        out: &mut Vec<Outgoing>,
        question: Option<&Stop>,
    ) -> Step {
        let id = envelope.raw_id(text);
        if self.waiting().has(id) || (question.is_none() && self.questions.has(id)) {
            let message = format!("a request with id {id} is already waiting for its answer");
            return Step::Answer(answer::error(id, INVALID_REQUEST, &message, None));
        }
        if self.waiting().is_full() {
            let message = format!(
                "{MOST} requests of this session wait for the server, which is the most; send more once some are answered"
            );
            return Step::Answer(answer::error(id, BUSY, &message, None));
        }
        let meta = meta(text, envelope);
        let modern = meta.is_some_and(|meta| is_modern(text, meta));
        let method = envelope.method(text);
        let who = self.who(text, envelope, &method, meta);
        let row = row(&method);
        if row == Row::Advertise {
            tracing::info!(client = who.client.map_or("unknown", |client| client.preset), "a client begins");
        }
        let what = match row {
            Row::Relay => What::Relay { method: (&*method).into() },
            Row::Advertise => What::Advertise {
                method: if method == "initialize" { "initialize" } else { "server/discover" },
            },
            Row::ListTools => {
                let mut known = self.known();
                if known.toolless {
                    let tools = known.catalogue.ours_alone();
                    let result = format!("{{\"tools\":{tools}{}}}", completed(modern, true));
                    return Step::Answer(answer::result(id, &result));
                }
                What::ListTools
            }
            Row::CallTool => {
                match Box::pin(self.call(text, envelope, splice, modern, (who, meta), question)).await {
                    Ok(what) => what,
                    Err(Detour::Answer(answer)) => return Step::Answer(answer),
                    Err(Detour::Cancelled) => return Step::Stop,
                    Err(Detour::Unknown) => {
                        out.extend(self.hold(text, envelope, modern));
                        return Step::Stop;
                    }
                }
            }
            Row::ReadResource => {
                let uri = envelope.param(text, "uri").unwrap_or_default();
                if let Some(ours) = uri.strip_prefix(READ_URI) {
                    let cursor = Some(query::cursor(ours));
                    let caller = self.reader(who, cursor.as_deref()).await;
                    let reply = match query::read(ours, &caller.terms.policy) {
                        Ok(request) => self.follow(caller, None, Shape::Resource, request).await,
                        Err(error) => self.gateway.refuse_reader(error.into(), caller, None, cursor).await,
                    };
                    return Step::Answer(answer::read(id, &reply, modern));
                }
                self.content(who, Shape::Resource, endpoint(uri, EndpointKind::Resource))
            }
            Row::Reshape(Shape::Prompt) => {
                let name = envelope.param(text, "name").unwrap_or_default();
                self.content(who, Shape::Prompt, endpoint(name, EndpointKind::Prompt))
            }
            // What a task has brought can be asked for again.
            Row::Reshape(shape) => {
                self.content(who, shape, endpoint("tasks/result".into(), EndpointKind::Tool))
            }
            Row::ReshapeInside => {
                let endpoint = endpoint("tasks/get".into(), EndpointKind::Tool);
                let caller = self.caller(who, Some(&endpoint)).into();
                let (endpoint, request) = (endpoint.into(), Box::default());
                What::Content { shape: Shape::Tool, caller, endpoint, request, reuse: None, inside: true }
            }
        };
        if let (What::Content { .. }, Some(meta)) = (&what, meta) {
            self.continue_trace(who, text, meta, splice);
        }
        let timer = self.timer(text, envelope, &what);
        self.wait_for(Asked { id: id.to_owned(), modern, what, timer });
        Step::Pass
    }

    /// A call of a tool: what to wait for.
    async fn call(
        &self,
        text: &str,
        envelope: &Envelope,
        splice: &mut Splice<'_>,
        modern: bool,
        (who, meta): (Who, Option<Span>),
        question: Option<&Stop>,
    ) -> Result<What, Detour> {
        let name = envelope.param(text, "name").unwrap_or_default();
        let arguments = envelope.params.and_then(|params| walk::member(text, params, "arguments"));
        let arguments = arguments.unwrap_or_default();
        let answer = |reply: &Reply, structured| {
            Detour::Answer(answer::called(envelope.raw_id(text), reply, structured, modern))
        };
        match self.whose(&name) {
            Whose::Theirs => {}
            Whose::Unclear => return Err(Detour::Unknown),
            Whose::Ours(Own::Read) => {
                let (caller, cursor) = self.asking(who, text, arguments).await;
                let reply = match controls::read(text, arguments, &caller.terms.policy) {
                    Ok(request) => self.follow(caller, None, Shape::Tool, request).await,
                    Err(error) => self.gateway.refuse_reader(error.into(), caller, None, cursor).await,
                };
                return Err(answer(&reply, false));
            }
            Whose::Ours(Own::Query) => {
                let id = envelope.raw_id(text);
                let begun = question.is_none() && self.questions.begin(id);
                let own = begun.then(|| self.questions.question(id)).flatten();
                let stop = question.cloned().or_else(|| own.as_ref().map(|own| own.stop.clone()));
                let (caller, cursor) = self.asking(who, text, arguments).await;
                let stop = stop.unwrap_or_default();
                let caller = Caller { stop: stop.clone(), ..caller };
                let reply = match controls::query(text, arguments, &caller.terms.policy) {
                    Ok((request, ask)) => {
                        let intent = Intent::Query { request: request.clone(), ask };
                        self.replied(caller, None, &request, intent).await
                    }
                    Err(fault) => self.gateway.refuse_reader(fault, caller, None, cursor).await,
                };
                return Err(if stop.is_set() { Detour::Cancelled } else { answer(&reply, false) });
            }
            Whose::Ours(Own::Describe) => {
                let (id, caller) = (envelope.raw_id(text), self.caller(who, None));
                return Err(Detour::Answer(self.describe(id, name, caller, text, arguments, modern).await));
            }
        }
        let endpoint = self.endpoint_of(name, text, arguments)?;
        let mut caller = self.caller(who, Some(&endpoint));
        caller.arguments = controls::names(text, arguments);
        let asks_for_whole = meta.is_some_and(|meta| takes_whole(text, meta, splice));
        if caller.treatment.relayed.is_none() && caller.rule.serves_whole(asks_for_whole) {
            let limit = caller.rule.written().unshaped_byte_limit;
            caller.treatment.relayed = Some(Relayed { limit, shadow: false });
        }
        let (split, cursor) = {
            let known = self.known();
            let tool = known.catalogue.tool(&endpoint.name);
            let controls = caller.rule.controls(caller.treatment);
            let ours = |control: &str| {
                tool.is_some_and(|tool| match controls {
                    // What was advertised is ours, whatever has been decided since.
                    Some(false) => tool.advertises(control),
                    Some(true) => !tool.has(control),
                    None => tool.gives_us(control),
                })
            };
            let cursor = walk::string(text, arguments, "cursor").filter(|_| ours("cursor"));
            (controls::split(splice, text, arguments, ours, &caller.terms.policy), cursor)
        };
        let (request, canonical) = match split {
            Ok(split) => split,
            Err(error) if cursor.is_some() => {
                let refused = self.gateway.refuse_reader(error.into(), caller, Some(endpoint), cursor).await;
                return Err(answer(&refused, true));
            }
            Err(error) => {
                let refused = self.gateway.refuse(error.into(), &caller, &Request::default(), &endpoint);
                return Err(answer(&Reply::Fault(refused), true));
            }
        };
        let reuse = self.reuses.then(|| ReuseKey::of(&endpoint, &canonical));
        if request.cursor.is_some() {
            return Err(answer(&self.follow(caller, Some(endpoint), Shape::Tool, request).await, true));
        }
        if !request.is_plain()
            && let Some(reuse) = &reuse
            && let Some(reply) = self.gateway.recall(&caller, &endpoint, reuse, &request).await
        {
            return Err(answer(&reply, true));
        }
        let (caller, endpoint, request) = (Box::new(caller), Box::new(endpoint), Box::new(request));
        Ok(What::Content { shape: Shape::Tool, caller, endpoint, request, reuse, inside: false })
    }

    /// Whoever calls a tool of ours with these arguments, and the cursor among them.
    async fn asking(&self, who: Who, text: &str, arguments: Span) -> (Caller, Option<String>) {
        let cursor = walk::string(text, arguments, "cursor");
        let caller = self.reader(who, cursor.as_deref()).await;
        (Caller { arguments: controls::names(text, arguments), ..caller }, cursor)
    }

    /// Whoever reads on, as was decided when what he reads was captured.
    async fn reader(&self, who: Who, cursor: Option<&str>) -> Caller {
        let caller = self.caller(who, None);
        match cursor {
            Some(cursor) => self.gateway.reader(caller, cursor).await,
            None => caller,
        }
    }

    /// What to wait for where nothing is asked of us.
    fn content(&self, who: Who, shape: Shape, endpoint: Endpoint) -> What {
        let caller = Box::new(self.caller(who, Some(&endpoint)));
        let (endpoint, request) = (Box::new(endpoint), Box::default());
        What::Content { shape, caller, endpoint, request, reuse: None, inside: false }
    }

    fn whose(&self, name: &str) -> Whose {
        let mut known = self.known();
        if known.toolless && !known.catalogue.is_complete() {
            known.catalogue.ours_alone();
        }
        known.catalogue.whose(name)
    }

    /// A tool of the upstream, as far as it is known: it must be, where something may be ours.
    fn endpoint_of(&self, name: String, text: &str, arguments: Span) -> Result<Endpoint, Detour> {
        let known = self.known();
        let tool = known.catalogue.tool(&name);
        if tool.is_none() && !known.catalogue.is_complete() && controls::any(text, arguments) {
            return Err(Detour::Unknown);
        }
        let (read_only, idempotent) = tool.map_or((false, false), |tool| (tool.read_only, tool.idempotent));
        Ok(Endpoint { name, kind: EndpointKind::Tool, read_only, idempotent })
    }

    /// Keeps a call until the tools are known, and asks for them unless that is under way.
    fn hold(&self, text: &str, envelope: &Envelope, modern: bool) -> Option<Outgoing> {
        let what = What::Held { line: envelope.whole.of(text).to_owned() };
        let timer = self.timer(text, envelope, &what);
        self.wait_for(Asked { id: envelope.raw_id(text).to_owned(), modern, what, timer });
        let mut waiting = self.waiting();
        if waiting.is_listing() {
            return None;
        }
        let meta = protocol_meta(text, envelope);
        Some(ask_for_tools(&mut waiting, meta, None, self.gateway.now()))
    }

    /// The reply to a request with a cursor, as a result of that shape.
    async fn follow(
        &self,
        caller: Caller,
        endpoint: Option<Endpoint>,
        shape: Shape,
        request: Request,
    ) -> Reply {
        let caller = Caller { read_uri: shape.read_uri(), ..caller };
        let intent = Intent::Follow { request: request.clone() };
        self.replied(caller, endpoint, &request, intent).await
    }

    /// The reply to what never goes upstream, told with what is known by now of where its cursor came from.
    async fn replied(
        &self,
        caller: Caller,
        endpoint: Option<Endpoint>,
        request: &Request,
        intent: Intent,
    ) -> Reply {
        let terms = Arc::clone(&caller.terms);
        let reply = self.gateway.answer(Call { caller, endpoint, intent }).await;
        match &reply {
            Reply::Fault(Fault { lost: Some(lost), .. }) => {
                let Some(informed) = self.informed(lost) else { return reply };
                Gateway::reworded(Fault::cursor_expired(Some(&informed)), &terms, request)
            }
            _ => reply,
        }
    }

    /// What is known of an endpoint by now, where it was not when it was called.
    fn informed(&self, endpoint: &Endpoint) -> Option<Endpoint> {
        let known = self.known();
        let tool = known.catalogue.tool(&endpoint.name).filter(|_| endpoint.kind == EndpointKind::Tool)?;
        let informed =
            Endpoint { read_only: tool.read_only, idempotent: tool.idempotent, ..endpoint.clone() };
        (informed != *endpoint).then_some(informed)
    }
}

/// An endpoint that only reads, by its kind.
fn endpoint(name: String, kind: EndpointKind) -> Endpoint {
    Endpoint { name, kind, read_only: true, idempotent: true }
}

/// What begins the `_meta` keys that every request of 2026-07-28 carries.
const PROTOCOL_META: &str = "io.modelcontextprotocol/";

fn meta(text: &str, envelope: &Envelope) -> Option<Span> {
    envelope.params.and_then(|params| walk::member(text, params, "_meta"))
}

/// Whether the `_meta` of a call asks for the result whole. That is for us, and taken out.
fn takes_whole(text: &str, meta: Span, splice: &mut Splice<'_>) -> bool {
    let members = walk::members(text, meta);
    let is_ours = |member: &walk::Member| walk::is(member.key.of(text), WHOLE);
    let Some(asked) = members.iter().rfind(|member| is_ours(member)) else { return false };
    let items = members.iter().map(|member| member.whole()).collect();
    splice.edit(&Sequence { whole: meta, items }, |i| !is_ours(&members[i]), &[]);
    asked.value.of(text) == "true"
}

fn is_modern(text: &str, meta: Span) -> bool {
    walk::member(text, meta, "io.modelcontextprotocol/protocolVersion").is_some()
}

/// The members of a request's `_meta` that are the protocol's.
fn protocol_meta(text: &str, envelope: &Envelope) -> String {
    let members = meta(text, envelope).map(|meta| walk::members(text, meta)).unwrap_or_default();
    let protocol =
        |member: &&walk::Member| member.key.of(text).trim_start_matches('"').starts_with(PROTOCOL_META);
    members.iter().filter(protocol).map(|member| member.whole().of(text)).collect::<Vec<_>>().join(",")
}
