//! What a reply costs: what is told of that, and what is held against it. What is left as it came is not.

use super::NOTICE_COPIES;
use super::notice_text::NoticeText;
use super::portion::Piece;
use super::walk::PartWalk;
use crate::snapshot::STRUCTURED_CONTENT;
use crate::tokens::estimate_size;

/// The pieces of a reply, added up.
pub(super) struct CostEstimate<'w, 'a> {
    walk: &'w PartWalk<'a>,
    /// Which pieces are free.
    uncharged_pieces: Vec<bool>,
    /// Tokens of what is held against the reply, and of what is not, an envelope aside.
    charged_tokens: usize,
    uncharged_tokens: usize,
    /// Set where a piece is an envelope: whether what is in it is free.
    envelope_uncharged: Option<bool>,
    /// Whether `structuredContent` is free.
    structured_uncharged: bool,
}

impl<'w, 'a> CostEstimate<'w, 'a> {
    /// What pieces cost, one of which may be an envelope that is still empty.
    pub(super) fn new(walk: &'w PartWalk<'a>, pieces: &[Piece], opened: Option<usize>) -> Self {
        let structured = walk.snapshot.parts().iter().position(|part| part.address == STRUCTURED_CONTENT);
        let mut bill = Self {
            walk,
            uncharged_pieces: walk.uncharged_pieces(pieces),
            charged_tokens: 0,
            uncharged_tokens: 0,
            envelope_uncharged: None,
            structured_uncharged: structured.is_some_and(|at| walk.is_uncharged(at)),
        };
        bill.envelope_uncharged = opened.map(|at| bill.uncharged_pieces[at]);
        for (at, piece) in pieces.iter().enumerate().filter(|(at, _)| Some(*at) != opened) {
            if bill.uncharged_pieces[at] {
                bill.uncharged_tokens += bill.token_cost(piece.body.as_str(), true);
            } else {
                bill.charged_tokens += walk.piece_tokens(piece);
            }
        }
        bill
    }

    /// Tokens of the text form, with an envelope or else with a notice.
    pub(super) fn text_tokens(&self, enveloped: Option<&String>, notice: &NoticeText) -> usize {
        let (told, free) =
            enveloped.map_or((&notice.text, false), |json| (json, self.envelope_uncharged == Some(true)));
        self.charged_tokens + self.uncharged_tokens + self.token_cost(told, free)
    }

    /// Tokens of the structured form.
    pub(super) fn structured_tokens(&self, json: &str) -> usize {
        self.token_cost(json, self.structured_uncharged)
    }

    /// Of so many tokens in the dearest form, those that are held against the reply.
    pub(super) fn charged_tokens(
        &self,
        told: usize,
        enveloped: Option<&String>,
        structured: Option<&String>,
        notice: &NoticeText,
    ) -> usize {
        let free_envelope = self.envelope_uncharged == Some(true);
        if self.uncharged_tokens == 0 && !free_envelope && !self.structured_uncharged {
            return told;
        }
        let cost = |json: &String, free: bool| self.token_cost(if free { &notice.text } else { json }, false);
        let as_text = self.charged_tokens + cost(enveloped.unwrap_or(&notice.text), free_envelope);
        structured.map_or(as_text, |json| cost(json, self.structured_uncharged).max(as_text))
    }

    /// Wire bytes that are held against the reply.
    pub(super) fn charged_bytes(
        &self,
        pieces: &[Piece],
        structured: Option<&String>,
        notice: &NoticeText,
    ) -> usize {
        let counted = pieces.iter().zip(&self.uncharged_pieces).filter(|(_, free)| !**free);
        let shown: usize = counted.map(|(piece, _)| self.walk.piece_wire_bytes(piece)).sum();
        // In an envelope it is not said again but in `_meta`.
        let notices = if self.envelope_uncharged == Some(false) { 1 } else { NOTICE_COPIES };
        let structured = structured
            .map_or(0, |json| if self.structured_uncharged { notice.text.len() } else { json.len() });
        shown + notices * notice.text.len() + structured
    }

    fn token_cost(&self, text: &str, free: bool) -> usize {
        let counter = self.walk.cx.counter;
        // What is free may be of any size.
        if free { estimate_size(counter, text).tokens } else { counter.count(text) }
    }
}
