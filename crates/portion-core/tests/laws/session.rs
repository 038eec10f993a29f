//! A caller and a snapshot: asks, reads on, and holds every reply against the laws that need no more than the reply.

use portion_core::cursor::{Keyring, Pointer, Position, Scope};
use portion_core::payload::{Binary, Payload};
use portion_core::policy::{LEAST_BYTES, Policy};
use portion_core::render::{self, Body, Context, First, Piece, Portion};
use portion_core::scan::{escaped_len, minify};
use portion_core::snapshot::{Form, Part, PartBody, Snapshot, capture};
use portion_core::tokens::TokenCounter;
use portion_core::view::{Asked, Request, View, ViewError, rank, resolve};
use serde_json::Value;

use super::json::Json;
use super::table;

/// Wire bytes that are neither text nor notice: the JSON-RPC envelope.
const ENVELOPE: usize = 256;
/// Wire bytes around one text block.
const BLOCK: usize = 32;

/// A snapshot, and the limits it is read under.
pub(crate) struct Session {
    pub(crate) snapshot: Snapshot,
    pub(crate) policy: Policy,
    pub(crate) counter: &'static dyn TokenCounter,
    /// Set where replies are to be the contents of a resource.
    pub(crate) read_uri: Option<&'static str>,
}

/// A reply as its caller has it.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) portion: Portion,
    pub(crate) notice: Value,
    /// The view that the cursors in it belong to.
    pub(crate) view: View,
}

impl Session {
    pub(crate) fn new(payload: Payload, policy: Policy, counter: &'static dyn TokenCounter) -> Self {
        Self { snapshot: capture(payload), policy, counter, read_uri: None }
    }

    /// A call with these controls; `None` where the payload passes untouched.
    pub(crate) fn call(&self, request: &Request) -> Result<Option<Reply>, ViewError> {
        let asked = resolve(&self.snapshot, None, request, &self.policy)?;
        let asked = rank(&self.snapshot, asked, &self.policy, self.counter);
        let first = self.render(&asked, render::first);
        let again = self.render(&asked, render::first);
        assert_eq!(format!("{first:?}"), format!("{again:?}"), "not repeatable");
        Ok(match first {
            First::Untouched => None,
            First::Portion(portion) => Some(self.checked(&asked, portion, true)),
        })
    }

    /// A call with a cursor: a place in a view.
    pub(crate) fn read(&self, view: &View, from: Position, request: &Request) -> Result<Reply, ViewError> {
        let asked = resolve(&self.snapshot, Some((view, from)), request, &self.policy)?;
        let portion = self.render(&asked, render::follow);
        assert_eq!(
            format!("{portion:?}"),
            format!("{:?}", self.render(&asked, render::follow)),
            "not repeatable"
        );
        Ok(self.checked(&asked, portion, false))
    }

    /// The first reply and all that follow by `nextCursor`.
    pub(crate) fn walk(&self, request: &Request) -> Result<Option<Vec<Reply>>, ViewError> {
        let Some(reply) = self.call(request)? else { return Ok(None) };
        Ok(Some(self.walk_on(reply)))
    }

    /// A reply and all that follow by `nextCursor`.
    pub(crate) fn walk_on(&self, reply: Reply) -> Vec<Reply> {
        // A reply that gets on by less than an item, a line or some bytes does not end in a lifetime either.
        let steps =
            self.snapshot.parts().iter().map(|part| match part.subject().map(|subject| &subject.form) {
                Some(Form::List(list)) => list.len(),
                _ => part.text().matches('\n').count(),
            });
        let most = 20 + steps.sum::<usize>() + self.snapshot.payload_bytes() / 16;
        let mut replies = vec![reply];
        while let Some((view, next)) = replies.last().and_then(|reply| Some((&reply.view, reply.next()?))) {
            let reply = self.read(view, next, &Request::default()).expect("nothing new is asked");
            replies.push(reply);
            assert!(replies.len() <= most, "no end after {most} replies: {:?}", replies.last());
        }
        replies
    }

    fn render<T>(&self, asked: &Asked, render: impl Fn(&Snapshot, &Asked, &Context<'_>) -> T) -> T {
        let mint = |position| {
            let pointer = Pointer { snapshot: *b"snapshot", view: asked.view.id(), position };
            Some(keyring().sign(&pointer, &Scope::of("caller")))
        };
        let (policy, counter) = (&self.policy, self.counter);
        let cx = Context {
            policy,
            counter,
            mint: &mint,
            read_tool: "portion_read",
            query_tool: None,
            read_uri: self.read_uri,
        };
        render(&self.snapshot, asked, &cx)
    }

    fn checked(&self, asked: &Asked, portion: Portion, fresh: bool) -> Reply {
        let notice: Value = serde_json::from_str(portion.notice()).expect("a notice is JSON");
        let reply = Reply { portion, notice, view: asked.view.clone() };
        self.fits(asked, &reply, fresh);
        self.is_valid(&reply, fresh);
        if reply.next().is_some() {
            let shows = |body: &Body| !matches!(body, Body::Text(text) if text.is_empty());
            let some = reply.portion.pieces().iter().any(|piece| shows(&piece.body));
            assert!(some || reply.portion.structured().is_some(), "goes on, but is empty");
        }
        reply
    }

    fn fits(&self, asked: &Asked, reply: &Reply, fresh: bool) {
        let portion = &reply.portion;
        let twice = fresh && self.snapshot.structured().is_some();
        let share = if twice { self.policy.hard_cap / 2 } else { self.policy.hard_cap };
        let most = asked.tokens.min(share);
        let notice = portion.notice();
        let (mut tokens, mut bytes) =
            (self.counter.count(notice), ENVELOPE + escaped_len(notice) + notice.len());
        for piece in portion.pieces() {
            let part = self.part_of(piece);
            let binary = match &part.body {
                PartBody::Atomic { binary, .. } => binary.as_ref(),
                PartBody::Readable(_) => None,
            };
            let cost = self.counter.count(piece.body.as_str());
            let frame = if fresh { part.label.frame } else { 0 };
            let (cost, size) = match (&piece.body, binary) {
                (Body::Block(_), Some(Binary { media: true, .. })) => (self.policy.media_tokens, 0),
                (Body::Block(base64), Some(_)) => (cost.min(self.policy.media_tokens), base64.len()),
                (Body::Base64(base64), _) => (cost.min(self.policy.media_tokens), base64.len() + BLOCK),
                (Body::Block(json), None) => (cost, json.len()),
                (Body::Text(text), _) => (cost, escaped_len(text) + BLOCK.max(frame)),
            };
            tokens += cost;
            bytes += size;
        }
        assert!(tokens <= most, "{tokens} tokens of {most}: {reply:?}");
        assert!(tokens <= portion.tokens(), "{tokens} tokens, {} told", portion.tokens());
        if let Some(structured) = portion.structured() {
            let tokens = self.counter.count(&minified(structured));
            assert!(tokens <= most, "structured: {tokens} tokens of {most}: {reply:?}");
            bytes += structured.len();
        }
        // A limit that holds hardly anything holds at least that.
        let frame = if fresh { self.snapshot.frame() } else { 0 };
        let limit = self.policy.hard_byte_limit.saturating_sub(frame).max(LEAST_BYTES);
        assert!(bytes <= limit, "{bytes} bytes of {limit}: {reply:?}");
        let meta = &reply.notice["meta"];
        assert!(meta["budgetUsed"].as_f64().is_some_and(|used| used <= 1.0), "{meta}");
        assert!(meta["budgetRemaining"].is_u64(), "{meta}");
    }

    /// The part that a piece is from.
    pub(crate) fn part_of(&self, piece: &Piece) -> &Part {
        let from = |part: &&Part| {
            part.address == piece.address || part.item_blocks && piece.address.starts_with(&part.address)
        };
        self.snapshot.parts().iter().find(from).expect("pieces are of parts")
    }

    /// What was JSON stays JSON, and every value in it is what the upstream wrote, or less of it.
    fn is_valid(&self, reply: &Reply, fresh: bool) {
        for piece in reply.portion.pieces() {
            let Body::Text(text) = &piece.body else { continue };
            let part = self.part_of(piece);
            let Some(subject) = part.subject().filter(|subject| subject.is_json() && !part.item_blocks)
            else {
                continue;
            };
            if minified(text) == minified(&subject.text)
                || reply.about() == piece.address && !matches!(reply.kind(), "page" | "summary")
            {
                continue;
            }
            let view = format!("{:?}", reply.view);
            // Of an item or a path, a part of the whole is shown, which other laws look at.
            if is_narrow(&view) {
                continue;
            }
            let asked_so = view.contains("wanted: Some") || !view.contains("order: None");
            if reply.about() != piece.address {
                let page = matches!(subject.form, Form::List(_)) && !fresh;
                assert!(page || asked_so, "nothing is said of {}: {reply:?}", piece.address);
                continue;
            }
            assert_valid(text);
            let table = table::expanded(text, subject).filter(|_| reply.notice["meta"]["rows"] == "dense");
            let ordered = |json: Json| if table.is_some() { json.sorted() } else { json };
            let text = table.as_ref().unwrap_or(text);
            // Past its end a list of nothing may be all that fits.
            if matches!(text.as_str(), "[]" | "{}") && reply.notice["meta"]["served"] == 0 {
                continue;
            }
            if let (Some(whole), Some(left)) = (Json::parse(&subject.text), Json::parse(text)) {
                let (whole, left) = (ordered(whole), ordered(left));
                assert!(asked_so || left.is_left_of(&whole), "values changed: {text}");
                assert!(asked_so || left == whole || reply.tells_of_more(), "silent: {reply:?}");
            }
        }
        if let Some(structured) = reply.portion.structured() {
            assert_valid(structured);
            assert!(structured.starts_with('{'), "no object: {structured}");
            let object = Json::parse(structured);
            let told =
                object.is_none_or(|object| object.get("meta").or_else(|| object.get("portion")).is_some());
            assert!(told, "no notice in {structured}");
        }
    }
}

fn minified(json: &str) -> String {
    let mut out = String::new();
    minify(json, &mut out);
    out
}

/// Asserts that a text is JSON, or one JSON value a line.
fn assert_valid(text: &str) {
    let valid = |text: &str| serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok();
    assert!(valid(text) || text.lines().all(|line| line.is_empty() || valid(line)), "no JSON: {text}");
}

impl Reply {
    pub(crate) fn kind(&self) -> &str {
        self.portion.kind()
    }

    /// Where it goes on.
    pub(crate) fn next(&self) -> Option<Position> {
        let token = self.notice.get("nextCursor")?.as_str()?;
        Some(place_of(token))
    }

    /// The place where it began.
    pub(crate) fn start(&self) -> Position {
        place_of(self.notice["meta"]["cursor"].as_str().expect("every reply has a handle"))
    }

    /// The text of its only piece.
    pub(crate) fn text(&self) -> &str {
        match self.portion.pieces() {
            [piece] => piece.body.as_str(),
            [] => "",
            pieces => panic!("{} pieces", pieces.len()),
        }
    }

    /// Whether it says that there is more than it shows.
    pub(crate) fn tells_of_more(&self) -> bool {
        let meta = &self.notice["meta"];
        let says = |key: &str| {
            meta.get(key).is_some_and(|said| !matches!(said, Value::Array(all) if all.is_empty()))
        };
        let past_end = says("offset") && meta["offset"] != 0;
        self.next().is_some()
            || past_end
            || ["condensed", "elided", "omitted", "partsNotShown", "detailsAvailable", "store_unavailable"]
                .into_iter()
                .any(says)
    }

    fn about(&self) -> &str {
        let part = self.notice["meta"].get("part").and_then(Value::as_str);
        part.or_else(|| self.portion.pieces().first().map(|piece| piece.address.as_str())).unwrap_or_default()
    }
}

/// Whether a view is of a value inside a part.
fn is_narrow(view: &str) -> bool {
    let node =
        view.split_once("target: Node(Node { part: ").and_then(|(_, node)| node.split_once("pointer: "));
    node.is_some_and(|(_, pointer)| !pointer.starts_with("\"\""))
}

fn keyring() -> Keyring {
    Keyring::new(&[7; 32])
}

fn place_of(token: &str) -> Position {
    keyring().verify(token, &Scope::of("caller")).expect("its own cursors are known").position
}
