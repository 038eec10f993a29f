//! Extracts the texts of a reply for recounting.

use std::borrow::Cow;

use portion_core::cursor::{CursorToken, charged};
use portion_core::payload::{Content, Payload};
use portion_core::policy::Policy;
use portion_core::render::{self, PieceBody, Portion};
use portion_core::snapshot::{PartBody, STRUCTURED_CONTENT, Snapshot};
use portion_tokens::{ReferenceCounter, TokenCounter, estimate_size};

use super::CountSample;

/// Texts of a reply in each of its forms: those of its blocks, and `structuredContent`. Other content has a
/// fixed cost that no counter determines.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReplyTexts<'a> {
    forms: [Vec<Cow<'a, str>>; 2],
    /// Cursors in them that cost less than they were charged.
    cursors: Vec<CursorToken>,
}

impl<'a> ReplyTexts<'a> {
    /// Returns the texts that a portion shows, its notice included.
    pub(crate) fn from_portion(portion: &'a Portion) -> Self {
        let shown = portion.pieces().iter().filter_map(|piece| match &piece.body {
            PieceBody::Text(text) => Some(text.as_str()),
            PieceBody::Block(_) | PieceBody::Base64(_) => None,
        });
        let blocks = shown.chain(portion.separate_notice()).map(Cow::Borrowed).collect();
        let structured = portion.structured().map(Cow::Borrowed).into_iter().collect();
        Self { forms: [blocks, structured], cursors: portion.charged_cursors().to_vec() }
    }

    /// Returns the texts of a payload that passes unchanged, except parts for which a technique is disabled.
    pub(crate) fn from_snapshot(snapshot: &'a Snapshot, policy: &Policy) -> Self {
        let mut texts = Self::default();
        for (at, part) in snapshot.parts().iter().enumerate() {
            if part.indexed_text().is_some() && !render::is_exempt(snapshot, at, policy) {
                texts.forms[usize::from(part.address == STRUCTURED_CONTENT)].push(Cow::Borrowed(part.text()));
            }
        }
        texts
    }

    /// Returns the texts of a payload that is relayed unshaped.
    pub(crate) fn from_payload(payload: &'a Payload) -> Self {
        let mut texts = Self::default();
        for block in &payload.blocks {
            match &block.content {
                Content::Text(text) => texts.forms[0].push(Cow::Borrowed(text)),
                Content::Structured(text) => texts.forms[1].push(Cow::Borrowed(text)),
                Content::Extra(_) | Content::Atomic { .. } => {}
            }
        }
        texts
    }

    /// Returns a copy that owns its texts.
    pub(crate) fn into_owned(self) -> ReplyTexts<'static> {
        let owned =
            |texts: Vec<Cow<'_, str>>| texts.into_iter().map(|text| Cow::Owned(text.into_owned())).collect();
        ReplyTexts { forms: self.forms.map(owned), cursors: self.cursors }
    }

    /// Returns the total size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.forms.iter().flatten().map(|text| text.len()).sum()
    }

    /// Returns the cost of the most expensive form, as it was charged when the reply was rendered.
    pub(crate) fn charged_cost(&self, counter: &dyn TokenCounter) -> usize {
        let cost = |text: &Cow<'_, str>| counter.count(&charged(text, &self.cursors));
        self.forms.iter().map(|form| form.iter().map(cost).sum()).max().unwrap_or_default()
    }

    /// Returns the cost of the form that the counter finds most expensive, by the counter and by the
    /// reference.
    pub(crate) fn sample(&self, counter: &dyn TokenCounter, reference: ReferenceCounter) -> CountSample {
        let [blocks, structured] = self.costs(counter);
        let dearest = usize::from(structured > blocks);
        let actual = self.forms[dearest].iter().map(|text| reference.count(text)).sum();
        CountSample { estimated: blocks.max(structured), actual }
    }

    fn costs(&self, counter: &dyn TokenCounter) -> [usize; 2] {
        self.forms.each_ref().map(|form| form.iter().map(|text| counter.count(text)).sum())
    }
}

/// Estimates the tokens of the most expensive form of a payload; large texts are sampled.
pub(crate) fn approximate_snapshot_tokens(
    snapshot: &Snapshot,
    policy: &Policy,
    counter: &dyn TokenCounter,
) -> usize {
    let mut forms = [0; 2];
    for part in snapshot.parts() {
        forms[usize::from(part.address == STRUCTURED_CONTENT)] += match &part.body {
            PartBody::Atomic { binary: Some(binary), .. } if binary.is_media => policy.media_tokens,
            _ => estimate_size(counter, part.text()).tokens,
        };
    }
    forms[0].max(forms[1])
}

/// Estimates the tokens of a payload that was not captured.
pub(crate) fn approximate_payload_tokens(
    payload: &Payload,
    policy: &Policy,
    counter: &dyn TokenCounter,
) -> usize {
    let mut forms = [0; 2];
    for block in &payload.blocks {
        let (form, tokens) = match &block.content {
            Content::Text(text) | Content::Extra(text) => (0, estimate_size(counter, text).tokens),
            Content::Structured(text) => (1, estimate_size(counter, text).tokens),
            Content::Atomic { binary: Some(binary), .. } if binary.is_media => (0, policy.media_tokens),
            Content::Atomic { json, .. } => (0, estimate_size(counter, json).tokens),
        };
        forms[form] += tokens;
    }
    forms[0].max(forms[1])
}
