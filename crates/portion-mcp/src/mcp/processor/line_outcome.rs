//! Combines the outcomes of a line's messages into the outcome of the line.

use super::super::envelope::Envelope;
use super::super::walk::{Sequence, Splice, document_span};

/// Outcome of a message.
pub(super) enum MessageOutcome {
    /// Forwarded, with the edits of the splice if there are any.
    Forward,
    /// Not forwarded; answered with this response.
    Respond(String),
    /// Not forwarded.
    Discard,
}

/// Forwarded part of a line.
pub(super) enum ForwardedLine {
    Nothing,
    /// The bytes that were received.
    Unchanged,
    Changed(String),
}

impl ForwardedLine {
    /// Replaces the received line by `text`, if they may differ and the line is otherwise unchanged.
    pub(super) fn ensure_text(self, text: &str, is_line: bool) -> Self {
        match self {
            Self::Unchanged if !is_line => Self::Changed(text.to_owned()),
            other => other,
        }
    }

    /// Returns the line to send, if any.
    pub(super) fn into_line(self, received: Vec<u8>) -> Option<Vec<u8>> {
        match self {
            Self::Nothing => None,
            Self::Unchanged => Some(received),
            Self::Changed(text) => Some(text.into_bytes()),
        }
    }
}

/// Returns the forwarded part of a line, and the response line.
pub(super) fn combine_outcomes(
    text: &str,
    mut splice: Splice<'_>,
    envelopes: &[Envelope],
    outcomes: Vec<MessageOutcome>,
    batch: bool,
) -> (ForwardedLine, Option<Vec<u8>>) {
    let passing: Vec<bool> =
        outcomes.iter().map(|outcome| matches!(outcome, MessageOutcome::Forward)).collect();
    let answers = outcomes.into_iter().filter_map(|outcome| match outcome {
        MessageOutcome::Respond(answer) => Some(answer),
        MessageOutcome::Forward | MessageOutcome::Discard => None,
    });
    let response = join_answers(answers.collect(), batch);
    if batch && passing.contains(&false) {
        let items = envelopes.iter().map(|envelope| envelope.span).collect();
        splice.edit_sequence(&Sequence { span: document_span(text), items }, |i| passing[i], &[]);
    }
    let forwarded = match (passing.contains(&true), splice.is_empty()) {
        (false, _) => ForwardedLine::Nothing,
        (true, true) => ForwardedLine::Unchanged,
        (true, false) => ForwardedLine::Changed(splice.apply()),
    };
    (forwarded, response)
}

/// Returns the response line of a batch, or of a single message, if there is one.
pub(super) fn join_answers(mut answers: Vec<String>, batch: bool) -> Option<Vec<u8>> {
    let line =
        if batch && !answers.is_empty() { Some(format!("[{}]", answers.join(","))) } else { answers.pop() };
    line.map(String::into_bytes)
}
