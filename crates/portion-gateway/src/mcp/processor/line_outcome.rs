//! A line of one message, or of a batch: what becomes of each message makes what becomes of the line.

use super::super::envelope::{Envelope, MessageOrBatch};
use super::super::splice::Splice;
use super::super::walk::{Sequence, document_span};

/// What becomes of a message.
pub(super) enum MessageOutcome {
    /// It goes on: as it came, or with what was changed in the splice.
    Forward,
    /// It goes no further, and this is the answer.
    Respond(String),
    /// It goes no further.
    Discard,
}

/// The messages of a line.
pub(super) fn split_messages(message: MessageOrBatch) -> (Vec<Envelope>, bool) {
    match message {
        MessageOrBatch::Single(envelope) => (vec![envelope], false),
        MessageOrBatch::Batch(batch) => (batch, true),
    }
}

/// What goes on of a line.
pub(super) enum ForwardedLine {
    Nothing,
    /// The bytes that came.
    Unchanged,
    Changed(String),
}

impl ForwardedLine {
    /// The same for a text that may differ from the line that came: then its own bytes are sent.
    pub(super) fn ensure_text(self, text: &str, is_line: bool) -> Self {
        match self {
            Self::Unchanged if !is_line => Self::Changed(text.to_owned()),
            other => other,
        }
    }

    /// The line to send, of the line that came.
    pub(super) fn into_line(self, came: Vec<u8>) -> Option<Vec<u8>> {
        match self {
            Self::Nothing => None,
            Self::Unchanged => Some(came),
            Self::Changed(text) => Some(text.into_bytes()),
        }
    }
}

/// What goes on of a line, and the line that goes back.
pub(super) fn combine_outcomes(
    text: &str,
    mut splice: Splice<'_>,
    envelopes: &[Envelope],
    steps: Vec<MessageOutcome>,
    batch: bool,
) -> (ForwardedLine, Option<Vec<u8>>) {
    let passing: Vec<bool> = steps.iter().map(|step| matches!(step, MessageOutcome::Forward)).collect();
    let mut answers = steps.into_iter().filter_map(|step| match step {
        MessageOutcome::Respond(answer) => Some(answer),
        MessageOutcome::Forward | MessageOutcome::Discard => None,
    });
    let back = if batch {
        let answers: Vec<String> = answers.collect();
        (!answers.is_empty()).then(|| format!("[{}]", answers.join(",")))
    } else {
        answers.next()
    };
    if batch && passing.contains(&false) {
        let items = envelopes.iter().map(|envelope| envelope.span).collect();
        splice.edit_sequence(&Sequence { span: document_span(text), items }, |i| passing[i], &[]);
    }
    let onward = match (passing.contains(&true), splice.is_empty()) {
        (false, _) => ForwardedLine::Nothing,
        (true, true) => ForwardedLine::Unchanged,
        (true, false) => ForwardedLine::Changed(splice.apply()),
    };
    (onward, back.map(String::into_bytes))
}
