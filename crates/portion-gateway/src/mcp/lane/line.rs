//! A line of one message, or of a batch: what becomes of each message makes what becomes of the line.

use super::super::envelope::{Envelope, Message};
use super::super::splice::Splice;
use super::super::walk::{Sequence, whole};

/// What becomes of a message.
pub(super) enum Step {
    /// It goes on: as it came, or with what was changed in the splice.
    Pass,
    /// It goes no further, and this is the answer.
    Answer(String),
    /// It goes no further.
    Stop,
}

/// The messages of a line.
pub(super) fn messages(message: Message) -> (Vec<Envelope>, bool) {
    match message {
        Message::One(envelope) => (vec![envelope], false),
        Message::Batch(batch) => (batch, true),
    }
}

/// What goes on of a line.
pub(super) enum Onward {
    Nothing,
    /// The bytes that came.
    AsItCame,
    Changed(String),
}

impl Onward {
    /// The same for a text that may differ from the line that came: then its own bytes are sent.
    pub(super) fn of(self, text: &str, is_line: bool) -> Self {
        match self {
            Self::AsItCame if !is_line => Self::Changed(text.to_owned()),
            other => other,
        }
    }

    /// The line to send, of the line that came.
    pub(super) fn line(self, came: Vec<u8>) -> Option<Vec<u8>> {
        match self {
            Self::Nothing => None,
            Self::AsItCame => Some(came),
            Self::Changed(text) => Some(text.into_bytes()),
        }
    }
}

/// What goes on of a line, and the line that goes back.
pub(super) fn settle(
    text: &str,
    mut splice: Splice<'_>,
    envelopes: &[Envelope],
    steps: Vec<Step>,
    batch: bool,
) -> (Onward, Option<Vec<u8>>) {
    let passing: Vec<bool> = steps.iter().map(|step| matches!(step, Step::Pass)).collect();
    let mut answers = steps.into_iter().filter_map(|step| match step {
        Step::Answer(answer) => Some(answer),
        Step::Pass | Step::Stop => None,
    });
    let back = if batch {
        let answers: Vec<String> = answers.collect();
        (!answers.is_empty()).then(|| format!("[{}]", answers.join(",")))
    } else {
        answers.next()
    };
    if batch && passing.contains(&false) {
        let items = envelopes.iter().map(|envelope| envelope.whole).collect();
        splice.edit(&Sequence { whole: whole(text), items }, |i| passing[i], &[]);
    }
    let onward = match (passing.contains(&true), splice.is_empty()) {
        (false, _) => Onward::Nothing,
        (true, true) => Onward::AsItCame,
        (true, false) => Onward::Changed(splice.apply()),
    };
    (onward, back.map(String::into_bytes))
}
