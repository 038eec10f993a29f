//! A caller of a snapshot: calls, reads follow-ups, and checks every reply for the properties that need only
//! the reply.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use portion_core::cursor::{CursorTarget, Keyring, Position, Scope, ViewId};
use portion_core::payload::{BinaryInfo, Payload};
use portion_core::policy::{MIN_BYTE_LIMIT, MetadataMode, Policy, Techniques};
use portion_core::ranking::rank;
use portion_core::render::{self, Context, FirstReply, Piece, PieceBody, Portion};
use portion_core::snapshot::{Part, PartBody, Snapshot, Structure, capture};
use portion_core::view::{Request, ResolvedRequest, View, ViewError, resolve};
use portion_json::scan::{escaped_len, minify};
use portion_tokens::TokenCounter;
use serde_json::Value;

use super::json::Json;
use super::render_options;
use super::table;

/// Wire bytes of the JSON-RPC envelope, beside texts and notices.
const ENVELOPE: usize = 256;
/// Wire bytes around one text block.
const BLOCK: usize = 32;

/// A snapshot with the limits that it is read under.
pub(crate) struct Session {
    pub(crate) snapshot: Snapshot,
    pub(crate) policy: Policy,
    pub(crate) counter: &'static dyn TokenCounter,
    /// Set if replies are the contents of a resource.
    pub(crate) read_uri: Option<&'static str>,
    /// Cached facts about views, which are slow to compute for large views.
    views: RefCell<HashMap<ViewId, Told>>,
    /// Cached contents of parts by address, needed for every reply.
    wholes: RefCell<HashMap<String, Rc<Whole>>>,
    /// Number of follow-up replies read.
    reads: Cell<usize>,
}

/// A part that is JSON.
struct Whole {
    minified: String,
    json: Option<Json>,
}

/// Returns the JSON shown inside its enclosing string, after checking that the text around it is unchanged.
fn out_of_string(part: &Part, text: &str) -> Option<String> {
    let held = part.enclosing_string()?.span;
    let (before, after) = (&part.text()[..held.start as usize], &part.text()[held.end as usize..]);
    let string = text.strip_prefix(before)?.strip_suffix(after)?;
    serde_json::from_str(string).ok()
}

/// Number of replies of a session that are rendered twice, by which time caches of a snapshot are filled.
const AGAIN: usize = 40;

/// Facts about a view that properties depend on.
#[derive(Clone, Copy)]
struct Told {
    /// True if it is of a value inside a part.
    narrow: bool,
    /// True if fields or an order were requested.
    asked_so: bool,
    /// True if only some of the fields were asked for.
    subset: bool,
}

/// A reply as its caller sees it.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) portion: Portion,
    /// Pieces, without an envelope.
    pub(crate) pieces: Vec<Piece>,
    /// True if the portion has an envelope.
    pub(crate) enveloped: bool,
    /// Notice, with its keys in camel case.
    pub(crate) notice: Value,
    /// View of the cursors in it.
    pub(crate) view: View,
}

impl Session {
    pub(crate) fn new(mut payload: Payload, policy: Policy, counter: &'static dyn TokenCounter) -> Self {
        payload.list_path.clone_from(&policy.render_options.list_path);
        Self {
            snapshot: capture(payload),
            policy,
            counter,
            read_uri: None,
            views: RefCell::default(),
            wholes: RefCell::default(),
            reads: Cell::new(0),
        }
    }

    /// Makes a call with these controls. Returns `None` if the payload passes untouched.
    pub(crate) fn call(&self, request: &Request) -> Result<Option<Reply>, ViewError> {
        let resolved = resolve(&self.snapshot, None, request, &self.policy)?;
        let resolved = rank(&self.snapshot, resolved, &self.policy, self.counter);
        let first = self.render(&resolved, render::first_reply);
        let again = self.render(&resolved, render::first_reply);
        let same = match (&first, &again) {
            (FirstReply::Untouched { .. }, FirstReply::Untouched { .. }) => true,
            (FirstReply::Portion(first), FirstReply::Portion(again)) => is_same(first, again),
            _ => false,
        };
        assert!(same, "not repeatable: {first:?}, then {again:?}");
        Ok(match first {
            FirstReply::Untouched { .. } => {
                assert!(self.policy.render_options.metadata != MetadataMode::Always, "nothing is told");
                None
            }
            FirstReply::Portion(portion) => Some(self.checked(&resolved, portion, Some(request))),
        })
    }

    /// Returns true if shaping of a part is off.
    pub(crate) fn is_left(&self, at: usize) -> bool {
        let parts = self.snapshot.parts();
        let of = parts[at].duplicate.map_or(at, |twin| twin.part);
        let Techniques { pagination, summarization, chunking, .. } = self.policy.render_options.techniques;
        parts[of].indexed_text().is_some_and(|subject| match subject.structure {
            Structure::List(_) => !pagination,
            Structure::Object(_) => !summarization,
            Structure::Text(_) => !chunking,
        })
    }

    /// Makes a call with a cursor: a position in a view.
    pub(crate) fn read(&self, view: &View, from: Position, request: &Request) -> Result<Reply, ViewError> {
        let resolved = resolve(&self.snapshot, Some((view, from)), request, &self.policy)?;
        let resolved = rank(&self.snapshot, resolved, &self.policy, self.counter);
        let portion = self.render(&resolved, render::follow_up_reply);
        self.reads.set(self.reads.get() + 1);
        if self.reads.get() <= AGAIN {
            let again = self.render(&resolved, render::follow_up_reply);
            assert!(is_same(&portion, &again), "not repeatable: {portion:?}, then {again:?}");
        }
        Ok(self.checked(&resolved, portion, None))
    }

    /// Makes the same call again, answered from the stored snapshot.
    pub(crate) fn recall(&self, root: &View, request: &Request) -> Result<Reply, ViewError> {
        let base = Some((root, Position::default()));
        let resolved = resolve(&self.snapshot, base, request, &self.policy)?;
        let resolved = rank(&self.snapshot, resolved, &self.policy, self.counter);
        match self.render(&resolved, render::first_reply) {
            FirstReply::Portion(portion) => Ok(self.checked(&resolved, portion, Some(request))),
            FirstReply::Untouched { .. } => panic!("a page passes untouched"),
        }
    }

    /// Returns the first reply and all follow-ups by `nextCursor`.
    pub(crate) fn walk(&self, request: &Request) -> Result<Option<Vec<Reply>>, ViewError> {
        let Some(reply) = self.call(request)? else { return Ok(None) };
        Ok(Some(self.walk_on(reply)))
    }

    /// Returns a reply and all follow-ups by `nextCursor`.
    pub(crate) fn walk_on(&self, reply: Reply) -> Vec<Reply> {
        self.walk_for(reply, usize::MAX)
    }

    /// Returns a reply and up to `far` follow-ups.
    pub(crate) fn walk_for(&self, reply: Reply, far: usize) -> Vec<Reply> {
        // Each reply must advance by a part, an item, a line or a byte, otherwise the walk would not end. At the minimum
        // budget, a notice with two cursors and many parts leaves space for little more.
        let steps = self.snapshot.parts().iter().map(|part| {
            match part.indexed_text().map(|subject| &subject.structure) {
                Some(Structure::List(list)) => 1 + list.len(),
                _ => 1 + part.text().matches('\n').count(),
            }
        });
        let max = 20 + steps.sum::<usize>() + self.snapshot.payload_bytes();
        let mut replies = vec![reply];
        while replies.len() <= far
            && let Some((view, next)) = replies.last().and_then(|reply| Some((&reply.view, reply.next()?)))
        {
            let reply = self.read(view, next, &Request::default()).expect("nothing new is asked");
            replies.push(reply);
            assert!(replies.len() <= max, "no end after {max} replies: {:?}", replies.last());
        }
        replies
    }

    /// Makes a call with a cursor, without checks of the reply.
    pub(crate) fn follow_up(
        &self,
        view: &View,
        from: Position,
        request: &Request,
    ) -> Result<Portion, ViewError> {
        let resolved = resolve(&self.snapshot, Some((view, from)), request, &self.policy)?;
        let resolved = rank(&self.snapshot, resolved, &self.policy, self.counter);
        Ok(self.render(&resolved, render::follow_up_reply))
    }

    fn render<T>(
        &self,
        resolved: &ResolvedRequest,
        render: impl Fn(&Snapshot, &ResolvedRequest, &Context<'_>) -> T,
    ) -> T {
        let mint = |position| {
            let pointer = CursorTarget { snapshot: *b"a shot", view: resolved.view.id(), position };
            Some(keyring().sign(&pointer, &Scope::from_principal("caller")))
        };
        let (policy, counter) = (&self.policy, self.counter);
        let cx = Context {
            policy,
            counter,
            issue_cursor: &mint,
            read_call: "portion_read".into(),
            query_tool: None,
            read_uri: self.read_uri,
        };
        render(&self.snapshot, resolved, &cx)
    }

    /// Checks a reply. `fresh` is the request, for a first reply.
    fn checked(&self, resolved: &ResolvedRequest, portion: Portion, fresh: Option<&Request>) -> Reply {
        let notice = render_options::camel(portion.notice(), self.policy.render_options.metadata_style);
        let (pieces, enveloped) = render_options::opened(self, &portion, &notice, &resolved.view);
        let view = render::view_with_pagination(resolved.view.clone(), &portion);
        let reply = Reply { portion, pieces, enveloped, notice, view };
        self.fits(resolved, &reply, fresh);
        self.is_valid(&reply, fresh.is_some());
        if reply.next().is_some() {
            let shows = |body: &PieceBody| !matches!(body, PieceBody::Text(text) if text.is_empty());
            let some = reply.pieces.iter().any(|piece| shows(&piece.body));
            // The wrappers of empty parts may fill a reply.
            let is_empty = !some && reply.pieces.len() < 2 && reply.portion.structured().is_none();
            assert!(!is_empty, "goes on, but is empty: {}", reply.notice);
        }
        reply
    }

    fn fits(&self, resolved: &ResolvedRequest, reply: &Reply, request: Option<&Request>) {
        let plain = request.is_some_and(|request| *request == Request::default());
        self.costs_no_more(resolved, &reply.portion, (request.is_some(), plain));
        let meta = &reply.notice["meta"];
        assert!(meta["budgetUsed"].as_f64().is_some_and(|used| used <= 1.0), "{meta}");
        assert!(meta["budgetRemaining"].is_u64(), "{meta}");
    }

    /// Asserts that the real cost of a portion is within its limits and within the cost that it reports.
    /// `fresh`: it is a first reply; `plain`: the request has no controls.
    pub(crate) fn costs_no_more(
        &self,
        resolved: &ResolvedRequest,
        portion: &Portion,
        (fresh, plain): (bool, bool),
    ) {
        // Exempt parts are not charged, and a small payload may cost up to the threshold.
        let is_free = |at: usize| plain && self.is_left(at);
        let always = plain && self.policy.render_options.metadata == MetadataMode::Always;
        let threshold = self.policy.token_budget_threshold;
        // A small payload may cost up to the threshold, and media as much as they need.
        let max = if always { threshold.max(resolved.token_budget) } else { resolved.token_budget };
        let twice = fresh && self.snapshot.structured_part().is_some();
        let share = if twice { self.policy.hard_cap / 2 } else { self.policy.hard_cap };
        let max = max.min(share);
        let notice = portion.notice();
        let (mut tokens, mut bytes) = (0, ENVELOPE + notice.len());
        if let Some(notice) = portion.separate_notice() {
            tokens += self.counter.count(notice);
            bytes += escaped_len(notice);
        }
        for piece in portion.pieces() {
            let part = self.part_of(piece);
            if self.snapshot.parts().iter().position(|own| own.address == part.address).is_some_and(is_free) {
                continue;
            }
            let binary = match &part.body {
                PartBody::Atomic { binary, .. } => binary.as_ref(),
                PartBody::Indexed(_) => None,
            };
            let cost = self.counter.count(piece.body.as_str());
            let frame = if fresh { part.label.frame_bytes } else { 0 };
            let (cost, size) = match (&piece.body, binary) {
                (PieceBody::Block(_), Some(BinaryInfo { is_media: true, .. })) => {
                    (self.policy.media_tokens, 0)
                }
                (PieceBody::Block(base64), Some(_)) => (cost.min(self.policy.media_tokens), base64.len()),
                (PieceBody::Base64(base64), _) => (cost.min(self.policy.media_tokens), base64.len() + BLOCK),
                (PieceBody::Block(json), None) => (cost, json.len()),
                (PieceBody::Text(text), _) => (cost, escaped_len(text) + BLOCK.max(frame)),
            };
            tokens += cost;
            bytes += size;
        }
        assert!(tokens <= max, "{tokens} tokens of {max}: {portion:?}");
        assert!(tokens <= portion.tokens(), "{tokens} tokens, {} told", portion.tokens());
        let free = self.snapshot.structured_part().is_some_and(is_free);
        if let Some(structured) = portion.structured().filter(|_| !free) {
            let tokens = self.counter.count(&minified(structured));
            assert!(tokens <= max, "structured: {tokens} tokens of {max}: {portion:?}");
            bytes += structured.len();
        }
        // The limit has a minimum.
        let frame = if fresh { self.snapshot.frame() } else { 0 };
        let limit = self.policy.hard_byte_limit.saturating_sub(frame).max(MIN_BYTE_LIMIT);
        assert!(bytes <= limit, "{bytes} bytes of {limit}: {portion:?}");
    }

    fn whole_of(&self, address: &str, text: &str) -> Rc<Whole> {
        let mut wholes = self.wholes.borrow_mut();
        let whole = || Rc::new(Whole { minified: minified(text), json: Json::parse(text) });
        wholes.entry(address.to_owned()).or_insert_with(whole).clone()
    }

    fn told_of(&self, view: &View) -> Told {
        *self.views.borrow_mut().entry(view.id()).or_insert_with(|| {
            let debug = format!("{view:?}");
            Told {
                narrow: is_narrow(&debug) || debug.contains("is_section: true"),
                asked_so: debug.contains("field_selection: Only") || !debug.contains("order: None"),
                // A custom section is a subset of the fields.
                subset: debug.contains("field_subset: Some"),
            }
        })
    }

    /// Returns the part of a piece.
    pub(crate) fn part_of(&self, piece: &Piece) -> &Part {
        let from = |part: &&Part| {
            part.address == piece.address || part.item_blocks && piece.address.starts_with(&part.address)
        };
        self.snapshot.parts().iter().find(from).expect("pieces are of parts")
    }

    /// Checks that JSON stays JSON, and that every value in it is the upstream's, or a reduced form of it.
    fn is_valid(&self, reply: &Reply, fresh: bool) {
        for piece in &reply.pieces {
            let PieceBody::Text(text) = &piece.body else { continue };
            let part = self.part_of(piece);
            let Some(subject) = part.indexed_text().filter(|subject| subject.is_json() && !part.item_blocks)
            else {
                continue;
            };
            let whole = self.whole_of(&part.address, &subject.text);
            let held = out_of_string(part, text);
            let text = held.as_ref().unwrap_or(text);
            if text == part.text()
                || minified(text) == whole.minified
                || reply.about() == piece.address && !matches!(reply.kind(), "page" | "summary")
            {
                continue;
            }
            // For an item or a path, a part of the whole is shown, which is checked elsewhere.
            let Told { narrow, asked_so, subset } = self.told_of(&reply.view);
            if narrow {
                continue;
            }
            if reply.about() != piece.address {
                let page = matches!(subject.structure, Structure::List(_)) && !fresh;
                assert!(page || asked_so, "nothing is said of {}: {reply:?}", piece.address);
                continue;
            }
            assert_valid(text);
            let table = table::expanded(text, subject).filter(|_| reply.notice["meta"]["rows"] == "dense");
            let text = table.as_ref().unwrap_or(text);
            // Past the end of a list, an empty list may be all that fits.
            let meta = &reply.notice["meta"];
            if meta["served"] == 0 && (meta["pastEnd"] == true || matches!(text.as_str(), "[]" | "{}")) {
                continue;
            }
            if let (Some(whole), Some(mut left)) = (&whole.json, Json::parse(text)) {
                let mut whole = Cow::Borrowed(whole);
                if table.is_some() || reply.enveloped {
                    (whole, left) = (Cow::Owned(whole.into_owned().sorted()), left.sorted());
                }
                let whole = whole.as_ref();
                assert!(asked_so || left.is_left_of(whole), "values changed: {text} of {reply:?}");
                assert!(asked_so || subset || left == *whole || reply.tells_of_more(), "silent: {reply:?}");
            }
        }
        if let Some(structured) = reply.portion.structured() {
            assert_valid(structured);
            assert!(structured.starts_with('{'), "no object: {structured}");
            let object = Json::parse(structured);
            let has_notice = object.is_none_or(|object| {
                ["meta", "portion", "metadata"].iter().any(|key| object.get(key).is_some())
            });
            assert!(has_notice, "no notice in {structured}");
        }
    }
}

pub(crate) fn is_same(one: &Portion, other: &Portion) -> bool {
    let parts = |portion: &Portion| (portion.tokens(), portion.kind(), portion.stages().to_vec());
    one.pieces() == other.pieces()
        && one.structured() == other.structured()
        && one.notice() == other.notice()
        && parts(one) == parts(other)
}

fn minified(json: &str) -> String {
    let mut out = String::new();
    minify(json, &mut out);
    out
}

/// Asserts that a text is JSON, or one JSON value per line.
fn assert_valid(text: &str) {
    let valid = |text: &str| serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok();
    assert!(valid(text) || text.lines().all(|line| line.is_empty() || valid(line)), "no JSON: {text}");
}

impl Reply {
    pub(crate) fn kind(&self) -> &str {
        self.portion.kind().name()
    }

    /// Returns the position of the next page.
    pub(crate) fn next(&self) -> Option<Position> {
        let token = self.notice.get("nextCursor")?.as_str()?;
        Some(place_of(token))
    }

    /// Returns the position where it began.
    pub(crate) fn start(&self) -> Position {
        place_of(self.notice["meta"]["cursor"].as_str().expect("every reply has a handle"))
    }

    /// Returns the text of its only piece.
    pub(crate) fn text(&self) -> &str {
        match &self.pieces[..] {
            [piece] => piece.body.as_str(),
            [] => "",
            pieces => panic!("{} pieces", pieces.len()),
        }
    }

    /// Returns true if the notice reports missing content.
    pub(crate) fn tells_of_more(&self) -> bool {
        let meta = &self.notice["meta"];
        let says = |key: &str| {
            meta.get(key).is_some_and(|value| !matches!(value, Value::Array(all) if all.is_empty()))
        };
        let past_end = says("offset") && meta["offset"] != 0;
        self.next().is_some()
            || past_end
            || ["condensed", "elided", "omitted", "partsNotShown", "detailsAvailable", "store_unavailable"]
                .into_iter()
                .chain(["stripped", "nulls"])
                .any(says)
    }

    fn about(&self) -> &str {
        let part = self.notice["meta"].get("part").and_then(Value::as_str);
        part.or_else(|| self.pieces.first().map(|piece| piece.address.as_str())).unwrap_or_default()
    }
}

/// Returns true if a view is of a value inside a part.
fn is_narrow(view: &str) -> bool {
    let node = view
        .split_once("target: Value(TargetValue { part: ")
        .and_then(|(_, node)| node.split_once("pointer: "));
    node.is_some_and(|(_, pointer)| !pointer.starts_with("\"\""))
}

fn keyring() -> Keyring {
    Keyring::new(&[7; 32])
}

fn place_of(token: &str) -> Position {
    keyring().verify(token, &Scope::from_principal("caller")).expect("its own cursors are known").position
}
