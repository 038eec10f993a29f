//! The one place where a portion is made.
//!
//! A reply is a pure function of a snapshot, a view, a place and a budget. It is drawn into a room that
//! leaves space for the notice, then counted as it will be sent; where it turns out too dear, it is
//! drawn again into a smaller room with a shorter notice.

mod bill;
mod block;
mod chunk;
mod companions;
mod cost;
mod dense;
mod drawn;
mod envelope;
mod found;
mod left;
mod notice;
mod pace;
mod page;
mod pieces;
mod portion;
mod programs;
mod raw;
mod room;
mod said;
mod shell;
mod structured;
mod summary;
mod table;
mod telling;
mod upstream;
mod walk;
mod whole;

pub use left::is_left;
pub use portion::{Body, Piece, Portion};

use crate::cursor::{CursorToken, Position};
use crate::noise::Noise;
use crate::policy::{LEAST_BYTES, Metadata, Policy};
use crate::snapshot::{Item, Rows, Snapshot};
use crate::stage::How;
use crate::tokens::TokenCounter;
use crate::view::{Asked, View};
use bill::Bill;
use drawn::Drawn;
use notice::{Detail, Notice};
use pace::NotShown;
use room::Room;
use telling::Telling;
use walk::Walk;

/// What a reply is rendered with.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The limits.
    pub policy: &'a Policy,
    /// What counts the tokens.
    pub counter: &'a dyn TokenCounter,
    /// Makes a cursor to a place in the view; `None` where the snapshot could not be stored.
    pub mint: &'a dyn Fn(Position) -> Option<CursorToken>,
    /// The name of the tool that reads on.
    pub read_tool: &'a str,
    /// The name of the tool that answers questions, where there is one.
    pub query_tool: Option<&'a str>,
    /// Where the reply is to be the contents of a resource, in which base64 stands as what it is: what begins the
    /// URIs that read on, a cursor following.
    pub read_uri: Option<&'a str>,
}

/// The first reply to a call.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "one is made for each call, and taken apart at once")]
pub enum First {
    /// The payload is small and nothing was asked of us: pass it on as it came.
    Untouched {
        /// What it costs in the dearest of its forms; `None` where it is large, and what would be done to it is off.
        tokens: Option<usize>,
    },
    /// Show this instead.
    Portion(Portion),
}

/// The first reply: as it came where the payload is small and nothing was asked, else a portion in
/// every form that the payload has.
pub fn first(snapshot: &Snapshot, asked: &Asked, cx: &Context<'_>) -> First {
    let always = cx.policy.manner.metadata == Metadata::Always;
    if (always || whole::is_silent(snapshot))
        && let Some(whole::Passing { tokens }) = whole::passes(snapshot, asked, cx)
    {
        if !always {
            return First::Untouched { tokens };
        }
        if let Some(portion) = whole(snapshot, asked, cx) {
            return First::Portion(portion);
        }
    }
    First::Portion(reply(snapshot, asked, cx, true))
}

/// A reply to a request with a cursor, or to a question: text only.
pub fn follow(snapshot: &Snapshot, asked: &Asked, cx: &Context<'_>) -> Portion {
    reply(snapshot, asked, cx, false)
}

/// The view of a request, at the pace of the reply to it. The store keeps it, so that pages by number go on where the first
/// reply ended.
#[must_use]
pub fn at_pace(view: View, portion: &Portion) -> View {
    view.at_pace(portion.pace.clone())
}

/// Wire bytes of the envelope around a reply, beside its texts and notices.
const ENVELOPE: usize = 512;
/// Bytes that a notice takes on the wire for each of its own: once escaped as a text, once in `_meta`.
const NOTICES: usize = 3;

/// How much is said, from the first attempt to the last, and how often that is tried.
const ATTEMPTS: [(Detail, usize); 3] = [(Detail::Full, 4), (Detail::Plain, 2), (Detail::Bare, 16)];
const NOTHING_OVER: Limits = Limits { tokens: 0, bytes: 0 };

/// What a reply may take in each of its forms.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Limits {
    tokens: usize,
    bytes: usize,
}

impl Limits {
    fn of(snapshot: &Snapshot, asked: &Asked, policy: &Policy, fresh: bool) -> Self {
        let frame = if fresh { snapshot.frame() } else { 0 };
        let bytes = policy.hard_byte_limit.saturating_sub(frame).max(LEAST_BYTES) - ENVELOPE;
        if fresh && snapshot.structured().is_some() {
            return Self { tokens: asked.tokens.min(policy.hard_cap / 2), bytes: bytes / 2 };
        }
        Self { tokens: asked.tokens.min(policy.hard_cap), bytes }
    }

    /// What a notice is likely to leave: it takes a fixed part, what is told of the whole, and lists of `names` that
    /// grow with the budget.
    fn without_notice<'c>(
        self,
        detail: Detail,
        names: bool,
        telling: Option<&Telling>,
        counter: &'c dyn TokenCounter,
        media: usize,
    ) -> Room<'c> {
        let told = telling.map_or((0, 0), |telling| (telling.tokens, NOTICES * telling.bytes));
        let share = |of: usize| if names { self.tokens.saturating_sub(media) / of } else { 0 };
        let (tokens, bytes) = match detail {
            Detail::Full => (190 + share(10) + told.0, (self.bytes / 6).min(6_000) + told.1),
            Detail::Plain => (190 + share(20), (self.bytes / 6).min(6_000)),
            Detail::Bare => (150, (self.bytes / 6).min(1_000)),
        };
        let (tokens, bytes) = (self.tokens.saturating_sub(tokens), self.bytes.saturating_sub(bytes));
        Room { counter, tokens: tokens.max(1), bytes: bytes.max(1) }
    }
}

/// Tokens that the first reply has for the items of a list, and what each of so many costs there, minified.
pub(crate) fn weigh(
    snapshot: &Snapshot,
    asked: &Asked,
    rows: Rows<'_>,
    count: usize,
    policy: &Policy,
    counter: &dyn TokenCounter,
) -> (usize, Vec<usize>) {
    let room =
        Limits::of(snapshot, asked, policy, true).without_notice(Detail::Full, false, None, counter, 0);
    let mut left = room;
    let strip = &policy.manner.strip;
    let noise = Noise::of_list(strip, rows.text, rows.list);
    let shell = shell::draw(rows, &How::default(), Some(strip), &room);
    let room = if left.take(&shell.before) && left.take(&shell.after) { left } else { room };
    let mut text = String::new();
    let cost = |item: Item| {
        text.clear();
        text.push(',');
        if let Some(key) = item.key {
            text.push_str(key.of(rows.text));
            text.push(':');
        }
        // Nothing is made shorter than its bytes by minifying alone.
        if noise.is_empty() && item.value.len() / 4 > room.bytes {
            return usize::MAX;
        }
        noise.without(item.value.of(rows.text), &mut text);
        counter.count_within(&text, room.tokens).unwrap_or(usize::MAX)
    };
    (room.tokens, rows.iter_from(0).take(count).map(cost).collect())
}

/// The reply to a request.
fn reply(snapshot: &Snapshot, asked: &Asked, cx: &Context<'_>, fresh: bool) -> Portion {
    let (asked, not_shown) = pace::settle(snapshot, asked, cx, fresh);
    composed(snapshot, &asked, cx, fresh, not_shown.as_ref())
}

/// The same of a request whose pages have their size.
fn compose(snapshot: &Snapshot, asked: &Asked, cx: &Context<'_>, fresh: bool) -> Portion {
    composed(snapshot, asked, cx, fresh, None)
}

fn composed(
    snapshot: &Snapshot,
    asked: &Asked,
    cx: &Context<'_>,
    fresh: bool,
    not_shown: Option<&NotShown>,
) -> Portion {
    let limits = Limits::of(snapshot, asked, cx.policy, fresh);
    // Nothing is told of media: what is told is in proportion to the rest.
    let media = asked.media;
    let telling = cx.policy.telling(limits.tokens.saturating_sub(media));
    let telling = Telling::of(snapshot, asked, cx, telling, fresh);
    let telling = telling.as_ref();
    let walk = Walk::new(snapshot, asked, cx, fresh, telling).told(not_shown);
    for (detail, attempts) in ATTEMPTS {
        let mut room =
            limits.without_notice(detail, asked.view.ranked().is_none(), telling, cx.counter, media);
        // Where little is left for what was asked for, less is said of it.
        let told = telling.filter(|_| detail == Detail::Full).map_or(0, |telling| telling.tokens);
        let least = Limits { tokens: limits.tokens.saturating_sub(2 * told) / 3, bytes: limits.bytes / 3 };
        for attempt in 0..attempts {
            if detail < Detail::Bare && (room.tokens < least.tokens || room.bytes < least.bytes) {
                break;
            }
            let draft = Draft::draw(&walk, room, limits, detail);
            if draft.over(limits) == NOTHING_OVER {
                return draft.portion;
            }
            room = draft.smaller(room, limits, attempt > 1);
        }
    }
    // Only limits below what a notice takes lead here; the policy's least budget forbids them.
    Draft::draw(&walk, Room { counter: cx.counter, tokens: 1, bytes: 1 }, limits, Detail::Bare).portion
}

/// All of a payload as it came, and what there is to say of it; `None` where that is more than a reply may cost.
fn whole(snapshot: &Snapshot, asked: &Asked, cx: &Context<'_>) -> Option<Portion> {
    let limits =
        Limits { tokens: whole::most(snapshot, cx.policy), ..Limits::of(snapshot, asked, cx.policy, true) };
    let walk = Walk::of_the_whole(snapshot, asked, cx);
    let room = Room { counter: cx.counter, tokens: limits.tokens, bytes: limits.bytes };
    let mut drafts = ATTEMPTS.iter().map(|(detail, _)| Draft::draw(&walk, room, limits, *detail));
    drafts.find(|draft| draft.over(limits) == NOTHING_OVER).map(|draft| draft.portion)
}

/// A reply with its measurements.
struct Draft {
    portion: Portion,
    /// Tokens of the dearest form, as far as they are held against it.
    tokens: usize,
    /// Wire bytes of the text form and of the structured form, likewise.
    bytes: usize,
}

impl Draft {
    fn draw(walk: &Walk<'_>, room: Room<'_>, limits: Limits, detail: Detail) -> Self {
        let style = walk.cx.policy.manner.metadata_style;
        let mut text = walk.text(room);
        let mut structured = if walk.fresh { walk.structured(room, &text) } else { None };
        if let Some(structured::Form::Own(own, _)) = &mut structured {
            // Whichever form is read, it tells of what neither shows.
            own.unreached.extend(text.unreached.iter().cloned());
        }
        if let Some(form) = &mut structured {
            form.of_pages_like(&text);
        }
        // Once the text is told, the walk goes on in what only programs were shown.
        let own = structured.as_ref().and_then(structured::Form::own);
        let of_its_own = structured.as_ref().and_then(structured::Form::of_its_own);
        text.next = text.next.or(of_its_own.and_then(|own| own.next));
        let opened = walk.open(&mut text);
        let bill = Bill::of(walk, &text.pieces, opened);
        let about = own.filter(|_| text.shaped.is_none()).unwrap_or(&text);
        let cut = structured.as_ref().filter(|_| text.shaped.is_some()).and_then(|form| form.cut(&text));
        let said = Notice { structured: cut, ..walk.notice(about, limits.tokens) };
        let (mut rendered, mut enveloped) = (None, None);
        // Twins share one notice, which tells the cost of the dearer.
        let (notice, mut tokens) = said.settled(detail, |notice| {
            let twin = structured.as_ref().filter(|form| form.own().is_none());
            rendered = twin.map(|form| structured::merge(walk, form, &text, notice));
            enveloped = opened.map(|_| envelope::wrapped(said.drawn, &notice.object, style));
            let as_text = bill.text(enveloped.as_ref(), notice);
            rendered.as_ref().map_or(as_text, |twin| bill.structured(twin).max(as_text))
        });
        if let (Some(form), Some(own)) = (&structured, own) {
            let (_, cost) = walk.notice(own, limits.tokens).settled(detail, |notice| {
                bill.structured(rendered.insert(structured::merge(walk, form, &text, notice)))
            });
            tokens = tokens.max(cost);
        }
        let structured = rendered;
        let counted = bill.counted(tokens, enveloped.as_ref(), structured.as_ref(), &notice);
        let kind = said.kind();
        let drawn = about.shaped.as_ref().map(|shaped| &shaped.drawn);
        let stages = drawn.map(|drawn| drawn.stages.clone()).unwrap_or_default();
        let told = |key: &str| {
            let number = drawn.and_then(|drawn| drawn.meta.get(key)).and_then(serde_json::Value::as_u64);
            number.map(|number| number as usize)
        };
        let (dropped, served) = (told("dropped").unwrap_or_default(), told("served"));
        let (next, handle) = (said.next.clone(), said.handle.clone());
        let pace = about.shaped.as_ref().and_then(|shaped| shaped.drawn.pace.clone());
        let next_at = about.next;
        if let (Some(at), Some(json)) = (opened, enveloped) {
            text.pieces[at].body = Body::Text(json);
        }
        let bytes = bill.bytes(&text.pieces, structured.as_ref(), &notice);
        let (pieces, notice, enveloped) = (text.pieces, notice.text, opened.is_some());
        Self {
            portion: Portion {
                pieces,
                structured,
                notice,
                enveloped,
                whole: walk.whole,
                next,
                handle,
                tokens,
                kind,
                stages,
                dropped,
                served,
                pace,
                next_at,
                beside: None,
            },
            tokens: counted,
            bytes,
        }
    }

    /// A room for the next attempt: smaller than what was drawn by what was too much; at most half of it where
    /// `soon` there must be an end.
    fn smaller<'r>(&self, room: Room<'r>, limits: Limits, soon: bool) -> Room<'r> {
        let over = self.over(limits);
        let forms = 1 + usize::from(self.portion.structured.is_some());
        let notice = &self.portion.notice;
        let drawn = Limits {
            tokens: self.tokens.saturating_sub(room.counter.count(notice)),
            bytes: self.bytes.saturating_sub(NOTICES * notice.len()) / forms,
        };
        let half = |room: usize| if soon { room / 2 } else { room };
        let less = |room: usize, drawn: usize, over: usize, slack: usize| match over {
            0 => room,
            // Escapes make it dearer in proportion.
            _ if self.portion.enveloped => half(room.saturating_mul(drawn) / (drawn + over + slack)).max(1),
            _ => half(room.min(drawn).saturating_sub(over + slack)).max(1),
        };
        Room {
            tokens: less(room.tokens, drawn.tokens, over.tokens, 8),
            bytes: less(room.bytes, drawn.bytes, over.bytes, 64),
            ..room
        }
    }

    fn over(&self, limits: Limits) -> Limits {
        let bytes = if self.portion.structured.is_some() { 2 * limits.bytes } else { limits.bytes };
        Limits { tokens: self.tokens.saturating_sub(limits.tokens), bytes: self.bytes.saturating_sub(bytes) }
    }
}
