//! Renders portions. Only this module builds a [`Portion`].
//!
//! A reply is a pure function of a snapshot, a view, a position and a budget. It is rendered into a budget
//! that leaves space for the notice, then counted as it will be sent. If it exceeds its limits, it is
//! rendered again with a smaller budget and a shorter notice.
//!
//! ```
//! use portion_core::payload::{Block, Content, Payload};
//! use portion_core::policy::Policy;
//! use portion_core::render::{Context, FirstReply, first_reply};
//! use portion_core::snapshot::capture;
//! use portion_tokens::Tokenizer;
//! use portion_core::view::ResolvedRequest;
//!
//! let text = Content::Text("A short text.".to_owned());
//! let snapshot = capture(Payload { blocks: vec![Block::new("/content/0/text", text)], ..Payload::default() });
//! let policy = Policy::default();
//! let cx = Context {
//!     policy: &policy,
//!     counter: Tokenizer::Chars4.counter(),
//!     mint_cursor: &|_| None,
//!     read_call: "portion_read".into(),
//!     query_tool: None,
//!     read_uri: None,
//! };
//! // A small payload passes as received.
//! let reply = first_reply(&snapshot, &ResolvedRequest::for_plain_call(&policy), &cx);
//! assert!(matches!(reply, FirstReply::Untouched { .. }));
//! ```

mod block;
mod budget;
mod chunk;
mod cost_estimate;
mod dense;
mod description;
mod embedded_json;
mod envelope;
mod exempt;
mod fitting;
mod follow_up_call;
mod inline_parts;
mod list_wrapper;
mod model_notice;
mod notice;
mod notice_text;
mod numbered_pages;
mod page;
mod pass_through;
mod piece_cost;
mod pieces;
mod portion;
mod rank;
mod raw;
mod rendering;
mod structured;
mod structured_records;
mod summary;
mod table;
mod upstream_paging;
mod walk;

pub use exempt::is_exempt;
pub use follow_up_call::FollowUpCall;
pub use portion::{Piece, PieceBody, Portion};
pub use rank::rank;

use portion_tokens::TokenCounter;

use crate::cursor::{CursorToken, Position};
use crate::noise::NoiseFields;
use crate::policy::{MIN_BYTE_LIMIT, MetadataMode, Policy};
use crate::snapshot::{ListItem, OrderedList, Snapshot};
use crate::stage::RowFormat;
use crate::view::{ResolvedRequest, View};
use budget::RemainingBudget;
use cost_estimate::CostEstimate;
use description::Description;
use fitting::Attempts;
use notice::{Detail, Notice};
use numbered_pages::UnshownRange;
use rendering::Rendering;
use walk::PartWalk;

/// Inputs that all replies are rendered with.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The limits.
    pub policy: &'a Policy,
    /// Counts the tokens.
    pub counter: &'a dyn TokenCounter,
    /// Makes a cursor to a position in the view, or returns `None` if the snapshot could not be stored.
    pub mint_cursor: &'a dyn Fn(Position) -> Option<CursorToken>,
    /// Request for further pages.
    pub read_call: FollowUpCall<'a>,
    /// Name of the tool that answers queries, if there is one.
    pub query_tool: Option<&'a str>,
    /// Set if the reply is the contents of a resource, where base64 is marked as such: prefix of the URIs for
    /// further pages, completed by a cursor.
    pub read_uri: Option<&'a str>,
}

/// First reply to a call.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "one is made for each call, and taken apart at once")]
pub enum FirstReply {
    /// The payload is small and the request is plain: pass it on as received.
    Untouched {
        /// Tokens of the more expensive form; `None` if exempt parts were not counted.
        tokens: Option<usize>,
    },
    /// Show this portion instead.
    Portion(Portion),
}

/// Renders the first reply to a call: the payload as received if it is small and the request is plain,
/// otherwise a portion in every form that the payload has.
pub fn first_reply(snapshot: &Snapshot, asked: &ResolvedRequest, cx: &Context<'_>) -> FirstReply {
    let always = cx.policy.render_options.metadata == MetadataMode::Always
        || cx.policy.render_options.is_compact && pass_through::has_white_space(snapshot);
    if (always || pass_through::needs_no_notice(snapshot))
        && let Some(pass_through::PassThroughCost { tokens }) =
            pass_through::pass_through_cost(snapshot, asked, cx)
    {
        if !always {
            return FirstReply::Untouched { tokens };
        }
        if let Some(portion) = render_whole(snapshot, asked, cx) {
            return FirstReply::Portion(portion);
        }
    }
    FirstReply::Portion(render_reply(snapshot, asked, cx, true))
}

/// Renders the reply to a request with a cursor, or to a query. It has text only.
pub fn follow_up_reply(snapshot: &Snapshot, asked: &ResolvedRequest, cx: &Context<'_>) -> Portion {
    render_reply(snapshot, asked, cx, false)
}

/// Returns the view with the pagination that its reply fixed. The store keeps it, so that numbered pages
/// continue where the first reply ended.
#[must_use]
pub fn view_with_pagination(view: View, portion: &Portion) -> View {
    view.with_pagination(portion.pagination.clone())
}

/// Wire bytes of a reply beside its texts and notices.
const ENVELOPE_BYTES: usize = 512;
/// Wire bytes per notice byte: the notice is sent once as an escaped text and once in `_meta`.
const NOTICE_COPIES: usize = 3;

/// Levels of notice detail, in the order in which they are tried, and the attempts at each.
const ATTEMPTS: [(Detail, usize); 3] = [(Detail::Full, 4), (Detail::Essential, 3), (Detail::Minimal, 16)];

/// Size of the fixed part of a notice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NoticeSize {
    /// Cursors and totals, without lists of names.
    Short,
    /// All facts, without lists of names.
    Plain,
    /// All facts and lists of names.
    WithNames,
}

impl NoticeSize {
    fn for_reply(asked: &ResolvedRequest, cx: &Context<'_>, fresh: bool) -> Self {
        if !fresh && !model_notice::is_full_in_text(cx.policy, cx.read_call) {
            Self::Short
        } else if asked.view.top_count().is_some() {
            Self::Plain
        } else {
            Self::WithNames
        }
    }
}

/// Limits of each form of a reply.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ReplyLimits {
    tokens: usize,
    bytes: usize,
}

impl ReplyLimits {
    fn for_reply(snapshot: &Snapshot, asked: &ResolvedRequest, policy: &Policy, fresh: bool) -> Self {
        let frame = if fresh { snapshot.frame() } else { 0 };
        let bytes = policy.hard_byte_limit.saturating_sub(frame).max(MIN_BYTE_LIMIT) - ENVELOPE_BYTES;
        if fresh && snapshot.structured_part().is_some() {
            return Self { tokens: asked.token_budget.min(policy.hard_cap / 2), bytes: bytes / 2 };
        }
        Self { tokens: asked.token_budget.min(policy.hard_cap), bytes }
    }

    /// Estimates the budget that a notice leaves. A notice takes a fixed part, the description, and lists of
    /// `names` that grow with the budget.
    fn budget_without_notice<'c>(
        self,
        detail: Detail,
        size: NoticeSize,
        telling: Option<&Description>,
        counter: &'c dyn TokenCounter,
        media: usize,
    ) -> RemainingBudget<'c> {
        let names = size == NoticeSize::WithNames;
        let fixed = if size == NoticeSize::Short { 80 } else { 190 };
        let told = telling.map_or((0, 0), |telling| (telling.tokens, NOTICE_COPIES * telling.bytes));
        let share = |of: usize| if names { self.tokens.saturating_sub(media) / of } else { 0 };
        let (tokens, bytes) = match detail {
            Detail::Full => (fixed + share(10) + told.0, (self.bytes / 6).min(6_000) + told.1),
            Detail::Essential => (fixed + share(20), (self.bytes / 6).min(6_000)),
            Detail::Minimal => (fixed.min(150), (self.bytes / 6).min(1_000)),
        };
        let (tokens, bytes) = (self.tokens.saturating_sub(tokens), self.bytes.saturating_sub(bytes));
        RemainingBudget { counter, tokens: tokens.max(1), bytes: bytes.max(1) }
    }
}

/// Returns the tokens that the first reply has for the items of a list, and what each of the first `count`
/// items costs there, minified.
pub(crate) fn item_costs(
    snapshot: &Snapshot,
    asked: &ResolvedRequest,
    rows: OrderedList<'_>,
    count: usize,
    policy: &Policy,
    counter: &dyn TokenCounter,
) -> (usize, Vec<usize>) {
    let room = ReplyLimits::for_reply(snapshot, asked, policy, true).budget_without_notice(
        Detail::Full,
        NoticeSize::Plain,
        None,
        counter,
        0,
    );
    let mut left = room;
    let strip = &policy.render_options.strip_rule;
    let noise = NoiseFields::in_list(strip, rows.text, rows.list);
    let shell = list_wrapper::render(rows, &RowFormat::default(), Some(strip), &room);
    let room = if left.spend(&shell.before) && left.spend(&shell.after) { left } else { room };
    let mut text = String::new();
    let cost = |item: ListItem| {
        text.clear();
        text.push(',');
        if let Some(key) = item.key {
            text.push_str(key.slice(rows.text));
            text.push(':');
        }
        // Minifying cannot shorten an item that far.
        if noise.is_empty() && item.value.len() / 4 > room.bytes {
            return usize::MAX;
        }
        noise.write_without(item.value.slice(rows.text), &mut text);
        counter.count_within(&text, room.tokens).unwrap_or(usize::MAX)
    };
    (room.tokens, rows.iter_from(0).take(count).map(cost).collect())
}

/// Renders the reply to a request.
fn render_reply(snapshot: &Snapshot, asked: &ResolvedRequest, cx: &Context<'_>, fresh: bool) -> Portion {
    let (asked, not_shown) = numbered_pages::resolve_page_size(snapshot, asked, cx, fresh);
    render_within_limits(snapshot, &asked, cx, fresh, not_shown.as_ref())
}

/// Renders the reply to a request whose page size is resolved.
fn render_settled(snapshot: &Snapshot, asked: &ResolvedRequest, cx: &Context<'_>, fresh: bool) -> Portion {
    render_within_limits(snapshot, asked, cx, fresh, None)
}

fn render_within_limits(
    snapshot: &Snapshot,
    asked: &ResolvedRequest,
    cx: &Context<'_>,
    fresh: bool,
    not_shown: Option<&UnshownRange>,
) -> Portion {
    let limits = ReplyLimits::for_reply(snapshot, asked, cx.policy, fresh);
    // Descriptions do not cover media, so they are sized by the rest.
    let media = asked.media_tokens;
    let telling = cx.policy.description_tokens(limits.tokens.saturating_sub(media));
    let telling = Description::for_request(snapshot, asked, cx, telling, fresh);
    let telling = telling.as_ref();
    let walk = PartWalk::new(snapshot, asked, cx, fresh, telling).with_unshown(not_shown);
    let mut all = Attempts::new(&walk, limits);
    let size = NoticeSize::for_reply(asked, cx, fresh);
    for (detail, attempts) in ATTEMPTS {
        let room = limits.budget_without_notice(detail, size, telling, cx.counter, media);
        // If little budget remains for the content, the notice gets shorter.
        let told = telling.filter(|_| detail == Detail::Full).map_or(0, |telling| telling.tokens);
        let least = match detail {
            Detail::Full | Detail::Essential => {
                ReplyLimits { tokens: limits.tokens.saturating_sub(2 * told) / 3, bytes: limits.bytes / 3 }
            }
            Detail::Minimal => ReplyLimits { tokens: 0, bytes: 0 },
        };
        if let Some(portion) = all.largest(detail, room, least, attempts) {
            return portion;
        }
    }
    // The smallest budgets hold the shortest notice only if its cursors are charged what they really cost.
    let walk = PartWalk { charges_cursors: false, ..walk };
    let mut all = Attempts::new(&walk, limits);
    let room = limits.budget_without_notice(Detail::Minimal, size, telling, cx.counter, media);
    let none = ReplyLimits { tokens: 0, bytes: 0 };
    all.largest(Detail::Minimal, room, none, 16).unwrap_or_else(|| all.cheapest())
}

/// Renders the whole payload as received, with a notice, or returns `None` if that exceeds the limits.
fn render_whole(snapshot: &Snapshot, asked: &ResolvedRequest, cx: &Context<'_>) -> Option<Portion> {
    let limits = ReplyLimits {
        tokens: pass_through::max_pass_through_tokens(snapshot, cx.policy),
        ..ReplyLimits::for_reply(snapshot, asked, cx.policy, true)
    };
    let walk = PartWalk::for_whole(snapshot, asked, cx);
    let room = RemainingBudget { counter: cx.counter, tokens: limits.tokens, bytes: limits.bytes };
    let mut drafts = ATTEMPTS.iter().map(|(detail, _)| Candidate::render(&walk, room, limits, *detail));
    drafts.find(|draft| draft.fits(limits)).map(|draft| draft.portion)
}

/// A rendered reply with its measurements.
struct Candidate {
    portion: Portion,
    /// Charged tokens of the more expensive form.
    charged_tokens: usize,
    /// Charged wire bytes of the text form and the structured form together.
    charged_bytes: usize,
    /// Charged tokens of the notice.
    notice_tokens: usize,
    /// Wire bytes of the larger form, without the notice.
    larger_form_bytes: usize,
}

impl Candidate {
    fn render(walk: &PartWalk<'_>, room: RemainingBudget<'_>, limits: ReplyLimits, detail: Detail) -> Self {
        let style = walk.cx.policy.render_options.metadata_style;
        let mut text = walk.render_text(room);
        let mut structured = if walk.is_first_reply { walk.render_structured(room, &text) } else { None };
        if let Some(structured::StructuredForm::OwnPart(own, _)) = &mut structured {
            // Each form reports the parts that neither shows.
            own.missing_parts.extend(text.missing_parts.iter().cloned());
        }
        if let Some(form) = &mut structured {
            form.align_page_size(&text);
        }
        // After the last part of the text, the walk continues in the part that only `structuredContent`
        // shows.
        let own = structured.as_ref().and_then(structured::StructuredForm::separate_content);
        let of_its_own = structured.as_ref().and_then(structured::StructuredForm::own_part);
        text.next_position = text.next_position.or(of_its_own.and_then(|own| own.next_position));
        let opened = walk.reserve_envelope(&mut text);
        let about = own.filter(|_| text.notice_part.is_none()).unwrap_or(&text);
        let cut = structured
            .as_ref()
            .filter(|_| text.notice_part.is_some())
            .and_then(|form| form.gap_to_text(&text));
        let said = Notice { structured_gap: cut, ..walk.notice(about, limits.tokens) };
        let own_notice = own.map(|own| walk.notice(own, limits.tokens));
        let mut cursors = said.cursors();
        cursors.extend(own_notice.iter().flat_map(Notice::cursors));
        let charged_cursors = if walk.charges_cursors { cursors } else { Vec::new() };
        let bill = CostEstimate::new(walk, &text.pieces, opened, charged_cursors.clone());
        let (mut rendered, mut enveloped) = (None, None);
        // Duplicate forms share one notice, which reports the cost of the more expensive.
        let (notice, mut tokens) = said.settle_cost(detail, |notice| {
            let twin = structured.as_ref().filter(|form| form.separate_content().is_none());
            rendered = twin.map(|form| structured::merge_notice(walk, form, &text, notice));
            enveloped = opened.map(|_| envelope::wrap(said.rendering, &notice.object, style));
            let as_text = bill.text_tokens(enveloped.as_ref(), notice);
            rendered.as_ref().map_or(as_text, |twin| bill.structured_tokens(twin).max(as_text))
        });
        if let (Some(form), Some(own)) = (&structured, own_notice) {
            let (_, cost) = own.settle_cost(detail, |notice| {
                bill.structured_tokens(rendered.insert(structured::merge_notice(walk, form, &text, notice)))
            });
            tokens = tokens.max(cost);
        }
        let structured = rendered;
        let counted = bill.charged_tokens(tokens, enveloped.as_ref(), structured.as_ref(), &notice);
        let kind = said.kind();
        let drawn = about.notice_part.as_ref().map(|shaped| &shaped.rendering);
        let stages = drawn.map(|drawn| drawn.stages.clone()).unwrap_or_default();
        let whole_value = drawn
            .filter(|drawn| opened.is_some() && drawn.kind == "whole" && drawn.is_json)
            .map(|drawn| drawn.body.clone());
        let total = drawn.and_then(|drawn| drawn.total_count);
        let told = |key: &str| {
            let number = drawn.and_then(|drawn| drawn.meta.get(key)).and_then(serde_json::Value::as_u64);
            number.map(|number| number as usize)
        };
        let (dropped, served) = (told("dropped").unwrap_or_default(), told("served"));
        let (next, handle) = (said.next_cursor.clone(), said.start_cursor.clone());
        let pace = about.notice_part.as_ref().and_then(|shaped| shaped.rendering.pagination.clone());
        let next_at = about.next_position;
        if let (Some(at), Some(json)) = (opened, enveloped) {
            text.pieces[at].body = PieceBody::Text(json);
        }
        let bytes = bill.charged_bytes(&text.pieces, structured.as_ref(), &notice);
        let larger_form_bytes = bill.larger_form_bytes(&text.pieces, structured.as_ref(), &notice);
        let is_full = structured.is_some() || opened.is_some();
        let notice_tokens = bill.notice_tokens(if is_full { &notice.full_text } else { &notice.model_text });
        let (pieces, enveloped) = (text.pieces, opened.is_some());
        Self {
            portion: Portion {
                pieces,
                structured,
                notice: notice.full_text,
                text_notice: notice.model_text,
                is_enveloped: enveloped,
                whole_value,
                is_whole: walk.is_whole,
                next_cursor: next,
                start_cursor: handle,
                tokens,
                charged_cursors,
                kind,
                stages,
                dropped_count: dropped,
                served_count: served,
                total_count: total,
                pagination: pace,
                next_position: next_at,
                notice_extras: None,
            },
            charged_tokens: counted,
            charged_bytes: bytes,
            notice_tokens,
            larger_form_bytes,
        }
    }
}
