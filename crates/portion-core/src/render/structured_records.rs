//! Selects whole records for `structuredContent`, where the text may be condensed.
//!
//! A program checks `structuredContent` against the listed schema. A record without some of its fields, or a
//! string with an elision mark, would be a wrong value there. So fewer records are served, each of them
//! whole. A value that cannot be shortened this way is put under `portion`, where nothing takes it for the
//! result.

use portion_json::scan::{JsonKind, is_json, minified};

use super::budget::RemainingBudget;
use super::portion::PortionKind;
use super::query_tables::record_lists;
use super::rendering::{RenderTarget, Rendering};
use super::structured::{Placement, StructuredForm};
use super::walk::value::render_in_string;
use super::walk::{PartWalk, RenderedPart, ReplyContent};
use super::{page, summary};
use crate::cursor::{PartOffset, Position};
use crate::policy::StructuredMode;
use crate::snapshot::{
    DuplicateForm, IndexedText, ObjectIndex, Part, Structure as SubjectForm, StructuredDuplicate, block_place,
};
use crate::view::{RequestedFields, Target};

/// Renders an object of several lists with whole records of the largest one. The other lists are shortened, too.
fn render_largest_list(
    target: &RenderTarget<'_>,
    object: &ObjectIndex,
    room: &RemainingBudget<'_>,
) -> Option<Rendering> {
    let lists = record_lists(&target.subject.text, object);
    let pointer = lists.into_iter().find(|pattern| !pattern.contains('*'))?;
    let subject = IndexedText::with_list_at(&target.subject.text, &pointer)?;
    let SubjectForm::List(list) = &subject.structure else { return None };
    let rendering = page::render_whole_records(&RenderTarget { subject: &subject, ..*target }, list, room)?;
    // The pages of a walk are those of the object. Its other records are reached by their path.
    Some(Rendering { next: None, pagination: None, ..rendering })
}

impl<'a> PartWalk<'a> {
    /// Returns true if `structuredContent` holds whole records, whatever the text shows of them.
    pub(super) fn serves_records(&self) -> bool {
        let Self { request, is_whole: whole, .. } = self;
        let view = &request.view;
        // A page by number, or another order, selects the whole of one part.
        let plain = view.field_selection == RequestedFields::Auto
            && !view.raw
            && view.range.is_none()
            && view.target.is_whole();
        !self.cx.policy.render_options.structured.is_view_of_text() && plain && !whole
    }

    /// Renders `structuredContent`, if the payload has one.
    pub(super) fn render_structured(
        &self,
        room: RemainingBudget<'_>,
        text: &ReplyContent<'a>,
    ) -> Option<StructuredForm<'a>> {
        let at = self.snapshot.structured_part()?;
        let part = &self.snapshot.parts()[at];
        if let Some(bare) = self.bare_value(part, &room) {
            return Some(bare);
        }
        let twin = |twin: StructuredDuplicate| match twin.form {
            DuplicateForm::Whole => Placement::Root,
            DuplicateForm::UnderKey { key, as_string } => {
                Placement::UnderKey { key: key.slice(part.text()), as_string }
            }
            DuplicateForm::Blocks(span) => Placement::Blocks(span),
        };
        let is_raw = self.request.view.raw;
        let is_inside =
            matches!(&self.request.view.target, Target::Value(value) if !value.pointer.is_empty());
        if let Some(DuplicateForm::Blocks(span)) = part.duplicate.map(|twin| twin.form)
            && !is_raw
            && !is_inside
            && text.pieces.iter().any(|piece| block_place(&piece.address).is_some())
        {
            return Some(StructuredForm::SameAsText(Placement::Blocks(span)));
        }
        if let Target::Value(value) = &self.request.view.target {
            let shown = usize::from(value.part);
            let itself = (shown == at).then_some(Placement::Root);
            let shape = itself.or(part.duplicate.filter(|twin| twin.part == shown).map(twin));
            let shape = shape.filter(|_| value.pointer.is_empty());
            let Some(shape) = shape else {
                return Some(self.twin_form(Placement::UnderPortion, text, room));
            };
            return Some(self.records_of_text(shown, shape, text, room));
        }
        if is_raw {
            return Some(StructuredForm::SameAsText(Placement::UnderPortion));
        }
        match part.duplicate {
            Some(own) if text.notice_part.as_ref().is_some_and(|shaped| shaped.part_index == own.part) => {
                Some(self.records_of_text(own.part, twin(own), text, room))
            }
            _ => {
                let records = if self.serves_records() { self.whole_records(at, &room) } else { None };
                let shape = if records.is_some() || !self.serves_records() {
                    Placement::Root
                } else {
                    Placement::UnderPortion
                };
                let from = Position { part: at as u16, ..Position::default() };
                let objects =
                    || Self { allows_tables: false, ..*self }.render_parts(&[at], from, room, false);
                let mut own = records.unwrap_or_else(objects);
                if let Some(shown) = &mut own.notice_part {
                    // A scalar is rendered as a text, which is its JSON.
                    let rendering = &mut shown.rendering;
                    rendering.is_json |= rendering.kind == PortionKind::Whole && is_json(&rendering.body);
                }
                Some(StructuredForm::OwnPart(Box::new(own), shape))
            }
        }
    }

    /// Returns whole records of the part that the text shows, or the content of the text if that is whole.
    fn records_of_text(
        &self,
        part: usize,
        shape: Placement<'a>,
        text: &ReplyContent<'a>,
        room: RemainingBudget<'_>,
    ) -> StructuredForm<'a> {
        let is_whole = |shaped: &RenderedPart| !shaped.rendering.needs_notice();
        if !self.serves_records() || text.notice_part.as_ref().is_some_and(is_whole) {
            return self.twin_form(shape, text, room);
        }
        match self.whole_records(part, &room) {
            Some(records) => StructuredForm::TextVariant(Box::new(records), shape),
            None => self.twin_form(Placement::UnderPortion, text, room),
        }
    }

    /// Returns a value that has no place for a notice: a scalar, or a container that passes as received.
    fn bare_value(&self, part: &Part, room: &RemainingBudget<'_>) -> Option<StructuredForm<'a>> {
        let subject = part.indexed_text().filter(|_| !self.uses_envelope())?;
        let kind = JsonKind::of_value(subject.text.trim_start());
        let as_came =
            self.cx.policy.render_options.structured == StructuredMode::AsReceived && !self.is_whole;
        if kind.is_container() && !(as_came && room.fits(&subject.text)) {
            return None;
        }
        if kind != JsonKind::String || room.fits(&subject.text) {
            return Some(StructuredForm::BareValue(subject.text.to_string(), None));
        }
        let pointer = part.address.as_str();
        let short = summary::shorten_strings(&subject.text, pointer, room)?.body;
        let missing = subject.text.len().saturating_sub(short.len());
        Some(StructuredForm::BareValue(short, Some(format!("{missing} bytes omitted").into())))
    }

    /// Renders a part as whole records, or whole. Returns `None` if neither fits.
    fn whole_records(&self, at: usize, room: &RemainingBudget<'_>) -> Option<ReplyContent<'a>> {
        let parts = self.snapshot.parts();
        let part = parts.get(at)?;
        let subject = part.indexed_text()?;
        let from = self.request.start;
        let resumed = usize::from(from.part) == at;
        let place = if resumed { from.offset } else { PartOffset::default() };
        // Records fill the budget. If the notice turns out larger than estimated, both forms are rendered
        // again.
        let max = room.with_max_tokens(room.tokens - room.tokens / 10);
        let whole = |room: &RemainingBudget<'_>| self.render_unabridged(subject, (at, place), room);
        let whole = |room: &RemainingBudget<'_>| {
            if part.enclosing_string().is_some() { render_in_string(part, room, whole) } else { whole(room) }
        };
        let rendering = whole(&max).or_else(|| whole(room))?;
        let next = rendering.next.map(|place| {
            if resumed {
                self.position_after(at, place)
            } else {
                Position { part: at as u16, ordinal: 1, offset: place }
            }
        });
        let about = (parts.len() > 1).then_some(parts[at].address.as_str());
        Some(ReplyContent {
            notice_part: Some(RenderedPart { part_index: at, rendering }),
            next_position: next,
            notice_address: about,
            ..ReplyContent::default()
        })
    }

    fn render_unabridged(
        &self,
        subject: &IndexedText,
        at: (usize, PartOffset),
        room: &RemainingBudget<'_>,
    ) -> Option<Rendering> {
        let target = self.render_target(subject, self.base_pointer(at.0), false, at);
        match &subject.structure {
            SubjectForm::List(list) => page::render_whole_records(&target, list, room),
            SubjectForm::Object(object) if target.start.is_start() => {
                let body = minified(&subject.text);
                let whole = room.fits(&body).then(|| Rendering { body, ..Rendering::whole(&target, room) });
                whole.or_else(|| render_largest_list(&target, object, room))
            }
            SubjectForm::Object(_) | SubjectForm::Text(_) => None,
        }
    }

    /// Returns the content of the text form. What the text shows as a table is rendered as objects.
    fn twin_form(
        &self,
        shape: Placement<'a>,
        text: &ReplyContent<'a>,
        room: RemainingBudget<'_>,
    ) -> StructuredForm<'a> {
        match text.table_items() {
            None => StructuredForm::SameAsText(shape),
            Some(max) => StructuredForm::TextVariant(Box::new(self.without_tables(max).render(room)), shape),
        }
    }
}
