//! Renders an item that is too large for a page of its own.

use super::{PageBuilder, WrittenItems};
use crate::cursor::PartOffset;
use crate::render::budget::RemainingBudget;
use crate::render::rendering::{RenderTarget, Rendering, RowFormat};
use crate::render::summary::FittedRecord;
use crate::render::{chunk, summary, upstream_paging};
use crate::snapshot::OrderedList;
use crate::view::RequestedFields;

/// Renders an item that fits no page as raw chunks. After its last chunk the list continues.
pub(super) fn render(
    target: &RenderTarget<'_>,
    rows: OrderedList<'_>,
    byte: usize,
    room: &RemainingBudget<'_>,
) -> Rendering {
    let Some(item) = rows.item_at(byte) else {
        return chunk::render_bytes(rows.text, target.subject.span(), byte, room);
    };
    let mut rendering = chunk::render_bytes(rows.text, item.value, byte.max(item.value.start as usize), room);
    if rendering.next.is_none() {
        let next = rows.position_of(&item) + 1;
        rendering.next = (next < rows.list.len()).then_some(PartOffset::Item(next as u32));
    }
    rendering.total_count = Some(rows.list.len());
    upstream_paging::note_fetched_list(target, rows.list.len(), &mut rendering);
    rendering.meta.path = Some(format!("{}{}", target.pointer, rows.pointer_to(&item)));
    rendering.meta.offset = Some(rows.position_of(&item));
    rendering
}

impl PageBuilder<'_> {
    /// Summarizes the first item if it is too large for a page of its own.
    pub(super) fn summarize_single(&self, room: &RemainingBudget<'_>) -> Option<Rendering> {
        if self.target.view.field_selection != RequestedFields::Auto {
            return None;
        }
        let item = self.rows.iter_from(self.first_item).next()?;
        let mut lean = String::new();
        let value = self.rows.slice(item.value);
        let value = if self.noise.is_empty() {
            value
        } else {
            self.noise.write_without(value, &mut lean);
            &lean
        };
        let shell = self.wrapper(&RowFormat::default(), Some(1), &room.with_max_tokens(room.tokens / 2))?;
        let mut left = *room;
        if !left.spend(&shell.before) || !left.spend(&shell.after) {
            return None;
        }
        let pointer = format!("{}{}", self.target.pointer, self.rows.pointer_to(&item));
        // An answer keeps all fields, with shorter strings.
        let whole =
            if self.target.is_answer { summary::shorten_strings(value, &pointer, &left) } else { None };
        let options = &self.target.policy.render_options;
        let record = whole.or_else(|| summary::fit_record(value, &pointer, left.tokens, &left, options));
        let FittedRecord { body, omitted_fields: left_out, elided_count: elided } = record?;
        let key = item.key.map_or_else(String::new, |key| format!("{}:", self.rows.slice(key)));
        let items = format!("{key}{body}");
        if !left.fits(&items) {
            return None;
        }
        let how = RowFormat {
            is_condensed: !left_out.is_empty() || !self.target.is_answer,
            ..RowFormat::default()
        };
        let filled = WrittenItems {
            wrapper: shell,
            items,
            served_count: 1,
            plan: None,
            omitted_fields: left_out,
            elided_count: elided,
        };
        Some(self.finish(filled, &how, room))
    }

    /// Returns the offset of the first item in the text.
    pub(super) fn first_byte(&self) -> usize {
        self.rows.iter_from(self.first_item).next().map_or(0, |item| item.value.start as usize)
    }
}
