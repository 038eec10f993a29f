//! Computes what a reply costs, and which part of that counts against its limits. Exempt parts do not count.

use portion_tokens::estimate_size;

use super::budget::NOTICE_COPIES;
use super::notice::NoticeText;
use super::page::Cost;
use super::portion::Piece;
use super::walk::{PartWalk, ReplyContent};
use crate::cursor::{CursorToken, charged};
use crate::snapshot::STRUCTURED_CONTENT;

/// Costs of the pieces of a reply, added up.
pub(super) struct CostEstimate<'w, 'a> {
    walk: &'w PartWalk<'a>,
    /// True for each piece that is exempt.
    uncharged_pieces: Vec<bool>,
    /// Tokens of the charged pieces, and of the exempt ones, without the envelope.
    charged_tokens: usize,
    uncharged_tokens: usize,
    /// Set if a piece is an envelope: true if its content is exempt.
    envelope_uncharged: Option<bool>,
    /// True if `structuredContent` is exempt.
    structured_uncharged: bool,
    /// Cursors that are charged a constant.
    cursors: Vec<CursorToken>,
}

impl<'w, 'a> CostEstimate<'w, 'a> {
    /// Adds up the cost of the pieces of a content, one of which may be an envelope that is still empty. The
    /// `cursors` are those of the notices and of the content.
    pub(super) fn new(
        walk: &'w PartWalk<'a>,
        content: &ReplyContent<'_>,
        opened: Option<usize>,
        cursors: Vec<CursorToken>,
    ) -> Self {
        let (pieces, is_quoted) = (&content.pieces, walk.quotes_text(content));
        let structured = walk.snapshot.parts().iter().position(|part| part.address == STRUCTURED_CONTENT);
        let mut estimate = Self {
            walk,
            uncharged_pieces: walk.uncharged_pieces(pieces),
            charged_tokens: 0,
            uncharged_tokens: 0,
            envelope_uncharged: None,
            structured_uncharged: structured.is_some_and(|at| walk.is_uncharged(at)),
            cursors,
        };
        estimate.envelope_uncharged = opened.map(|at| estimate.uncharged_pieces[at]);
        for (at, piece) in pieces.iter().enumerate().filter(|(at, _)| Some(*at) != opened) {
            if estimate.uncharged_pieces[at] {
                estimate.uncharged_tokens += estimate.token_cost(piece.body.as_str(), true);
            } else {
                let planned = content.planned_cost_of(piece).filter(|_| walk.is_draft && !is_quoted);
                estimate.charged_tokens += planned.map_or_else(
                    || walk.piece_tokens(piece, is_quoted, &estimate.cursors),
                    Cost::whole_tokens,
                );
            }
        }
        estimate
    }

    /// Tokens of the pieces of the text form, without its envelope or its notice.
    pub(super) fn content_tokens(&self) -> usize {
        self.charged_tokens + self.uncharged_tokens
    }

    /// Tokens of the text form, with its envelope or its notice.
    pub(super) fn text_tokens(&self, enveloped: Option<&String>, notice: &NoticeText) -> usize {
        let (shown, free) = enveloped
            .map_or((&notice.model_text, false), |json| (json, self.envelope_uncharged == Some(true)));
        self.content_tokens() + self.token_cost(shown, free)
    }

    /// Tokens of the structured form.
    pub(super) fn structured_tokens(&self, json: &str) -> usize {
        self.token_cost(json, self.structured_uncharged)
    }

    /// Returns the charged tokens, given the tokens of the more expensive form.
    pub(super) fn charged_tokens(
        &self,
        form_tokens: usize,
        enveloped: Option<&String>,
        structured: Option<&String>,
        notice: &NoticeText,
    ) -> usize {
        let free_envelope = self.envelope_uncharged == Some(true);
        if self.uncharged_tokens == 0 && !free_envelope && !self.structured_uncharged {
            return form_tokens;
        }
        let cost =
            |json: &String, free: bool| self.token_cost(if free { &notice.full_text } else { json }, false);
        let as_text = self.charged_tokens + cost(enveloped.unwrap_or(&notice.model_text), free_envelope);
        structured.map_or(as_text, |json| cost(json, self.structured_uncharged).max(as_text))
    }

    /// Charged wire bytes. `shown`: those of the pieces.
    pub(super) fn charged_bytes(
        &self,
        shown: usize,
        structured: Option<&String>,
        notice: &NoticeText,
    ) -> usize {
        // `_meta` has the full notice. An envelope contains it, and other texts are followed by their own.
        let beside = match self.envelope_uncharged {
            Some(false) => 0,
            Some(true) => (NOTICE_COPIES - 1) * notice.full_text.len(),
            None => (NOTICE_COPIES - 1) * notice.model_text.len(),
        };
        let structured = structured
            .map_or(0, |json| if self.structured_uncharged { notice.full_text.len() } else { json.len() });
        shown + notice.full_text.len() + beside + structured
    }

    /// Returns the wire bytes of the larger form, without the notice.
    pub(super) fn larger_form_bytes(
        &self,
        shown: usize,
        structured: Option<&String>,
        notice: &NoticeText,
    ) -> usize {
        let structured = structured.filter(|_| !self.structured_uncharged);
        let structured = structured.map_or(0, |json| json.len().saturating_sub(notice.full_text.len()));
        shown.max(structured)
    }

    /// Returns the wire bytes of the charged pieces.
    pub(super) fn piece_bytes(&self, pieces: &[Piece]) -> usize {
        let counted = pieces.iter().zip(&self.uncharged_pieces).filter(|(_, free)| !**free);
        counted.map(|(piece, _)| self.walk.piece_wire_bytes(piece)).sum()
    }

    /// Returns the charged tokens of a notice.
    pub(super) fn notice_tokens(&self, notice: &str) -> usize {
        self.token_cost(notice, false)
    }

    fn token_cost(&self, text: &str, free: bool) -> usize {
        let counter = self.walk.cx.counter;
        let text = &charged(text, &self.cursors);
        // Exempt text may have any size, so it is estimated.
        if free { estimate_size(counter, text).tokens } else { counter.count(text) }
    }
}
