//! One part of a reply, drawn: its text, where it goes on, and what is to be said of it.

use serde_json::{Map, Value};

use super::budget::RemainingBudget;
use super::{list_wrapper, upstream_paging};
use crate::cursor::PartOffset;
use crate::policy::{EnvelopeMode, Policy, StripRule};
use crate::snapshot::{IndexedText, Layout, List, OrderedList, Structure};
use crate::stage::RowFormat;
use crate::view::{Pagination, RequestedFields, SortOrder, View, list_field_names};

/// What is to be drawn.
#[derive(Clone, Copy)]
pub(super) struct RenderTarget<'a> {
    /// The text or JSON.
    pub subject: &'a IndexedText,
    /// Where it stands, as a caller would write it: empty for the main part.
    pub pointer: &'a str,
    /// How it is wanted.
    pub view: &'a View,
    /// Whether it was singled out by a path or section.
    pub is_singled_out: bool,
    /// Where to begin.
    pub start: PartOffset,
    /// How many portions came before.
    pub portion_index: u16,
    /// Items wanted, where not as many as in every page.
    pub wanted_count: Option<u32>,
    /// Items that a page asked for by number has to hold.
    pub required_count: Option<u32>,
    /// What the first reply to the walk through this part fixed.
    pub pagination: Option<&'a Pagination>,
    /// The index of the part.
    pub part_index: usize,
    /// Whether a list may be written as a table, where that costs less.
    pub allows_table: bool,
    /// Whether this answers a question: each item holds what was asked for, so that fewer are served rather than less of each.
    pub is_answer: bool,
    /// In which order a list is shown, where not in its own.
    pub order: Option<&'a SortOrder>,
    /// Arguments of the tool that was called by which its own pages are walked.
    pub paging_arguments: &'a [String],
    /// Whether the caller said how large the reply may be: then a chunk of text is as large.
    pub has_explicit_size: bool,
    /// The limits.
    pub policy: &'a Policy,
}

impl RenderTarget<'_> {
    /// What is left out as noise: nothing where the caller has said what is wanted.
    pub(super) fn strip_rule(&self) -> Option<&StripRule> {
        let asked = self.view.field_selection != RequestedFields::Auto
            || self.view.is_section
            || self.is_singled_out
            || self.is_answer;
        Some(&self.policy.render_options.strip_rule).filter(|strip| !asked && !strip.is_empty())
    }

    /// Whether this is the first reply of its walk.
    pub(super) fn is_first(&self) -> bool {
        let start = self.view.range.map_or(0, |window| window.span.start);
        self.start.is_start() || self.start == PartOffset::Byte(start)
    }

    /// Whether what is drawn may be put in an envelope.
    pub(super) fn uses_envelope(&self) -> bool {
        self.policy.render_options.envelope == EnvelopeMode::Wrap
    }
}

impl PageParts {
    /// A list as the upstream wrote it.
    fn of_whole_list(text: &str, list: &List, room: &RemainingBudget<'_>) -> Self {
        let rows = OrderedList { text, list, order: None };
        let items = match list.layout {
            Layout::Lines => {
                let items: Vec<&str> = list.iter_from(text, 0).map(|item| item.value.slice(text)).collect();
                format!("[{}]", items.join(","))
            }
            _ => list.span.slice(text).to_owned(),
        };
        let wide = RemainingBudget { tokens: usize::MAX / 8, bytes: usize::MAX / 8, ..*room };
        Self {
            items,
            outer_members: list_wrapper::render(rows, &RowFormat::default(), None, &wide).outer_members,
        }
    }
}

/// What was left out of a part as noise, dotted paths.
#[derive(Default)]
pub(super) struct StrippedFields {
    /// By its name.
    pub named: Vec<String>,
    /// Wherever it is `null`.
    pub nulls: Vec<String>,
}

impl StrippedFields {
    /// Whether anything was.
    pub(super) fn has_any(&self) -> bool {
        !self.named.is_empty() || !self.nulls.is_empty()
    }
}

/// A part, drawn within a room.
pub(super) struct Rendering {
    /// Its text.
    pub body: String,
    /// Whether that is JSON which can stand where the whole stood.
    pub is_json: bool,
    /// Where it goes on.
    pub next: Option<PartOffset>,
    /// The kind of portion.
    pub kind: &'static str,
    /// How many items there are in all, of a list.
    pub total_count: Option<usize>,
    /// What must be said of it.
    pub meta: Map<String, Value>,
    /// What should be said of it where there is room, the most useful first.
    pub extras: Vec<(&'static str, Value)>,
    /// Set on a summary: the names of its sections and their sizes.
    pub sections: Option<Map<String, Value>>,
    /// How many items, or lines, it should hold, where that is fixed.
    pub required_count: Option<usize>,
    /// What it fixes for the rest of its walk, as its first reply.
    pub pagination: Option<Pagination>,
    /// The stages that were needed.
    pub stages: Vec<&'static str>,
    /// Set where they are to be told: the names of all fields, and how many characters they may take.
    pub available_fields: Option<(Vec<String>, usize)>,
    /// What was left out as noise.
    pub stripped: StrippedFields,
    /// Tokens that a larger chunk may have, where there is more and nobody said how large it is to be.
    pub larger_budget: Option<usize>,
    /// What a question about it can be, where that is worth telling.
    pub query_hint: Option<&'static str>,
    /// The parts of a page that are told apart in an envelope, where it is put in one.
    pub page_parts: Option<PageParts>,
}

/// A page, taken apart. JSON.
#[derive(Clone)]
pub(super) struct PageParts {
    /// The items, in what holds them.
    pub items: String,
    /// The objects around them, without them; empty where nothing else is in those.
    pub outer_members: String,
}

impl Rendering {
    pub(super) fn new(kind: &'static str, body: String) -> Self {
        let (meta, extras) = (Map::new(), Vec::new());
        Self {
            body,
            is_json: false,
            next: None,
            kind,
            total_count: None,
            meta,
            extras,
            sections: None,
            required_count: None,
            pagination: None,
            stages: Vec::new(),
            available_fields: None,
            stripped: StrippedFields::default(),
            larger_budget: None,
            query_hint: None,
            page_parts: None,
        }
    }

    /// A part as the upstream wrote it.
    pub(super) fn whole(spot: &RenderTarget<'_>, room: &RemainingBudget<'_>) -> Self {
        let subject = spot.subject;
        let mut drawn = Self::new("whole", subject.text.to_string());
        drawn.is_json = subject.is_json();
        // A section of some fields is one object, even if there is a list in it.
        if let Structure::List(list) = &subject.structure
            && !spot.view.is_custom_section()
        {
            drawn.kind = "page";
            drawn.total_count = Some(list.len());
            let size = list.len().max(spot.policy.default_page_size);
            drawn.set_meta("pageSize", size);
            drawn.pagination = Some(Pagination {
                part_index: spot.part_index as u16,
                page_size: size as u32,
                first_page_count: None,
                kept_fields: None,
            });
            drawn.set_meta("served", list.len());
            drawn.set_meta("hasMore", false);
            drawn.set_meta("offset", 0);
            upstream_paging::note_upstream_page(spot, list, &mut drawn);
            drawn.page_parts =
                spot.uses_envelope().then(|| PageParts::of_whole_list(&subject.text, list, room));
            let available = list_field_names(list);
            if !available.is_empty() && spot.view.field_selection != RequestedFields::All {
                drawn.available_fields = Some((available, max_name_chars(room)));
            }
        }
        drawn
    }

    /// Whether it is a list that is written as a table.
    pub(super) fn is_dense(&self) -> bool {
        self.meta.contains_key("rows")
    }

    /// How many items, or lines, it shows of those that it should hold, where it is cut short.
    pub(super) fn shortfall(&self) -> Option<(usize, usize)> {
        let lines = || {
            let number = |key: &str| self.meta.get(key).and_then(Value::as_u64);
            Some((number("endLine")? + 1).saturating_sub(number("startLine")?))
        };
        let served = self.meta.get("served").and_then(Value::as_u64).or_else(lines).unwrap_or(0) as usize;
        let of = self.required_count.filter(|of| served < *of && self.next.is_some())?;
        Some((served, of))
    }

    /// Whether something is to be told: that it is missing, or that it is written in another way.
    pub(super) fn needs_notice(&self) -> bool {
        self.omits_content() || self.is_dense()
    }

    /// Whether something is missing that no further reply brings unasked.
    pub(super) fn omits_content(&self) -> bool {
        let told = ["condensed", "elided", "omitted"].iter().any(|key| self.meta.contains_key(*key));
        told || self.stripped.has_any() || matches!(self.kind, "summary" | "raw")
    }

    pub(super) fn set_meta(&mut self, key: &str, value: impl Into<Value>) {
        self.meta.insert(key.to_owned(), value.into());
    }
}

/// Names as a JSON array of at most so many characters, the last entry saying how many are missing.
pub(super) fn name_list(all: impl IntoIterator<Item = String>, characters: usize) -> Value {
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
pub(super) fn max_name_chars(room: &RemainingBudget<'_>) -> usize {
    (room.tokens / 3).max(MIN_NAME_CHARS)
}

/// Characters that some dozen names take.
const MIN_NAME_CHARS: usize = 250;
