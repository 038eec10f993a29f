//! One part of a reply, drawn: its text, where it goes on, and what is to be said of it.

use serde_json::{Map, Value};

use super::room::Room;
use super::{shell, upstream};
use crate::cursor::Place;
use crate::policy::{Envelope, Policy, Strip};
use crate::snapshot::{Form, Layout, List, Rows, Subject};
use crate::stage::How;
use crate::view::{Order, Pace, View, Wanted, list_field_names};

/// What is to be drawn.
#[derive(Clone, Copy)]
pub(super) struct Spot<'a> {
    /// The text or JSON.
    pub subject: &'a Subject,
    /// Where it stands, as a caller would write it: empty for the main part.
    pub pointer: &'a str,
    /// How it is wanted.
    pub view: &'a View,
    /// Whether it was singled out by a path or section.
    pub singled_out: bool,
    /// Where to begin.
    pub place: Place,
    /// How many portions came before.
    pub ordinal: u16,
    /// Items wanted, where not as many as in every page.
    pub count: Option<u32>,
    /// Items that a page asked for by number has to hold.
    pub of: Option<u32>,
    /// What the first reply to the walk through this part fixed.
    pub pace: Option<&'a Pace>,
    /// The index of the part.
    pub part: usize,
    /// Whether a list may be written as a table, where that costs less.
    pub dense: bool,
    /// Whether this answers a question: each item holds what was asked for, so that fewer are served rather than less of each.
    pub answers: bool,
    /// In which order a list is shown, where not in its own.
    pub order: Option<&'a Order>,
    /// Arguments of the tool that was called by which its own pages are walked.
    pub paging: &'a [String],
    /// Whether the caller said how large the reply may be: then a chunk of text is as large.
    pub sized: bool,
    /// The limits.
    pub policy: &'a Policy,
}

impl Spot<'_> {
    /// What is left out as noise: nothing where the caller has said what is wanted.
    pub(super) fn strip(&self) -> Option<&Strip> {
        let asked = self.view.wanted != Wanted::Best || self.view.section || self.singled_out || self.answers;
        Some(&self.policy.manner.strip).filter(|strip| !asked && !strip.is_empty())
    }

    /// Whether this is the first reply of its walk.
    pub(super) fn is_first(&self) -> bool {
        let start = self.view.window.map_or(0, |window| window.span.start);
        self.place.is_start() || self.place == Place::Byte(start)
    }

    /// Whether what is drawn may be put in an envelope.
    pub(super) fn is_wrapped(&self) -> bool {
        self.policy.manner.envelope == Envelope::Wrap
    }
}

impl Listed {
    /// A list as the upstream wrote it.
    fn whole(text: &str, list: &List, room: &Room<'_>) -> Self {
        let rows = Rows { text, list, order: None };
        let items = match list.layout {
            Layout::Lines => {
                let items: Vec<&str> = list.iter_from(text, 0).map(|item| item.value.of(text)).collect();
                format!("[{}]", items.join(","))
            }
            _ => list.span.of(text).to_owned(),
        };
        let wide = Room { tokens: usize::MAX / 8, bytes: usize::MAX / 8, ..*room };
        Self { items, beside: shell::draw(rows, &How::default(), None, &wide).beside }
    }
}

/// What was left out of a part as noise, dotted paths.
#[derive(Default)]
pub(super) struct Left {
    /// By its name.
    pub named: Vec<String>,
    /// Wherever it is `null`.
    pub nulls: Vec<String>,
}

impl Left {
    /// Whether anything was.
    pub(super) fn is_some(&self) -> bool {
        !self.named.is_empty() || !self.nulls.is_empty()
    }
}

/// A part, drawn within a room.
pub(super) struct Drawn {
    /// Its text.
    pub body: String,
    /// Whether that is JSON which can stand where the whole stood.
    pub json: bool,
    /// Where it goes on.
    pub next: Option<Place>,
    /// The kind of portion.
    pub kind: &'static str,
    /// How many items there are in all, of a list.
    pub total: Option<usize>,
    /// What must be said of it.
    pub meta: Map<String, Value>,
    /// What should be said of it where there is room, the most useful first.
    pub extras: Vec<(&'static str, Value)>,
    /// Set on a summary: the names of its sections and their sizes.
    pub sections: Option<Map<String, Value>>,
    /// How many items, or lines, it should hold, where that is fixed.
    pub of: Option<usize>,
    /// What it fixes for the rest of its walk, as its first reply.
    pub pace: Option<Pace>,
    /// The stages that were needed.
    pub stages: Vec<&'static str>,
    /// Set where they are to be told: the names of all fields, and how many characters they may take.
    pub fields: Option<(Vec<String>, usize)>,
    /// What was left out as noise.
    pub noise: Left,
    /// Tokens that a larger chunk may have, where there is more and nobody said how large it is to be.
    pub larger: Option<usize>,
    /// What a question about it can be, where that is worth telling.
    pub query: Option<&'static str>,
    /// The parts of a page that are told apart in an envelope, where it is put in one.
    pub listed: Option<Listed>,
}

/// A page, taken apart. JSON.
#[derive(Clone)]
pub(super) struct Listed {
    /// The items, in what holds them.
    pub items: String,
    /// The objects around them, without them; empty where nothing else is in those.
    pub beside: String,
}

impl Drawn {
    pub(super) fn new(kind: &'static str, body: String) -> Self {
        let (meta, extras) = (Map::new(), Vec::new());
        Self {
            body,
            json: false,
            next: None,
            kind,
            total: None,
            meta,
            extras,
            sections: None,
            of: None,
            pace: None,
            stages: Vec::new(),
            fields: None,
            noise: Left::default(),
            larger: None,
            query: None,
            listed: None,
        }
    }

    /// A part as the upstream wrote it.
    pub(super) fn whole(spot: &Spot<'_>, room: &Room<'_>) -> Self {
        let subject = spot.subject;
        let mut drawn = Self::new("whole", subject.text.to_string());
        drawn.json = subject.is_json();
        // A section of some fields is one object, even if there is a list in it.
        if let Form::List(list) = &subject.form
            && !spot.view.is_made()
        {
            drawn.kind = "page";
            drawn.total = Some(list.len());
            let size = list.len().max(spot.policy.default_page_size);
            drawn.say("pageSize", size);
            drawn.pace = Some(Pace { part: spot.part as u16, size: size as u32, opened: None, keep: None });
            drawn.say("served", list.len());
            drawn.say("hasMore", false);
            drawn.say("offset", 0);
            upstream::say(spot, list, &mut drawn);
            drawn.listed = spot.is_wrapped().then(|| Listed::whole(&subject.text, list, room));
            let available = list_field_names(list);
            if !available.is_empty() && spot.view.wanted != Wanted::All {
                drawn.fields = Some((available, characters_for_names(room)));
            }
        }
        drawn
    }

    /// Whether it is a list that is written as a table.
    pub(super) fn is_dense(&self) -> bool {
        self.meta.contains_key("rows")
    }

    /// How many items, or lines, it shows of those that it should hold, where it is cut short.
    pub(super) fn cut(&self) -> Option<(usize, usize)> {
        let lines = || {
            let number = |key: &str| self.meta.get(key).and_then(Value::as_u64);
            Some((number("endLine")? + 1).saturating_sub(number("startLine")?))
        };
        let served = self.meta.get("served").and_then(Value::as_u64).or_else(lines).unwrap_or(0) as usize;
        let of = self.of.filter(|of| served < *of && self.next.is_some())?;
        Some((served, of))
    }

    /// Whether something is to be told: that it is missing, or that it is written in another way.
    pub(super) fn is_to_be_told(&self) -> bool {
        self.leaves_out() || self.is_dense()
    }

    /// Whether something is missing that no further reply brings unasked.
    pub(super) fn leaves_out(&self) -> bool {
        let told = ["condensed", "elided", "omitted"].iter().any(|key| self.meta.contains_key(*key));
        told || self.noise.is_some() || matches!(self.kind, "summary" | "raw")
    }

    pub(super) fn say(&mut self, key: &str, value: impl Into<Value>) {
        self.meta.insert(key.to_owned(), value.into());
    }
}

/// Names as a JSON array of at most so many characters, the last entry saying how many are missing.
pub(super) fn names(all: impl IntoIterator<Item = String>, characters: usize) -> Value {
    let mut left = characters;
    let mut shown: Vec<Value> = Vec::new();
    let mut missing = 0;
    for name in all {
        let cost = name.len() + 3;
        if missing == 0 && cost <= left {
            left -= cost;
            shown.push(name.into());
        } else {
            missing += 1;
        }
    }
    if missing > 0 {
        shown.push(format!("+{missing} more").into());
    }
    shown.into()
}

/// Characters that lists of names in a notice may take: about a tenth of the budget, and some in any.
pub(super) fn characters_for_names(room: &Room<'_>) -> usize {
    (room.tokens / 3).max(SOME_NAMES)
}

/// Characters that some dozen names take.
const SOME_NAMES: usize = 250;
