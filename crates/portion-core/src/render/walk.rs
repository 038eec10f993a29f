//! A walk through the parts of a payload: small ones whole, the rest filling the room in order, one
//! cursor across them.

use std::collections::HashMap;

use super::block::{describe, inside, weigh};
use super::chunk;
use super::cost::PIECE;
use super::drawn::{Drawn, Spot};
use super::found::{as_written, came, draw_part};
use super::notice::Notice;
use super::pace::NotShown;
use super::pieces::{base64, piece, pieces, stretch};
use super::portion::{Body, Piece};
use super::room::Room;
use super::telling::Telling;
use super::{Context, page, raw, summary};
use crate::cursor::{Place, Position};
use crate::media;
use crate::policy::{LEAST_BUDGET, Rows};
use crate::snapshot::{Form, Part, PartBody, Snapshot, Subject};
use crate::span::Span;
use crate::view::{Asked, Node, Target, Wanted};

/// What is walked.
#[derive(Clone, Copy)]
pub(super) struct Walk<'a> {
    pub snapshot: &'a Snapshot,
    pub asked: &'a Asked,
    pub cx: &'a Context<'a>,
    /// Whether this is the first reply, in which `structuredContent` has a form of its own.
    pub fresh: bool,
    /// What is told of the whole.
    pub telling: Option<&'a Telling>,
    /// Whether every part is shown as it came.
    pub whole: bool,
    /// What the page before this one did not show.
    pub not_shown: Option<&'a NotShown>,
    /// The part that is meant where none is named, for to find it all parts are looked at.
    pub(super) main: Option<usize>,
    /// Whether lists may be written as tables.
    pub(super) dense: bool,
    /// How many items of which part another form of this reply shows, and no more are to be shown here.
    pub(super) most: Option<(usize, u32)>,
}

/// The parts of a reply in one of its forms.
#[derive(Default)]
pub(super) struct Channel<'a> {
    /// What is shown, in order.
    pub pieces: Vec<Piece>,
    /// The part that the notice is about: the last that is not whole, else the last.
    pub shaped: Option<Shaped>,
    /// Where the reply goes on.
    pub next: Option<Position>,
    /// Parts that this reply does not reach, with their bytes.
    pub unreached: Vec<(String, usize)>,
    /// The address of the part the notice is about, where there are several.
    pub about: Option<&'a str>,
}

impl Channel<'_> {
    /// Whether anything is shown.
    fn shows(&self) -> bool {
        self.pieces.iter().any(|piece| !matches!(&piece.body, Body::Text(text) if text.is_empty()))
    }

    /// How many items it shows of the part that the notice is about.
    pub(super) fn items(&self) -> Option<(usize, u32)> {
        let shaped = self.shaped.as_ref()?;
        let served = shaped.drawn.meta.get("served")?.as_u64()?;
        Some((shaped.part, u32::try_from(served).ok()?))
    }

    /// The same, where they are written as a table.
    pub(super) fn table(&self) -> Option<(usize, u32)> {
        self.items().filter(|_| self.shaped.as_ref().is_some_and(|shaped| shaped.drawn.is_dense()))
    }

    /// Whether something is shown so that the notice must tell what is missing from it.
    fn is_told_of(&self) -> bool {
        self.shaped.as_ref().is_some_and(|shaped| shaped.drawn.is_to_be_told())
    }
}

/// A part that was drawn.
pub(super) struct Shaped {
    pub part: usize,
    pub drawn: Drawn,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        snapshot: &'a Snapshot,
        asked: &'a Asked,
        cx: &'a Context<'a>,
        fresh: bool,
        telling: Option<&'a Telling>,
    ) -> Self {
        let dense = cx.policy.rows == Rows::Auto;
        let main = snapshot.main_part();
        Self { snapshot, asked, cx, fresh, telling, whole: false, not_shown: None, main, dense, most: None }
    }

    /// The same, told what the page before it did not show.
    pub(super) fn told(self, not_shown: Option<&'a NotShown>) -> Self {
        Self { not_shown, ..self }
    }

    /// A walk in which all parts are shown as they came.
    pub(super) fn of_the_whole(snapshot: &'a Snapshot, asked: &'a Asked, cx: &'a Context<'a>) -> Self {
        Self { whole: true, ..Self::new(snapshot, asked, cx, true, None) }
    }

    /// The reply as text blocks.
    pub(super) fn text(&self, room: Room<'_>) -> Channel<'a> {
        let text = self.drawn(room);
        if !self.fresh || self.snapshot.structured().is_none() || self.serves_records() {
            return text;
        }
        let Some(most) = text.table() else { return text };
        // Whoever reads the other form must find the same items there, so that one cursor serves both.
        let plain = self.as_objects(most).drawn(room);
        let Some(shown) = plain.items().filter(|shown| *shown != most) else { return text };
        let text = Self { most: Some(shown), ..*self }.drawn(room);
        if text.items() == Some(shown) && text.next == plain.next { text } else { plain }
    }

    /// The same without tables, and with no more than so many items of a part.
    pub(super) fn as_objects(&self, most: (usize, u32)) -> Self {
        Self { dense: false, most: Some(most), ..*self }
    }

    pub(super) fn drawn(&self, room: Room<'_>) -> Channel<'a> {
        match &self.asked.view.target {
            Target::Node(node) => self.node(node, room),
            Target::Everything => self.everything(room),
        }
    }

    fn node(&self, node: &Node, room: Room<'_>) -> Channel<'a> {
        let part = usize::from(node.part);
        if let Some(channel) = self.medium(node, room) {
            return channel;
        }
        let drawn = self.draw_node(node, room);
        let next = drawn.next.map(|place| self.after(part, place));
        let pieces = match self.snapshot.parts().get(part) {
            Some(whole) if node.pointer.is_empty() => pieces(whole, &drawn),
            Some(whole) => vec![match &node.base64 {
                // Where it can be told from text, it stands as what it is.
                Some(mime) if self.cx.read_uri.is_some() => base64(whole, &drawn, mime),
                _ => stretch(whole, Body::Text(drawn.body.clone())),
            }],
            None => Vec::new(),
        };
        Channel { pieces, shaped: Some(Shaped { part, drawn }), next, unreached: Vec::new(), about: None }
    }

    /// A block of media that a path leads to, where it fits.
    fn medium(&self, node: &Node, mut room: Room<'_>) -> Option<Channel<'a>> {
        let (at, policy) = (usize::from(node.part), self.cx.policy);
        // An entry of a resource is read as its base64.
        let tool = self.cx.read_uri.is_none();
        if !tool
            || self.asked.view.raw
            || !node.pointer.is_empty()
            || !media::is_shown(self.snapshot, at, policy)
        {
            return None;
        }
        let part = self.snapshot.parts().get(at)?;
        let PartBody::Atomic { json, binary, .. } = &part.body else { return None };
        let shown = room.take_block(json, binary.as_ref(), policy);
        let pieces = || vec![piece(part, Body::Block(json.to_string()))];
        shown.then(|| Channel { pieces: pieces(), ..Channel::default() })
    }

    fn draw_node(&self, node: &Node, room: Room<'_>) -> Drawn {
        let pointer = self.pointer(node);
        if self.asked.view.raw {
            let byte = match self.asked.from.place {
                Place::Byte(at) => at as usize,
                Place::Item(_) => 0,
            };
            if let Some(mime) = &node.base64 {
                let flat = self.cx.read_uri.map(|_| self.cx.policy.media_tokens);
                let mut drawn = raw::draw_base64(&node.source, byte, &room, flat);
                drawn.say("path", pointer);
                drawn.extras.push(("mimeType", mime.as_str().into()));
                return drawn;
            }
            let window = self.asked.view.window.map(|window| window.span);
            let stretch = window.unwrap_or(Span::new(0, node.source.len()));
            let mut drawn = raw::draw(&node.source, stretch, byte, &room);
            drawn.say("path", pointer);
            return drawn;
        }
        let at = (usize::from(node.part), self.asked.from.place);
        let spot = self.spot(&node.subject, &pointer, !node.pointer.is_empty(), at);
        let section = self.asked.view.section && node.subject.is_json();
        let whole = section.then(|| whole(&spot, room)).flatten();
        let part =
            self.snapshot.parts().get(at.0).filter(|_| node.pointer.is_empty() && node.subject.is_json());
        whole.unwrap_or_else(|| match part {
            Some(part) => draw_part(part, &spot, &room),
            None => draw(&spot, &room),
        })
    }

    pub(super) fn spot<'b>(
        &'b self,
        subject: &'b Subject,
        pointer: &'b str,
        singled_out: bool,
        (part, place): (usize, Place),
    ) -> Spot<'b> {
        let most = self.most.filter(|(of, _)| *of == part).map(|(_, most)| most);
        let fixed = self.asked.view.pace.as_deref();
        Spot {
            subject,
            pointer,
            view: &self.asked.view,
            singled_out,
            place,
            ordinal: self.asked.from.ordinal,
            count: most.or(self.asked.count),
            of: self.asked.count,
            pace: fixed.filter(|fixed| usize::from(fixed.part) == part && !self.asked.roomy),
            part,
            dense: self.dense,
            answers: self.snapshot.answer().is_some(),
            order: self.asked.view.order.as_ref().filter(|order| usize::from(order.part) == part),
            paging: self.snapshot.paging(),
            sized: self.asked.sized,
            policy: self.cx.policy,
        }
    }

    /// How pointers into a part begin: its address, but for the main part, which is meant without one.
    pub(super) fn base(&self, part: usize) -> &'a str {
        if self.main == Some(part) {
            let holder = self.snapshot.parts().get(part).and_then(Part::holder);
            return holder.map_or("", |holder| holder.pointer.as_str());
        }
        self.snapshot.parts().get(part).map_or("", |part| part.address.as_str())
    }

    /// The pointer of a node. That of a value names the string, if it is in one, itself.
    fn pointer(&self, node: &Node) -> String {
        let part = usize::from(node.part);
        let named =
            self.snapshot.parts().get(part).and_then(Part::holder).is_some() && self.main == Some(part);
        let base = if named && !node.pointer.is_empty() { "" } else { self.base(part) };
        format!("{base}{}", node.pointer)
    }

    fn everything(&self, room: Room<'_>) -> Channel<'a> {
        let parts = self.snapshot.parts();
        // As bytes, all parts stand in one row.
        let apart = self.snapshot.structured().filter(|_| self.fresh && !self.asked.view.raw);
        let walked: Vec<usize> =
            (0..parts.len()).filter(|i| parts[*i].twin.is_none() && apart != Some(*i)).collect();
        let from = self.asked.from;
        if self.asked.view.raw {
            return self.raw(&walked, room);
        }
        let companions = if self.whole { Vec::new() } else { self.companions(&walked) };
        let is_start = from.part == 0 && from.ordinal == 0 && from.place.is_start();
        let mut room = room;
        let mut shown: Vec<Piece> = Vec::new();
        let mut lost = Vec::new();
        if is_start {
            for at in &companions {
                if self.passes(*at)
                    && let Some(subject) = parts[*at].subject()
                {
                    let spot = self.spot(subject, self.base(*at), false, (*at, Place::default()));
                    shown.extend(pieces(&parts[*at], &came(&parts[*at], &spot, &room)));
                    continue;
                }
                let text = parts[*at].text();
                if let PartBody::Atomic { json, binary: Some(binary), .. } = &parts[*at].body {
                    if room.take_block(json, Some(binary), self.cx.policy) {
                        shown.push(piece(&parts[*at], Body::Block(text.to_owned())));
                    } else {
                        // It is not walked again: its description names the call that shows it.
                        let handle = (self.cx.mint)(self.asked.from);
                        let described = describe(&parts[*at], Some(binary), handle.as_ref(), self.cx);
                        if room.take(&described) {
                            shown.push(piece(&parts[*at], Body::Text(described)));
                        }
                        lost.push(inside(&parts[*at], Some(binary)));
                    }
                    continue;
                }
                let body = match &parts[*at].body {
                    PartBody::Readable(_) => Body::Text(text.to_owned()),
                    PartBody::Atomic { .. } => Body::Block(text.to_owned()),
                };
                if room.take(text) {
                    room.bytes = room.bytes.saturating_sub(self.around(&parts[*at]));
                    shown.push(piece(&parts[*at], body));
                } else {
                    lost.push((parts[*at].address.clone(), text.len()));
                }
            }
        }
        let rest: Vec<usize> =
            walked.into_iter().filter(|at| companions.binary_search(at).is_err()).collect();
        let mut channel = self.fill(&rest, from, room, !shown.is_empty());
        if !shown.is_empty() {
            let order: HashMap<&str, usize> =
                parts.iter().enumerate().map(|(at, part)| (part.address.as_str(), at)).collect();
            channel.pieces.extend(shown);
            channel.pieces.sort_by_key(|piece| order.get(piece.address.as_str()));
        }
        channel.unreached.extend(lost);
        channel
    }

    /// Draws parts in order from a position on, until the room is used up. `accompanied` says that the reply shows
    /// something besides.
    pub(super) fn fill(
        &self,
        walked: &[usize],
        from: Position,
        mut room: Room<'_>,
        accompanied: bool,
    ) -> Channel<'a> {
        let mut channel = Channel::default();
        let parts = self.snapshot.parts();
        let enough = (room.tokens / 10).max(LEAST_BUDGET / 10);
        let first = usize::from(from.part);
        for at in walked.iter().copied().filter(|at| *at >= first) {
            let part = &parts[at];
            let resumed = at == first;
            let place = if resumed { from.place } else { Place::default() };
            let used = channel.shows();
            if channel.next.is_some() {
                channel.unreached.push((part.address.clone(), part.text().len()));
                continue;
            }
            // The notice tells of one part: what it tells of is the last that is shown.
            let full = room.tokens < enough || room.bytes < 4 * PIECE;
            if used && (full || channel.is_told_of()) && !self.passes(at) {
                channel.next = Some(self.after(at, Place::default()));
                channel.unreached.push((part.address.clone(), part.text().len()));
                continue;
            }
            match &part.body {
                PartBody::Atomic { json, .. } if self.whole => {
                    channel.pieces.push(piece(part, Body::Block(json.to_string())));
                }
                PartBody::Atomic { json, aside: true, .. } if self.fresh && !room.fits(json) => {
                    channel.unreached.push((part.address.clone(), json.len()));
                }
                PartBody::Atomic { json, binary, .. } => {
                    // Put off once: a reply that shows nothing and begins here again would never end.
                    let put_off = used || accompanied && !resumed;
                    let Some(body) = self.block(part, &mut room, put_off) else {
                        channel.next = Some(self.after(at, Place::default()));
                        channel.unreached.push((part.address.clone(), json.len()));
                        continue;
                    };
                    if matches!(body, Body::Text(_)) {
                        channel.unreached.push(inside(part, binary.as_ref()));
                    }
                    room.bytes = room.bytes.saturating_sub(self.around(part));
                    channel.pieces.push(piece(part, body));
                }
                PartBody::Readable(subject) => {
                    let pointer = self.base(at);
                    let spot = Spot {
                        ordinal: if resumed { from.ordinal } else { 0 },
                        ..self.spot(subject, pointer, false, (at, place))
                    };
                    let passes = self.passes(at) && place.is_start();
                    let as_it_came = passes.then(|| came(part, &spot, &room));
                    let whole =
                        as_it_came.or_else(|| as_written(part, &spot, room)).or_else(|| whole(&spot, room));
                    let drawn = whole.unwrap_or_else(|| draw_part(part, &spot, &room));
                    room.take(&drawn.body);
                    room.bytes = room.bytes.saturating_sub(self.around(part));
                    channel.next = drawn.next.map(|place| self.after(at, place));
                    channel.pieces.extend(pieces(part, &drawn));
                    let keep = channel.shaped.as_ref().is_none_or(|shaped| shaped.drawn.kind == "whole");
                    if keep || drawn.kind != "whole" {
                        channel.about = (parts.len() > 1).then_some(part.address.as_str());
                        channel.shaped = Some(Shaped { part: at, drawn });
                    }
                }
            }
        }
        channel
    }

    /// A block that is passed whole: within the room; else, where it may be put off, on its own in the next
    /// reply; else described.
    fn block(&self, part: &Part, room: &mut Room<'_>, put_off: bool) -> Option<Body> {
        let PartBody::Atomic { json, binary, .. } = &part.body else { return None };
        let (policy, binary) = (self.cx.policy, binary.as_ref());
        if room.take_block(json, binary, policy) {
            return Some(Body::Block(json.to_string()));
        }
        // What a block may cost that is put off: it will have a reply to itself, and media one that is as large as they need.
        let is_media = binary.is_some_and(|binary| binary.media);
        let alone = if is_media { policy.media_tokens } else { self.asked.tokens.min(policy.hard_cap) / 2 };
        let share =
            if binary.is_some() { policy.hard_byte_limit / 4 * 3 } else { policy.hard_byte_limit / 4 };
        let later = weigh(json, binary, alone, policy, self.cx.counter).is_some_and(|w| w.bytes <= share);
        if put_off && later {
            return None;
        }
        let handle = (self.cx.mint)(self.asked.from);
        let described = describe(part, binary, handle.as_ref(), self.cx);
        let fits = room.take(&described);
        (fits || !put_off).then_some(Body::Text(described))
    }

    /// All parts as they came, one after the other.
    fn raw(&self, walked: &[usize], room: Room<'_>) -> Channel<'a> {
        let parts = self.snapshot.parts();
        let first = usize::from(self.asked.from.part);
        let mut channel = Channel::default();
        // What is empty is shown only where there is nothing else, so that no reply is empty and goes on.
        let byte = if let Place::Byte(byte) = self.asked.from.place { byte as usize } else { 0 };
        let told = |at: &usize| {
            let length = parts[*at].text().len();
            *at > first && length > 0 || *at == first && length > byte
        };
        let mut left = walked.iter().copied().filter(told);
        let Some(at) = left.next().or_else(|| walked.iter().copied().find(|at| *at >= first)) else {
            return channel;
        };
        let text = parts[at].text();
        let byte = if at == first { byte } else { 0 };
        let mut drawn = raw::draw(text, Span::new(0, text.len()), byte, &room);
        drawn.say("path", parts[at].address.clone());
        let after = drawn.next.map(|place| self.after(at, place));
        channel.next = after.or_else(|| left.next().map(|next| self.after(next, Place::Byte(0))));
        channel.pieces.push(stretch(&parts[at], Body::Text(drawn.body.clone())));
        channel.shaped = Some(Shaped { part: at, drawn });
        channel
    }

    /// A place further on, and how many portions of that part lead there.
    pub(super) fn after(&self, part: usize, place: Place) -> Position {
        let from = self.asked.from;
        let same = part == usize::from(from.part);
        let ordinal = if same { from.ordinal.saturating_add(1) } else { u16::from(!place.is_start()) };
        Position { part: part as u16, ordinal, place }
    }

    /// The first image or audio that a reply does not show, by its address.
    fn missing_media(&self, channel: &Channel<'a>) -> Option<&'a str> {
        if self.cx.read_uri.is_some() {
            return None;
        }
        let parts = self.snapshot.parts();
        let media = (0..parts.len()).filter(|at| media::is_shown(self.snapshot, *at, self.cx.policy));
        let mut missing = media.map(|at| parts[at].address.as_str()).filter(|address| {
            channel
                .unreached
                .iter()
                .any(|(path, _)| path.strip_prefix(address).is_some_and(|rest| matches!(rest, "" | "/data")))
        });
        missing.next()
    }

    /// What is said of a reply.
    pub(super) fn notice<'b>(&'b self, channel: &'b Channel<'a>, budget: usize) -> Notice<'b> {
        let mint = self.cx.mint;
        let nothing = &*NOTHING;
        Notice {
            drawn: channel.shaped.as_ref().map_or(nothing, |shaped| &shaped.drawn),
            answer: self.snapshot.answer(),
            about: self.telling.filter(|telling| telling.is_of(channel)).map(|telling| &telling.told),
            handle: mint(self.asked.from),
            next: channel.next.and_then(mint),
            read_tool: self.cx.read_tool,
            query_tool: self.cx.query_tool,
            missing_parts: &channel.unreached,
            missing_media: self.missing_media(channel),
            replaced: self.snapshot.replaced(),
            redacted: self.snapshot.redacted(),
            not_shown: self.not_shown,
            read_as: self.read_as(channel),
            part: channel.about,
            owners: self.owners(&channel.pieces),
            read_uri: self.cx.read_uri,
            budget,
            warn_at: self.cx.policy.warns_at(self.asked.tokens),
            style: self.cx.policy.manner.metadata_style,
            wrapped: self.wraps(),
            whole: self.whole,
            structured: None,
        }
    }
}

/// Said of a reply in which nothing was drawn.
static NOTHING: std::sync::LazyLock<Drawn> = std::sync::LazyLock::new(|| Drawn::new("whole", String::new()));

/// A part below the thresholds of its kind, or a section that fits, whole.
pub(super) fn whole(spot: &Spot<'_>, room: Room<'_>) -> Option<Drawn> {
    let view = spot.view;
    let asked = view.limit.is_some() || matches!(view.wanted, Wanted::Some(_)) || spot.order.is_some();
    if asked || !spot.is_first() || spot.count.is_some() {
        return None;
    }
    let policy = spot.policy;
    let threshold = match &spot.subject.form {
        _ if view.section => usize::MAX,
        Form::List(list) if list.len() > policy.default_page_size => policy.full_below,
        Form::List(_) => policy.token_budget_threshold,
        Form::Object(_) => policy.summarize_above,
        Form::Text(_) => policy.chunk_above,
    };
    if !room.at_most(threshold).fits(&spot.subject.text) {
        return None;
    }
    let table = match &spot.subject.form {
        Form::List(list) if spot.dense => Some(page::draw(spot, list, &room)),
        _ => None,
    };
    let table = table.filter(|table| table.is_dense() && table.next.is_none() && !table.leaves_out());
    Some(table.unwrap_or_else(|| Drawn::whole(spot, &room)))
}

/// Draws a subject as its form wants.
pub(super) fn draw(spot: &Spot<'_>, room: &Room<'_>) -> Drawn {
    match &spot.subject.form {
        Form::List(list) => page::draw(spot, list, room),
        Form::Object(members) => summary::draw(spot, members, room),
        Form::Text(text) => chunk::draw(spot, text, room),
    }
}
