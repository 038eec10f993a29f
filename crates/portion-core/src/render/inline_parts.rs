//! The parts that a first reply shows whole beside whatever else there is.

use super::piece_cost::TEXT_BLOCK_BYTES;
use super::walk::PartWalk;
use crate::media;
use crate::policy::MIN_BUDGET;
use crate::scan::escaped_len;
use crate::snapshot::PartBody;
use crate::view::RequestedFields;

impl PartWalk<'_> {
    /// The parts that stand in the first reply, whatever else there is: those that are left as they came, and those
    /// that are small enough. In order.
    ///
    /// Depends on nothing but the snapshot, the view and the policy, so that later replies know what the first showed.
    pub(super) fn inline_parts(&self, walked: &[usize]) -> Vec<usize> {
        let view = &self.request.view;
        let ordered = view.order.as_ref().is_some_and(|order| order.is_requested);
        let named = view.limit.is_some() || view.field_selection != RequestedFields::Auto || ordered;
        // What programs were shown is read on as text by those who see no more than that.
        let apart = self.snapshot.structured_part();
        let left = |at: &usize| !named && self.is_exempt(*at) && apart != Some(*at);
        let (left, rest): (Vec<usize>, Vec<usize>) = walked.iter().copied().partition(left);
        // Media come first: they cannot be shortened, and text can.
        let media: Vec<usize> = media::in_first_reply(self.snapshot, self.cx.policy)
            .into_iter()
            .filter(|at| rest.contains(at))
            .collect();
        // What media leave of the reply, which has at least what they need.
        let (due, policy) = (media.len() * self.cx.policy.media_tokens, self.cx.policy);
        let tokens =
            policy.reply_target.max(media::reply_budget(due, self.snapshot, policy)).saturating_sub(due);
        let others: Vec<usize> = rest.iter().copied().filter(|at| media.binary_search(at).is_err()).collect();
        let mut all = match (rest.is_empty(), others.is_empty()) {
            (true, _) => self.small_parts(walked, policy.reply_target),
            // Where there is nothing but media, they are walked.
            (false, true) => left,
            (false, false) => [left, media, self.small_parts(&others, tokens)].concat(),
        };
        all.sort_unstable();
        all
    }

    /// The parts so small, and together so small, that they pass whole beside the others in a reply of so many tokens.
    fn small_parts(&self, walked: &[usize], tokens: usize) -> Vec<usize> {
        if walked.len() < 2 {
            return Vec::new();
        }
        let (parts, policy) = (self.snapshot.parts(), self.cx.policy);
        // Beside them the least reply must still hold a notice, and a part of what they accompany.
        let spare = tokens.saturating_sub(MIN_BUDGET);
        let (mut left, mut bytes) = (spare / 4, policy.hard_byte_limit / 8);
        let mut companions = Vec::new();
        for at in walked {
            let is_binary = matches!(&parts[*at].body, PartBody::Atomic { binary: Some(_), .. });
            let text = parts[*at].text();
            if is_binary || text.len() > policy.hard_byte_limit / 8 {
                continue;
            }
            let around = TEXT_BLOCK_BYTES.max(parts[*at].label.frame_bytes);
            if let Some(cost) = self.cx.counter.count_within(text, policy.full_below) {
                let rest = (left.checked_sub(cost), bytes.checked_sub(around + escaped_len(text)));
                let (Some(tokens_left), Some(bytes_left)) = rest else { return Vec::new() };
                (left, bytes) = (tokens_left, bytes_left);
                companions.push(*at);
            }
        }
        // Someone must be left to be accompanied.
        if companions.len() == walked.len() { Vec::new() } else { companions }
    }
}
