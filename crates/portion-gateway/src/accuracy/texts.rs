//! The texts of a reply, as they can be counted anew.

use std::borrow::Cow;

use portion_core::payload::{Content, Payload};
use portion_core::policy::Policy;
use portion_core::render::{self, Body, Portion};
use portion_core::snapshot::{PartBody, STRUCTURED, Snapshot};
use portion_core::tokens::{Reference, TokenCounter, approximate};

use super::Sample;

/// The texts of a reply in each of its forms: those of its blocks, and `structuredContent`. What is no text has a cost
/// of its own, which no counter knows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts<'a> {
    forms: [Vec<Cow<'a, str>>; 2],
}

impl<'a> Texts<'a> {
    /// What a portion shows, its notice included.
    pub(crate) fn of_portion(portion: &'a Portion) -> Self {
        let shown = portion.pieces().iter().filter_map(|piece| match &piece.body {
            Body::Text(text) => Some(text.as_str()),
            Body::Block(_) | Body::Base64(_) => None,
        });
        let blocks = shown.chain(portion.notice_beside()).map(Cow::Borrowed).collect();
        Self { forms: [blocks, portion.structured().map(Cow::Borrowed).into_iter().collect()] }
    }

    /// What passes as it came, but for what is left as it is because a technique is off.
    pub(crate) fn of_payload(snapshot: &'a Snapshot, policy: &Policy) -> Self {
        let mut texts = Self::default();
        for (at, part) in snapshot.parts().iter().enumerate() {
            if part.subject().is_some() && !render::is_left(snapshot, at, policy) {
                texts.forms[usize::from(part.address == STRUCTURED)].push(Cow::Borrowed(part.text()));
            }
        }
        texts
    }

    /// What is relayed as it comes.
    pub(crate) fn of_relayed(payload: &'a Payload) -> Self {
        let mut texts = Self::default();
        for block in &payload.blocks {
            match &block.content {
                Content::Text(text) => texts.forms[0].push(Cow::Borrowed(text)),
                Content::Structured(text) => texts.forms[1].push(Cow::Borrowed(text)),
                Content::Aside(_) | Content::Atomic { .. } => {}
            }
        }
        texts
    }

    /// The same for later.
    pub(crate) fn into_owned(self) -> Texts<'static> {
        let owned =
            |texts: Vec<Cow<'_, str>>| texts.into_iter().map(|text| Cow::Owned(text.into_owned())).collect();
        Texts { forms: self.forms.map(owned) }
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
    pub(crate) fn sample(&self, counter: &dyn TokenCounter, reference: Reference) -> Sample {
        let [blocks, structured] = self.costs(counter);
        let dearest = usize::from(structured > blocks);
        let actual = self.forms[dearest].iter().map(|text| reference.count(text)).sum();
        Sample { estimated: blocks.max(structured), actual }
    }

    fn costs(&self, counter: &dyn TokenCounter) -> [usize; 2] {
        self.forms.each_ref().map(|form| form.iter().map(|text| counter.count(text)).sum())
    }
}

/// About what a payload costs in the dearest of its forms, by samples of what is large.
pub(crate) fn approximate_payload(snapshot: &Snapshot, policy: &Policy, counter: &dyn TokenCounter) -> usize {
    let mut forms = [0; 2];
    for part in snapshot.parts() {
        forms[usize::from(part.address == STRUCTURED)] += match &part.body {
            PartBody::Atomic { binary: Some(binary), .. } if binary.media => policy.media_tokens,
            _ => approximate(counter, part.text()).tokens,
        };
    }
    forms[0].max(forms[1])
}

/// The same of one that nobody looked into.
pub(crate) fn approximate_relayed(payload: &Payload, policy: &Policy, counter: &dyn TokenCounter) -> usize {
    let mut forms = [0; 2];
    for block in &payload.blocks {
        let (form, tokens) = match &block.content {
            Content::Text(text) | Content::Aside(text) => (0, approximate(counter, text).tokens),
            Content::Structured(text) => (1, approximate(counter, text).tokens),
            Content::Atomic { binary: Some(binary), .. } if binary.media => (0, policy.media_tokens),
            Content::Atomic { json, .. } => (0, approximate(counter, json).tokens),
        };
        forms[form] += tokens;
    }
    forms[0].max(forms[1])
}
