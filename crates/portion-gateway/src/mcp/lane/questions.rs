//! Questions under way: which they are, and how their clients cancel them.
//!
//! A question is known from the moment its message is read, so that one that waits for its turn can be cancelled too.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::envelope::{Message, parse, text_of};
use super::super::ids::Ids;
use super::{McpLane, answer};
use crate::call::Fault;
use crate::questions::{AT_ONCE, Stop, WAITING};
use crate::relay::Outgoing;

/// Questions under way, by their ids.
#[derive(Debug, Default)]
pub(super) struct Underway(Mutex<Ids<Stop>>);

/// A question under way, until this is dropped.
pub(super) struct Question {
    among: Arc<Underway>,
    id: String,
    pub(super) stop: Stop,
}

impl Underway {
    /// Whether a question has this id.
    pub(super) fn has(&self, raw_id: &str) -> bool {
        self.all().has(raw_id)
    }

    /// Takes note of a question. `false` where there is one of this id.
    pub(super) fn begin(&self, raw_id: &str) -> bool {
        let mut all = self.all();
        let is_new = !all.has(raw_id);
        if is_new {
            all.insert(raw_id, Stop::default());
        }
        is_new
    }

    /// The question of this id.
    pub(super) fn question(self: &Arc<Self>, raw_id: &str) -> Option<Question> {
        let stop = self.all().get(raw_id)?.clone();
        Some(Question { among: Arc::clone(self), id: raw_id.to_owned(), stop })
    }

    /// Ends the question of this id; whether there is one.
    pub(super) fn cancel(&self, raw_id: &str) -> bool {
        let all = self.all();
        let stop = all.get(raw_id);
        stop.inspect(|stop| stop.set()).is_some()
    }

    fn all(&self) -> MutexGuard<'_, Ids<Stop>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        self.among.all().take(&self.id);
    }
}

impl McpLane {
    /// The answer to a question that is known to be under way; nothing where it was cancelled.
    pub(super) async fn answer_question(&self, line: Vec<u8>) -> Vec<Outgoing> {
        match self.known_question(&line) {
            Some(question) if question.stop.is_set() => Vec::new(),
            Some(question) => self.client_says(line, Some(&question.stop)).await,
            None => self.client_says(line, None).await,
        }
    }

    /// The answer to a question for which there is no room.
    pub(super) fn refuse_question(&self, line: &[u8]) -> Vec<Outgoing> {
        let Some(question) = self.known_question(line) else { return Vec::new() };
        let answer = answer::called(&question.id, &crate::call::Reply::Fault(too_many()), false, false);
        vec![Outgoing::ToClient(answer.into_bytes())]
    }

    fn known_question(&self, line: &[u8]) -> Option<Question> {
        let (text, _) = text_of(line);
        let Ok(Message::One(envelope)) = parse(&text) else { return None };
        self.questions.question(envelope.raw_id(&text))
    }
}

/// More questions than a session may have.
fn too_many() -> Fault {
    Fault::too_many_questions(AT_ONCE + WAITING)
}
