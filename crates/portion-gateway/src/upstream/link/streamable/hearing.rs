//! What the server says, whichever way it came.

use std::sync::LazyLock;
use std::time::Instant;

use super::super::message::{on_one_line, with_id};
use super::super::{Closed, Said};
use super::letter::Letter;
use super::server::Server;
use crate::dropped::Pace;
use crate::frame::Frame;
use crate::mcp::{Heard, Note, Role};

/// How often it is logged that something is no message.
static INVALID: LazyLock<Pace> = LazyLock::new(Pace::default);

impl Server {
    /// Passes a message on. `letter`: it came in answer to that.
    ///
    /// # Errors
    /// [`Closed`] where nobody listens any more.
    pub(super) async fn heard(&self, said: Vec<u8>, letter: Option<&Letter>) -> Result<(), Closed> {
        let mended = {
            let text = String::from_utf8_lossy(&said);
            match Heard::read(&text) {
                Ok(heard) => self.land(&text, &heard, letter),
                Err(why) => {
                    if let Some(unlogged) = INVALID.allows(Instant::now()) {
                        tracing::warn!(%why, bytes = said.len(), unlogged, "dropped what is no message");
                    }
                    return Ok(());
                }
            }
        };
        let message = on_one_line(mended.unwrap_or(said));
        self.pass(Frame::Message(message)).await
    }

    /// A message over the limit has been dropped: if the answer to this is waited for, it was that.
    pub(super) async fn heard_too_much(&self, bytes: u64, letter: Option<&Letter>) -> Result<(), Closed> {
        for id in letter.map(|letter| letter.ids.as_slice()).unwrap_or_default() {
            if self.flights.land(id).is_some() {
                let id = Some(id.as_str().into());
                self.pass(Frame::TooLarge { id, has_method: false, bytes }).await?;
            }
        }
        Ok(())
    }

    /// Hands a frame to whoever listens.
    pub(super) async fn pass(&self, frame: Frame) -> Result<(), Closed> {
        self.incoming.send(Said::Frame(frame)).await.map_err(|_| Closed)
    }

    /// Notes what is answered. An answer to the only request that was posted is for that one, whatever its id says:
    /// then it is returned with the right one.
    fn land(&self, text: &str, heard: &Heard<'_>, letter: Option<&Letter>) -> Option<Vec<u8>> {
        let mut stray = None;
        for answer in heard.messages.iter().filter(|note| note.role() == Role::Response) {
            if let Some(letter) = letter {
                self.learn(answer, letter);
            }
            if self.flights.land(answer.id()).is_none() {
                stray = Some(answer);
            }
        }
        let [id] = letter?.ids.as_slice() else { return None };
        let stray = stray.filter(|_| !heard.batch)?;
        self.flights.land(id)?;
        Some(with_id(text, stray, id))
    }

    fn learn(&self, answer: &Note<'_>, letter: &Letter) {
        if letter.begins_session
            && let Some(version) = answer.settled()
        {
            self.session().settle(&version);
        }
        if letter.lists_tools {
            self.mirror().learn(answer);
        }
    }
}
