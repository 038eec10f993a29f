//! Edits a message in place: bytes outside the edits are kept.

use portion_json::span::Span;

use super::walk::Sequence;

/// A text and its edits.
#[derive(Debug)]
pub(super) struct Splice<'a> {
    text: &'a str,
    edits: Vec<(Span, String)>,
}

impl<'a> Splice<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, edits: Vec::new() }
    }

    /// Replaces a span. Of overlapping spans, the one that starts first wins; of spans with the same start,
    /// the longer one.
    pub(super) fn replace(&mut self, place: Span, with: impl Into<String>) {
        self.edits.push((place, with.into()));
    }

    /// Removes members or items, and appends others (`"key":value`, or values).
    pub(super) fn edit_sequence(
        &mut self,
        sequence: &Sequence,
        keep: impl Fn(usize) -> bool,
        added: &[String],
    ) {
        let items = &sequence.items;
        let last_kept = (0..items.len()).rev().find(|i| keep(*i));
        for i in (0..last_kept.unwrap_or(0)).filter(|i| !keep(*i)) {
            self.replace(Span { start: items[i].start, end: items[i + 1].start }, "");
        }
        let mut tail = added.join(",");
        if last_kept.is_some() && !added.is_empty() {
            tail.insert(0, ',');
        }
        let start = match (last_kept, items.first()) {
            (Some(last_kept), _) => items[last_kept].end,
            (None, Some(first)) => first.start,
            (None, None) => sequence.span.start + 1,
        };
        let end = items.last().map_or(start, |last| last.end);
        if start < end || !tail.is_empty() {
            self.replace(Span { start, end }, tail);
        }
    }

    /// Appends members or items.
    pub(super) fn append(&mut self, sequence: &Sequence, added: &[String]) {
        self.edit_sequence(sequence, |_| true, added);
    }

    /// Returns true if exactly this span is replaced.
    pub(super) fn has_edit_at(&self, place: Span) -> bool {
        self.edits.iter().any(|(edited, _)| *edited == place)
    }

    /// Returns true if there are no edits.
    pub(super) fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Returns the edited text.
    pub(super) fn apply(self) -> String {
        let all = Span::new(0, self.text.len());
        self.apply_within(all)
    }

    /// Returns the edited text of a span.
    pub(super) fn apply_within(mut self, span: Span) -> String {
        self.edits.sort_by_key(|(place, _)| (place.start, u32::MAX - place.end));
        let added: usize = self.edits.iter().map(|(_, with)| with.len()).sum();
        let removed: usize = self.edits.iter().map(|(place, _)| place.len()).sum();
        let mut out = String::with_capacity((span.len() + added).saturating_sub(removed) + 1);
        let mut done = span.start;
        for (place, with) in self.edits {
            if place.start < done || place.end > span.end {
                continue;
            }
            out.push_str(Span { start: done, end: place.start }.slice(self.text));
            out.push_str(&with);
            done = place.end;
        }
        out.push_str(Span { start: done, end: span.end }.slice(self.text));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::super::walk::{Sequence, document_span, items};
    use super::Splice;

    fn check(array: &str, keep: &[usize], added: &[&str], expect: &str) {
        let sequence = Sequence { span: document_span(array), items: items(array, document_span(array)) };
        let mut splice = Splice::new(array);
        let added: Vec<String> = added.iter().map(ToString::to_string).collect();
        splice.edit_sequence(&sequence, |i| keep.contains(&i), &added);
        assert_eq!(splice.apply(), expect);
    }

    #[test]
    fn edits_sequences_and_keeps_their_space() {
        check("[]", &[], &[], "[]");
        check("[ ]", &[], &["1"], "[1 ]");
        check("[1, 2 ,3 ]", &[0, 1, 2], &[], "[1, 2 ,3 ]");
        check("[1, 2 ,3 ]", &[0, 1, 2], &["4", "5"], "[1, 2 ,3,4,5 ]");
        check("[1, 2 ,3 ]", &[1], &[], "[2 ]");
        check("[1, 2 ,3 ]", &[0], &["9"], "[1,9 ]");
        check("[1, 2 ,3 ]", &[0, 2], &[], "[1, 3 ]");
        check("[1, 2 ,3 ]", &[], &[], "[ ]");
        check("[1, 2 ,3 ]", &[], &["9"], "[9 ]");
    }
}
