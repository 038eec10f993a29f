//! A line over the limit, of which the ids are kept, so that its messages can be answered.

/// A message over the limit, or a batch, without its content.
#[derive(Debug, PartialEq, Eq)]
pub struct DroppedLine {
    /// Its requests and responses whose ids were found and not too long, as far as there was room for them.
    pub messages: Vec<DroppedMessage>,
    /// True if there may be a request that is not among `messages`.
    pub has_unidentified: bool,
    /// True if the line is an array.
    pub is_batch: bool,
    /// Length without the newline.
    pub bytes: u64,
}

/// A request or a response of a dropped line.
#[derive(Debug, PartialEq, Eq)]
pub struct DroppedMessage {
    /// Raw JSON text of its `id`.
    pub id: Box<str>,
    /// True if it has a `method`: it is a request, not a response.
    pub has_method: bool,
}

impl DroppedLine {
    /// Returns a line of responses to the requests with these raw ids.
    pub(crate) fn of_responses(ids: impl IntoIterator<Item = Box<str>>, bytes: u64) -> Self {
        let messages: Vec<_> = ids.into_iter().map(|id| DroppedMessage { id, has_method: false }).collect();
        let is_batch = messages.len() > 1;
        Self { messages, has_unidentified: false, is_batch, bytes }
    }

    /// Returns true if the line has a response to the request with this id, in the same spelling.
    pub fn has_response_to(&self, raw_id: &str) -> bool {
        self.messages.iter().any(|message| !message.has_method && *message.id == *raw_id)
    }
}
