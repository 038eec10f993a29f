//! Selects the parts that a first reply shows whole beside the part that it shapes.

use portion_json::scan::escaped_len;

use super::piece_cost::TEXT_BLOCK_BYTES;
use super::walk::PartWalk;
use crate::policy::MIN_BUDGET;
use crate::snapshot::PartBody;
use crate::view::RequestedFields;
use crate::view::media;

impl PartWalk<'_> {
    /// Returns the parts that the first reply always shows, in order: exempt parts, media and small parts.
    ///
    /// Depends only on the snapshot, the view and the policy, so that follow-up replies can tell what the
    /// first one showed.
    pub(super) fn inline_parts(&self, walked: &[usize]) -> Vec<usize> {
        let view = &self.request.view;
        let ordered = view.order.as_ref().is_some_and(|order| order.is_requested);
        let named = view.limit.is_some() || view.field_selection != RequestedFields::Auto || ordered;
        // Clients that see only text continue `structuredContent` as text.
        let apart = self.snapshot.structured_part();
        let left = |at: &usize| !named && self.is_exempt(*at) && apart != Some(*at);
        let (left, rest): (Vec<usize>, Vec<usize>) = walked.iter().copied().partition(left);
        // Media come first: they cannot be shortened, and text can.
        let media: Vec<usize> = media::in_first_reply(self.snapshot, self.cx.policy)
            .into_iter()
            .filter(|at| rest.contains(at))
            .collect();
        // Tokens that remain beside media. A reply has at least as many as its media need.
        let (due, policy) = (media.len() * self.cx.policy.media_tokens, self.cx.policy);
        let tokens =
            policy.reply_target.max(media::reply_budget(due, self.snapshot, policy)).saturating_sub(due);
        let others: Vec<usize> = rest.iter().copied().filter(|at| media.binary_search(at).is_err()).collect();
        let mut all = match (rest.is_empty(), others.is_empty()) {
            (true, _) => self.small_parts(walked, policy.reply_target),
            // If there are only media, the walk shows them.
            (false, true) => left,
            (false, false) => [left, media, self.small_parts(&others, tokens)].concat(),
        };
        all.sort_unstable();
        all
    }

    /// Returns the parts that are small enough, each and together, to pass whole beside the others in a reply
    /// of this many tokens.
    fn small_parts(&self, walked: &[usize], tokens: usize) -> Vec<usize> {
        if walked.len() < 2 {
            return Vec::new();
        }
        let (parts, policy) = (self.snapshot.parts(), self.cx.policy);
        // The smallest reply must still hold a notice and a portion of another part.
        let spare = tokens.saturating_sub(MIN_BUDGET);
        let (mut left, mut bytes) = (spare / 4, policy.hard_byte_limit / 8);
        let mut companions = Vec::new();
        for at in walked {
            let is_binary = matches!(&parts[*at].body, PartBody::Atomic { binary: Some(_), .. });
            if is_binary || parts[*at].text_len() > policy.hard_byte_limit / 8 {
                continue;
            }
            let text = parts[*at].text();
            let around = TEXT_BLOCK_BYTES.max(parts[*at].label.frame_bytes);
            if let Some(cost) = self.cx.counter.count_within(text, policy.full_below) {
                let rest = (left.checked_sub(cost), bytes.checked_sub(around + escaped_len(text)));
                let (Some(tokens_left), Some(bytes_left)) = rest else { return Vec::new() };
                (left, bytes) = (tokens_left, bytes_left);
                companions.push(*at);
            }
        }
        // At least one part must remain to be walked.
        if companions.len() == walked.len() { Vec::new() } else { companions }
    }
}
