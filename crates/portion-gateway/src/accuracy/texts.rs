//! The texts of a reply, as they can be counted anew.

use std::borrow::Cow;

use portion_core::payload::{Content, Payload};
use portion_core::policy::Policy;
use portion_core::render::{self, PieceBody, Portion};
use portion_core::snapshot::{PartBody, STRUCTURED_CONTENT, Snapshot};
use portion_core::tokens::{ReferenceCounter, TokenCounter, estimate_size};

use super::CountSample;

/// The texts of a reply in each of its forms: those of its blocks, and `structuredContent`. What is no text has a cost
/// of its own, which no counter knows.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReplyTexts<'a> {
    forms: [Vec<Cow<'a, str>>; 2],
}

impl<'a> ReplyTexts<'a> {
    /// What a portion shows, its notice included.
    pub(crate) fn from_portion(portion: &'a Portion) -> Self {
        let shown = portion.pieces().iter().filter_map(|piece| match &piece.body {
            PieceBody::Text(text) => Some(text.as_str()),
            PieceBody::Block(_) | PieceBody::Base64(_) => None,
        });
        let blocks = shown.chain(portion.separate_notice()).map(Cow::Borrowed).collect();
        Self { forms: [blocks, portion.structured().map(Cow::Borrowed).into_iter().collect()] }
    }

    /// What passes as it came, but for what is left as it is because a technique is off.
    pub(crate) fn from_snapshot(snapshot: &'a Snapshot, policy: &Policy) -> Self {
        let mut texts = Self::default();
        for (at, part) in snapshot.parts().iter().enumerate() {
            if part.indexed_text().is_some() && !render::is_exempt(snapshot, at, policy) {
                texts.forms[usize::from(part.address == STRUCTURED_CONTENT)].push(Cow::Borrowed(part.text()));
            }
        }
        texts
    }

    /// What is relayed as it comes.
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

    /// The same for later.
    pub(crate) fn into_owned(self) -> ReplyTexts<'static> {
        let owned =
            |texts: Vec<Cow<'_, str>>| texts.into_iter().map(|text| Cow::Owned(text.into_owned())).collect();
        ReplyTexts { forms: self.forms.map(owned) }
    }

    /// Bytes of all of them.
    pub(crate) fn bytes(&self) -> usize {
        self.forms.iter().flatten().map(|text| text.len()).sum()
    }

    /// What the dearest form costs.
    pub(crate) fn cost(&self, counter: &dyn TokenCounter) -> usize {
        self.costs(counter).into_iter().max().unwrap_or_default()
    }

    /// What the form that seems dearest costs by a counter, and by what that is held against.
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

/// About what a payload costs in the dearest of its forms, by samples of what is large.
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

/// The same of one that nobody looked into.
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
