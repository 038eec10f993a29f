//! A new session in place of one that the server has ended.
//!
//! A client on stdio knows of no sessions: it would have to be restarted. So its own `initialize` is sent once more,
//! and the answer kept from it.

use std::sync::Arc;

use super::letter::Letter;
use super::listening::listen;
use super::server::{Posted, Server};
use crate::mcp::{Heard, Role};
use crate::upstream::http::{Answer, Item, Trouble};

impl Server {
    /// Begins a new session in place of the one of that number, unless that has been done. Returns whether there is
    /// a client that has begun one at all.
    ///
    /// # Errors
    /// [`Trouble`] where the server does not want one.
    pub(super) async fn renew(self: &Arc<Self>, number: u64) -> Result<bool, Trouble> {
        let _renewing = self.renewing.lock().await;
        let (hello, begun) = {
            let mut session = self.session();
            if session.number != number {
                return Ok(true);
            }
            let Some(hello) = session.hello.clone() else { return Ok(false) };
            let begun = session.begun.clone();
            session.begin(hello.clone());
            (hello, begun)
        };
        tracing::warn!("the server has ended the session; a new one is begun");
        let ended = || Trouble::Ended("before a session began");
        let answer =
            match self.post(&Letter { bytes: hello, begins_session: true, ..Letter::default() }).await? {
                Posted::Answer(Answer::Json(json)) => json,
                Posted::Answer(Answer::Stream(mut stream)) => loop {
                    match stream.next().await.ok_or_else(ended)? {
                        Item::Event(event) if settled(event.data()).is_some() => break event.into_data(),
                        Item::Event(_) | Item::TooLarge(_) => {}
                    }
                },
                Posted::Answer(_) => return Err(ended()),
                Posted::NoSession(_, trouble) => return Err(trouble),
            };
        let version = settled(&answer).ok_or_else(ended)?;
        self.session().settle(&version);
        if let Some(begun) = begun {
            self.post(&Letter { bytes: begun.clone(), ..Letter::default() }).await?;
            self.session().begun = Some(begun);
            listen(self).await;
        }
        Ok(true)
    }
}

/// The revision that an answer to `initialize` settles on.
fn settled(answer: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(answer);
    let heard = Heard::read(&text).ok()?;
    heard.messages.iter().find(|note| note.role() == Role::Response)?.settled()
}
