//! What a reply costs: what is told of that, and what is held against it. What is left as it came is not.

use super::NOTICES;
use super::portion::Piece;
use super::said::Said;
use super::walk::Walk;
use crate::snapshot::STRUCTURED;
use crate::tokens::approximate;

/// The pieces of a reply, added up.
pub(super) struct Bill<'w, 'a> {
    walk: &'w Walk<'a>,
    /// Which pieces are free.
    are_free: Vec<bool>,
    /// Tokens of what is held against the reply, and of what is not, an envelope aside.
    counted: usize,
    free: usize,
    /// Set where a piece is an envelope: whether what is in it is free.
    opened: Option<bool>,
    /// Whether `structuredContent` is free.
    free_structured: bool,
}

impl<'w, 'a> Bill<'w, 'a> {
    /// What pieces cost, one of which may be an envelope that is still empty.
    pub(super) fn of(walk: &'w Walk<'a>, pieces: &[Piece], opened: Option<usize>) -> Self {
        let structured = walk.snapshot.parts().iter().position(|part| part.address == STRUCTURED);
        let mut bill = Self {
            walk,
            are_free: walk.are_free(pieces),
            counted: 0,
            free: 0,
            opened: None,
            free_structured: structured.is_some_and(|at| walk.is_free(at)),
        };
        bill.opened = opened.map(|at| bill.are_free[at]);
        for (at, piece) in pieces.iter().enumerate().filter(|(at, _)| Some(*at) != opened) {
            if bill.are_free[at] {
                bill.free += bill.cost(piece.body.as_str(), true);
            } else {
                bill.counted += walk.cost(piece);
            }
        }
        bill
    }

    /// Tokens of the text form, with an envelope or else with a notice.
    pub(super) fn text(&self, enveloped: Option<&String>, notice: &Said) -> usize {
        let (told, free) = enveloped.map_or((&notice.text, false), |json| (json, self.opened == Some(true)));
        self.counted + self.free + self.cost(told, free)
    }

    /// Tokens of the structured form.
    pub(super) fn structured(&self, json: &str) -> usize {
        self.cost(json, self.free_structured)
    }

    /// Of so many tokens in the dearest form, those that are held against the reply.
    pub(super) fn counted(
        &self,
        told: usize,
        enveloped: Option<&String>,
        structured: Option<&String>,
        notice: &Said,
    ) -> usize {
        let free_envelope = self.opened == Some(true);
        if self.free == 0 && !free_envelope && !self.free_structured {
            return told;
        }
        let cost = |json: &String, free: bool| self.cost(if free { &notice.text } else { json }, false);
        let as_text = self.counted + cost(enveloped.unwrap_or(&notice.text), free_envelope);
        structured.map_or(as_text, |json| cost(json, self.free_structured).max(as_text))
    }

    /// Wire bytes that are held against the reply.
    pub(super) fn bytes(&self, pieces: &[Piece], structured: Option<&String>, notice: &Said) -> usize {
        let counted = pieces.iter().zip(&self.are_free).filter(|(_, free)| !**free);
        let shown: usize = counted.map(|(piece, _)| self.walk.wire_bytes(piece)).sum();
        // In an envelope it is not said again but in `_meta`.
        let notices = if self.opened == Some(false) { 1 } else { NOTICES };
        let structured =
            structured.map_or(0, |json| if self.free_structured { notice.text.len() } else { json.len() });
        shown + notices * notice.text.len() + structured
    }

    fn cost(&self, text: &str, free: bool) -> usize {
        let counter = self.walk.cx.counter;
        // What is free may be of any size.
        if free { approximate(counter, text).tokens } else { counter.count(text) }
    }
}
