//! Describes the whole of a list, object or text in a first reply that shows only a part of it. The facts are
//! few and exact, so that many questions need no second call.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::context::Context;
use super::pass_through::is_exempt;
use super::portion::PortionKind;
use super::walk::ReplyContent;
use crate::describe;
use crate::describe::FieldPreferences;
use crate::snapshot::{FieldType, Snapshot, Structure};
use crate::view::{RequestedFields, ResolvedRequest, Target};

/// Facts about one part.
pub(super) struct Description {
    /// Index of the part.
    part_index: usize,
    /// Facts, the most useful first.
    pub facts: Map<String, Value>,
    /// Types of the fields of a list.
    pub field_types: HashMap<String, FieldType>,
    /// Cost of the facts in tokens.
    pub tokens: usize,
    /// Cost of the facts in bytes.
    pub bytes: usize,
}

impl Description {
    /// Describes the target of a first reply. Returns `None` for a follow-up, for a request with fields, a
    /// limit, an order or a range, and if there are no facts.
    pub(super) fn for_request(
        snapshot: &Snapshot,
        request: &ResolvedRequest,
        cx: &Context<'_>,
        tokens: usize,
        fresh: bool,
    ) -> Option<Self> {
        let (view, from) = (&request.view, request.start);
        let named = view.limit.is_some()
            || view.field_selection != RequestedFields::Auto
            || view.order.as_ref().is_some_and(|order| order.is_requested);
        let elsewhere =
            view.top_count().is_some() || view.raw || view.range.is_some() || request.item_count.is_some();
        // Facts about a part of a list would be read as facts about the whole.
        if snapshot.is_partial_list()
            || named
            || elsewhere
            || from.ordinal > 0
            || !from.offset.is_start()
            || snapshot.answer().is_some()
        {
            return None;
        }
        let (part, subject, singled_out) = match &view.target {
            Target::Value(value) => (usize::from(value.part), &value.subject, !value.pointer.is_empty()),
            Target::Everything => {
                let part = snapshot.main_part()?;
                if fresh && request.is_plain && is_exempt(snapshot, part, cx.policy) {
                    return None;
                }
                (part, snapshot.parts()[part].indexed_text()?, false)
            }
        };
        let manner = &cx.policy.render_options;
        let strip = Some(&manner.strip_rule).filter(|_| !singled_out && !view.is_section);
        let taste = FieldPreferences {
            preferred: &manner.summary_fields,
            strip,
            missing: Some(snapshot.missing_codes()),
        };
        let mut facts = describe::describe(subject, cx.counter, tokens, &taste);
        if matches!(subject.structure, Structure::Text(_)) {
            // For a text, the keys are ours; otherwise they are field names.
            let style = cx.policy.render_options.metadata_style;
            facts = facts.into_iter().map(|(key, value)| (style.key(&key), value)).collect();
        }
        let json = serde_json::to_string(&facts).unwrap_or_default();
        let cost = cx.counter.count(&json);
        (!facts.is_empty() && cost <= tokens).then_some(Self {
            part_index: part,
            facts,
            field_types: describe::field_types(subject, snapshot.missing_codes()),
            tokens: cost,
            bytes: json.len(),
        })
    }

    /// Returns the tokens of the facts, if they describe this part.
    pub(super) fn tokens_for(&self, part: usize) -> usize {
        if part == self.part_index { self.tokens } else { 0 }
    }

    /// Returns true if the reply shows only a part of what is described.
    pub(super) fn describes(&self, content: &ReplyContent<'_>) -> bool {
        let of_it = |part, kind| {
            part == self.part_index
                && matches!(kind, PortionKind::Page | PortionKind::Chunk | PortionKind::Summary)
        };
        content.notice_part.as_ref().is_some_and(|shaped| {
            let rendering = &shaped.rendering;
            of_it(shaped.part_index, rendering.kind)
                && (rendering.next.is_some() || rendering.omits_content())
        })
    }
}
